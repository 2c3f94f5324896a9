"""How many rounds a margin asks for where conditions move: from conditions that were recorded before any trial ran.

Trials of a round run one after another, in random order, under conditions that move meanwhile. Two treatments that do nothing
different then differ by what the conditions did between their trials. Its mean square over a record of the conditions is the
variance of a difference within a round, whose mean is 0 because the order is random; drifts and daily cycles count as far as they act
between trials of one round, and no further.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import Array, Indices
from trialwise.statistics.comparing.paired import bill
from trialwise.statistics.comparing.verdicts import as_confidence
from trialwise.statistics.estimates.measures import window_measures
from trialwise.statistics.estimates.moments import Moments, Pair
from trialwise.statistics.sequential.forecast import CHANCE, MOST
from trialwise.statistics.tests.drift import BATCHES, batch_metrics

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FEWEST = 2 * BATCHES
"""Differences between trials of a round from which their variance is judged."""
_MOST_LAGS = 64
_COVERED = 0.9
"""Share of a trial's length that must have been recorded."""


@dataclass(frozen=True, slots=True)
class RoundsNeeded:
    """The rounds that conditions ask for.

    Attributes
    ----------
    rounds
        Smallest number with which two equal treatments are found equivalent within the margin with a chance of `chance` percent;
        None with a `reason`.
    deviation
        Standard deviation of the difference between two trials of one round; NaN if there is none.
    n
        Differences that it rests on, which overlap.
    freedom
        Degrees of freedom that they are worth, by batch means.
    margin, confidence, chance
        In the unit of the values; in percent.
    method
        What was done.
    reason
        Why there is no number; empty if there is one.
    """

    rounds: int | None
    deviation: float
    n: int
    freedom: float
    margin: float
    confidence: float
    chance: float
    method: str
    reason: str = ""

    @property
    def is_short(self) -> bool:
        """Whether the record was too short for a number, rather than the number too large."""
        return self.n < FEWEST


def rounds_needed(
    times: ArrayLike,
    values: ArrayLike,
    margin: float,
    *,
    every: float,
    trial: float,
    slot: float,
    treatments: int,
    confidence: float = 95,
) -> RoundsNeeded:
    """Find the rounds after which what the conditions do between trials no longer hides a margin.

    The differences between all stretches of a trial's length that are one, two, … slots apart, weighted by how often two treatments
    of a randomized round are so far apart, give the variance; batch means of their squares say how well it is known. The number is
    that of `paired_difference`, whose t test takes pairs within rounds, with a chance of 90 %. What schemes vary by themselves comes
    on top, so it is the least. If nothing moves, it is what a sign test of equal pairs needs.

    Parameters
    ----------
    times
        Seconds, each the beginning of a row, in any order, with gaps.
    values
        One for each time; rows of NaN are left out.
    margin
        The difference that would matter, above 0.
    every
        Seconds of a row.
    trial, slot
        Seconds of a trial, and from the beginning of one trial to that of the next.
    treatments
        Trials of a round.
    confidence
        Of a verdict, in percent.

    Raises
    ------
    StatisticsError
        Lengths differ, a number is out of range, or a round has fewer than two treatments.
    """
    level = as_confidence(confidence)
    moments, rows = np.asarray(times, np.float64), np.asarray(values, np.float64)
    if moments.shape != rows.shape or moments.ndim != 1:
        raise StatisticsError(f"{moments.size} times and {rows.size} values; each value needs its time")
    if not (0 < margin < np.inf and 0 < every < np.inf and 0 < trial <= slot < np.inf and treatments >= 2):
        raise StatisticsError(
            "margin and lengths must be above 0, a slot as long as a trial, treatments two or more"
        )
    squares = _squares(*_trials(moments, rows, every, trial), every, slot, treatments)
    if squares.size < FEWEST:
        reason = f"only {squares.size} pairs of a round's trials fit into the record, and {FEWEST} are needed"
        return _found(None, np.nan, squares.size, 0.0, margin, confidence, reason)
    variance = float(squares.mean())
    if not variance:
        return _found(ceil(-log2(1 - level)), 0.0, squares.size, 0.0, margin, confidence, "")
    batches = batch_metrics(squares, "mean")
    spread = float(batches.var(ddof=1)) / batches.size
    freedom = float(np.clip(2 * variance**2 / spread, 1, squares.size)) if spread else float(squares.size)
    exponent = int(np.frexp(np.sqrt(variance))[1])
    pair = Pair(
        Moments(freedom + 1, 0.0, 0.0), Moments(freedom + 1, 0.0, np.ldexp(variance, -2 * exponent)), exponent
    )
    rounds = bill(pair, margin, 1 - level, "fresh")
    reason = "" if rounds else f"more than {MOST} would be needed: allow a wider margin, or run longer trials"
    return _found(rounds, float(np.sqrt(variance)), squares.size, freedom, margin, confidence, reason)


def _found(
    rounds: int | None,
    deviation: float,
    n: int,
    freedom: float,
    margin: float,
    confidence: float,
    reason: str,
) -> RoundsNeeded:
    method = "Student's t of pairs within rounds, two one-sided tests; variance from the record"
    return RoundsNeeded(rounds, deviation, n, freedom, margin, confidence, 100 * CHANCE, method, reason)


def _trials(times: Array, values: Array, every: float, trial: float) -> tuple[Array, Array]:
    """Return when stretches of a trial's length begin, and their mean; those that were recorded to nine tenths."""
    order = np.argsort(times, kind="stable")
    order = order[np.isfinite(values[order])]
    times, values = times[order], values[order]
    ends = np.searchsorted(times, times + max(trial - every / 2, every / 2))
    starts = np.arange(times.size)
    whole = ends - starts >= _COVERED * trial / every
    starts, ends = starts[whole], ends[whole]
    means = window_measures(values, starts, ends, "mean") if starts.size else np.empty(0)
    return times[starts], means


def _squares(times: Array, means: Array, every: float, slot: float, treatments: int) -> Array:
    """Return, for each beginning of a trial, the mean square difference to others of its round."""
    sums, weights = np.zeros(times.size), np.zeros(times.size)
    for apart, weight in _apart(treatments):
        there, others = _at(times, times + apart * slot, every)
        sums[there] += weight * (means[others] - means[there]) ** 2
        weights[there] += weight
    known = weights > 0
    return sums[known] / weights[known]


def _apart(treatments: int) -> list[tuple[int, float]]:
    """Return how many places two treatments of a round are apart, and how often in random order."""
    places = np.unique(np.linspace(1, treatments - 1, _MOST_LAGS).round().astype(np.int64))
    return [(int(place), float(treatments - place)) for place in places]


def _at(times: Array, wanted: Array, every: float) -> tuple[Indices, Indices]:
    """Return the places of those times that another is near enough to, and its place."""
    if not times.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    after = np.clip(np.searchsorted(times, wanted), 1, max(times.size - 1, 1))
    before = after - 1
    after = np.minimum(after, times.size - 1)
    nearest = np.where(wanted - times[before] < times[after] - wanted, before, after)
    near = np.flatnonzero(np.abs(times[nearest] - wanted) <= every / 2 * (1 + 1e-9))
    return near, nearest[near]
