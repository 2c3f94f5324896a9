"""Workloads of several parts: background, incasts and permutations at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from trialwise.errors import PlanError
from trialwise.experiment.seeds import seed_of
from trialwise.experiment.simulation import Workload

_WORDS = 3


def parts_of(workload: Workload) -> tuple[Workload, ...]:
    """Return the parts of a workload's drawn flows, each as a workload of its own: first the flows beside which others are drawn.

    Raises
    ------
    PlanError
        A part is not a pattern, sizes and a load of hosts.
    """
    own = dataclasses.replace(workload, beside="", job="")
    if not workload.beside:
        return (own,)
    return (own, *(_part(own, text.split()) for text in workload.beside.split(";")))


def _part(own: Workload, words: Sequence[str]) -> Workload:
    if len(words) != _WORDS:
        raise PlanError(
            f"workload: beside has a part {' '.join(words)!r}, which is not a pattern, sizes and a load",
            hint='write it as in beside = "incast:60 fixed:500kB 2%; permutation websearch 10%"',
        )
    pattern, sizes, load = words
    return dataclasses.replace(
        own, pattern=pattern, sizes=sizes, load=load, load_of="host", arrivals="poisson"
    )


def part_seed(seed: int, place: int) -> int:
    """Return the seed of a part: the first has the list's own, so that its flows stay the same when others come beside them."""
    return seed_of(seed, "beside", place) if place else seed


def merged(lists: Sequence[dict[str, npt.NDArray[np.int64]]]) -> dict[str, npt.NDArray[np.int64]]:
    """Return flow lists of the same columns as one, in order of start, numbered anew."""
    if len(lists) == 1:
        return lists[0]
    columns = {name: np.concatenate([flows[name] for flows in lists]) for name in lists[0]}
    order = columns["start_ps"].argsort(kind="stable")
    together = {name: np.ascontiguousarray(column[order]) for name, column in columns.items()}
    return together | {"flow_id": np.arange(len(order))}
