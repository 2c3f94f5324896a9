"""What ran before each trial, immediately and earlier in the round: the input of carry-over analysis."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import Array, Indices, as_values, as_values_with_gaps

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FIRST, UNKNOWN = -1, -2
"""Codes in place of a predecessor: none, since the trial is the first of its round; one that is not in the data."""


@dataclass(frozen=True, slots=True)
class Trials:
    """Trials in the order in which they ran; treatments and rounds are numbered from 0, in order."""

    values: Array
    """NaN for a trial that ran and gave no value."""
    treatment: Indices
    round: Indices
    position: Array
    predecessor: Indices
    """The treatment that ran immediately before in the same round, `FIRST` or `UNKNOWN`."""
    labels: tuple[Hashable, ...]
    """The treatments, as given."""

    @property
    def measured(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return which trials have a value."""
        return ~np.isnan(self.values)


def read_trials(
    values: ArrayLike,
    treatments: Sequence[Hashable],
    rounds: ArrayLike,
    positions: ArrayLike,
    follows: ArrayLike | None = None,
) -> Trials:
    """Put trials in order and find the predecessor of each; it is unknown for trials that do not follow another.

    Raises
    ------
    StatisticsError
        Lengths differ, a value is infinite, a position is not a number, or two trials have the same round and position.
    """
    numbers = as_values_with_gaps(values)
    places = as_values(positions, "positions")
    labels, codes = _coded(treatments)
    turns = _numbered(rounds)
    linked = np.ones(numbers.size, dtype=np.bool_) if follows is None else np.asarray(follows, dtype=np.bool_)
    for name, length in (
        ("treatments", codes.size),
        ("rounds", turns.size),
        ("positions", places.size),
        ("follows", linked.size),
    ):
        if length != numbers.size:
            raise StatisticsError(f"there are {length} {name} for {numbers.size} values")
    order = np.lexsort((places, turns))
    codes, turns, places = codes[order], turns[order], places[order]
    same = turns[1:] == turns[:-1]
    twice = np.flatnonzero(same & (places[1:] == places[:-1]))
    if twice.size:
        at = int(twice[0])
        raise StatisticsError(
            f"values[{order[at]}] and values[{order[at + 1]}] have the same round and position; "
            "rounds of different workers need different names"
        )
    before = np.full(codes.size, UNKNOWN)
    next_to = same & (places[1:] - places[:-1] == 1) & linked[order][1:]
    before[1:][next_to] = codes[:-1][next_to]
    before[places == places.min()] = FIRST
    return Trials(numbers[order], codes, turns, places, before, labels)


@dataclass(frozen=True, slots=True)
class History:
    """What had run in the round before each trial."""

    ran: NDArray[np.bool_]
    """Of shape (trials, treatments): True if the treatment is known to have run."""
    whole: NDArray[np.bool_]
    """True if all that ran before the trial is known, back to the start of its round."""


def read_history(trials: Trials) -> History:
    """Find what had run in the round before each trial; after a gap or a restart it is only partly known."""
    rounds = int(trials.round.max()) + 1 if trials.round.size else 0
    begin = np.full((rounds, len(trials.labels)), np.inf)
    np.minimum.at(begin, (trials.round, trials.treatment), trials.position)
    unknown = np.concatenate([[0], np.cumsum(trials.predecessor == UNKNOWN)])
    before = unknown[np.searchsorted(trials.round, np.arange(rounds))]
    return History(begin[trials.round] < trials.position[:, None], unknown[1:] == before[trials.round])


def _coded(treatments: Sequence[Hashable]) -> tuple[tuple[Hashable, ...], Indices]:
    given = cast("list[Hashable]", np.asarray(treatments).tolist())
    codes = {label: code for code, label in enumerate(dict.fromkeys(given))}
    return tuple(codes), np.fromiter((codes[label] for label in given), np.int64, len(given))


def _numbered(rounds: ArrayLike) -> Indices:
    """Number rounds 0, 1, 2 …: in numeric order, or by first appearance if they are names."""
    given = np.asarray(rounds)
    if given.dtype.kind in "biuf":
        return np.unique(as_values(given, "rounds"), return_inverse=True)[1].astype(np.int64)
    return _coded(given.tolist())[1]
