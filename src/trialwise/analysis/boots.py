"""Boots known only by their time, joined if the times agree within their error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from trialwise.analysis.trial_set import Boot, TrialSet
from trialwise.late import pl

TOLERANCE = 30.0
"""Maximum difference in seconds between two reports of one boot time; the kernel subtracts its uptime from an adjusted clock."""


def with_joined_boots(*sets: TrialSet) -> tuple[TrialSet, ...]:
    """Give boots of one host with successive times within `TOLERANCE` one name in all sets.

    Only boots in `TrialSet.booted` are joined. A grid of times would split boots on either side of a grid line; a chain of such
    times is one boot, so that indistinguishable boots never count as several.
    """
    booted = {label: boot for trials in sets for label, boot in trials.booted.items()}
    names = joined_names(booted)
    return tuple(_renamed(trials, names) for trials in sets)


def joined_names(booted: Mapping[str, Boot]) -> dict[str, str]:
    """Return the common name of each boot, that of the first in its chain."""
    return dict(_names(booted))


def _names(booted: Mapping[str, Boot]) -> Iterator[tuple[str, str]]:
    for host in {boot.host for boot in booted.values()}:
        own = sorted((boot.moment, label) for label, boot in booted.items() if boot.host == host)
        yield from _chained(own)


def _chained(own: Sequence[tuple[float, str]]) -> Iterator[tuple[str, str]]:
    first = own[0][1]
    yield first, first
    for (before, _), (moment, label) in pairwise(own):
        if moment - before > TOLERANCE:
            first = label
        yield label, first


def _renamed(trials: TrialSet, names: Mapping[str, str]) -> TrialSet:
    if all(names[label] == label for label in trials.booted):
        return trials
    return replace(
        trials,
        table=trials.table.with_columns(pl.col("boot", "build").replace(dict(names))),
        booted={names[label]: trials.booted.get(names[label], boot) for label, boot in trials.booted.items()},
    )
