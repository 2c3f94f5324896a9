"""Change points: where the level of a series changes, by how much, and how sure that is.

Binary segmentation over seeded intervals: the best split of the whole series is tested, then those of its two parts, until no test
rejects. A part that holds a share of the values is tested at that share of the level, so that the false positives of all parts
together stay below the level. Each test holds its level where neighbours correlate by up to 0.8 (AR(1)), also where rounding, few
distinct values or outliers hide it. A level that drifts along a line is no change at one place: where a line describes the series
better than the steps, by Schwarz's criterion, the line is returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import expm1, inf, log, log1p, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import as_values
from trialwise.statistics.comparing.shift import shift_between
from trialwise.statistics.pooled.phase_randomization import normal_scores
from trialwise.statistics.tests.change_scan import (
    LEAST,
    LONGEST_MEASURED,
    MEASURED,
    RANKED,
    Split,
    View,
    best_split,
    height,
    largest,
    tail,
    tail_if_independent,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from trialwise.statistics.checks import Array

_LEVEL = 0.95
_MOST_CORRELATED = 0.95
_MEASURED_SHARE = 0.2
_UNEVEN = 1.15
"""Ties count as uneven where a score lies this much farther out than the outermost of untied values."""
_MANY_TIED = 0.05
"""Ties hide how much neighbours correlate where more than this share of all values are equal."""
_HIDDEN = (0.82, 0.0, 0.5)
"""Correlations of the normal series whose order values with ties get: first that which rejects least, with a reserve to 0.8."""
_WARM_UP = 30
_LONGEST_REDRAWN, _BLOCKS = 1000, 100
"""Longer series with ties are tested by means of so many blocks instead, so that their time stays bounded."""
_NORMAL_DEVIATION = 1.4826
"""Standard deviation of normal values, in median distances."""
_WINDOW, _FAR = 9, 6.0
"""An outlier lies this many standard deviations (of the median distance) from the median of the values around it."""
_SHUFFLED_VALUES, _MOST_SHUFFLES, _LEAST_SHUFFLES = 200_000, 999, 99
_FEW = 20
_MOST_OF_SLOPE = 500


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A change of level between the values `at - 1` and `at`, counted from 0."""

    at: int
    before: float
    """Median of the values since the previous change."""
    after: float
    """Median of the values until the next change."""
    shift: float
    """Hodges and Lehmann's estimate of the change, in the unit of the values."""
    low: float
    """Lower bound of the shift at 95 %, widened for correlated neighbours; the place is taken as known."""
    high: float
    """Upper bound, likewise."""
    p_value: float
    """Of no change in the part of the series that it was found in, divided by that part's share of the values."""
    n: tuple[int, int]
    """Values on either side, up to the neighbouring changes."""


@dataclass(frozen=True, slots=True)
class LinearDrift:
    """A level that moves along a line instead of changing at places."""

    change: float
    """From the first to the last value along Theil and Sen's line, in the unit of the values."""
    p_value: float
    """Of no change at all."""


@dataclass(frozen=True, slots=True)
class ChangePoints:
    """Changes of level in the order of the series, or a drift."""

    changes: tuple[ChangePoint, ...]
    drift: LinearDrift | None
    correlation: float
    """Of neighbouring values in what the changes leave, 0 if it would be negative; the bounds of shifts are widened for it."""
    is_undecided: bool
    """Whether there would be a change if neighbours were known to be no more alike than they look, but values are too few to know."""
    more: int
    """Further values that are needed before any change could be found; 0 if there are enough."""
    n: int
    alpha: float
    """Of each test."""
    method: str


def change_points(values: ArrayLike, *, alpha: float = 0.05, seed: int = 0) -> ChangePoints:
    """Find changes of level in a series.

    The statistic is the largest normal deviate over all splits of all seeded intervals, with at least 5 values on either side, in
    normal scores, so that neither outliers nor the distribution matter. Correlated neighbours: each deviate is divided by
    sqrt((1 + r) / (1 - r)), where r is the correlation that the split leaves, raised by as much as the split hides. Its p-value is the
    largest among AR(1) series with correlations of 0 to 0.8, by a table of simulated quantiles (`change_tails.py`). Ties and outliers
    hide how much neighbours correlate. With ties, the p-value is also the largest among the same values in the order of AR(1) series
    with correlations of 0, 0.5 and 0.82; beyond 1000 values, that of the means of 100 blocks. Where isolated values lie far from those
    around them, the rest has to show a change as well. Parts of up to 100 values are tested by the values as well, at a fifth of the
    level, because scores do not tell how far apart two sides lie; that table's shocks are also heavy-tailed and skewed.
    `benches/changes.py` measures false positives and power.

    Parameters
    ----------
    values
        A series in its order, such as one value for each commit.
    alpha
        False-positive rate of the series: divide it by the number of series to bound that of all of them.
    seed
        Of the shuffles (PCG64DXSM).

    Raises
    ------
    StatisticsError
        No values, values that are not finite, or an alpha that is not between 0 and 1.
    """
    array = as_values(values)
    if not 0 < alpha < 1:
        raise StatisticsError(f"alpha is {alpha}; it must lie between 0 and 1")
    search = _Search(array, alpha, np.random.Generator(np.random.PCG64DXSM(seed)))
    found = search.found()
    places = _placed(array, sorted(found))
    drift = search.drift(places)
    correlation = _correlation_left(normal_scores(array), places)
    p_values = [found[at] for at in sorted(found)]
    changes = () if drift else _changes(array, places, p_values, inflation(correlation))
    return ChangePoints(
        changes=changes,
        drift=drift,
        correlation=correlation,
        is_undecided=not found and search.is_undecided(),
        more=values_needed(alpha, array.size) - array.size,
        n=array.size,
        alpha=alpha,
        method="seeded binary segmentation of normal scores",
    )


@lru_cache(maxsize=1024)
def values_needed(alpha: float, n: int = 0) -> int:
    """Return the smallest number of values, `n` or more, among which a change can be found: one in the middle."""
    n = max(n, 2 * LEAST)
    while n <= LONGEST_MEASURED and min(_tail(each, n) for each in _views(_clearest(n))) > alpha:
        n += 1
    return n


def _clearest(n: int) -> Array:
    """Return a change in the middle than which none is clearer: on either side, low and high values take turns."""
    sides = [np.arange(float(size)) for size in (n // 2, n - n // 2)]
    for side in sides:
        low = side.size - side.size // 2
        side[::2], side[1::2] = np.arange(low), np.arange(low, side.size)
    return np.concatenate([sides[0], 1e6 * n + sides[1]])


@dataclass(frozen=True, slots=True)
class _Viewed:
    """Values in a form, with their best split, and the share of the level at which it is tested."""

    values: Array
    view: View
    share: float
    split: Split

    @property
    def z(self) -> float:
        return max(self.split.z, self.split.line)


def _views(values: Array) -> list[_Viewed]:
    scores = normal_scores(values)
    if values.size > LONGEST_MEASURED:
        return [_Viewed(scores, RANKED, 1.0, best_split(scores))]
    apart = values - np.median(values)
    farthest = float(np.abs(apart).max())
    scaled = apart / farthest if farthest > 0 else apart
    return [
        _Viewed(scores, RANKED, 1 - _MEASURED_SHARE, best_split(scores)),
        _Viewed(scaled, MEASURED, _MEASURED_SHARE, best_split(scaled, MEASURED)),
    ]


def _tail(viewed: _Viewed, n: int) -> float:
    return min(1.0, tail(viewed.z, n, viewed.view) / viewed.share)


class _Search:
    """Splits a series where a test says so."""

    def __init__(self, values: Array, alpha: float, rng: np.random.Generator) -> None:
        self._values = values
        self._scores = normal_scores(values)
        self._alpha = alpha
        self._rng = rng

    def found(self) -> dict[int, float]:
        """Return the places of changes with their p-values."""
        found: dict[int, float] = {}
        parts = [(0, self._values.size)]
        while parts:
            begin, end = parts.pop()
            if end - begin < 2 * LEAST:
                continue
            p_value, split = self._tested(self._values[begin:end])
            p_value = min(1.0, p_value * self._values.size / (end - begin))
            if p_value <= self._alpha:
                found[begin + split.at] = p_value
                parts += [(begin, begin + split.at), (begin + split.at, end)]
        return found

    def is_undecided(self) -> bool:
        """Return True if the best split would be a change, were neighbours no more alike than it leaves them."""
        if self._values.size < 2 * LEAST:
            return False
        best = _Viewed(self._scores, RANKED, 1.0, best_split(self._scores))
        p_value = tail_if_independent(best.split.seen, self._values.size)
        if p_value <= self._alpha and self._values.size <= _LONGEST_REDRAWN and _has_other_tail(self._scores):
            p_value = max(p_value, self._redrawn(best, only_seen=True))
        return p_value <= self._alpha

    def _tested(self, values: Array) -> tuple[float, Split]:
        """Return the p-value of no change, and the split that tells most; outliers hide how much neighbours correlate."""
        p_value, split = min(
            ((self._p_value(each), each.split) for each in _views(values)), key=lambda found: found[0]
        )
        if p_value <= self._alpha and (kept := without_outliers(values)).size < values.size:
            enough = kept.size >= 2 * LEAST
            p_value = max(p_value, min(map(self._p_value, _views(kept)))) if enough else 1.0
        return p_value, split

    def _p_value(self, best: _Viewed) -> float:
        p_value = _tail(best, best.values.size)
        if p_value > self._alpha or not _has_other_tail(best.values):
            return p_value
        if best.values.size > _LONGEST_REDRAWN:
            return max(p_value, _tail_of_blocks(best.values))
        for correlation in _HIDDEN:
            p_value = max(p_value, min(1.0, self._redrawn(best, correlation) / best.share))
            if p_value > self._alpha:
                break
        return p_value

    def _redrawn(self, best: _Viewed, correlation: float = 0.0, *, only_seen: bool = False) -> float:
        """Return the p-value among the same values in the order of normal series whose neighbours correlate.

        It draws on until it is clear (Besag and Clifford 1991). Beyond what is drawn, a tail of the same form goes on that fits the
        largest twentieth.
        """
        z = best.split.seen if only_seen else best.z
        count = min(_MOST_SHUFFLES, max(_LEAST_SHUFFLES, _SHUFFLED_VALUES // best.values.size))
        drawn: list[Array] = []
        beyond = 1
        for rows in _portions(count, best.values.size):
            drawn.append(
                largest(self._reordered(best.values, rows, correlation), best.view, only_seen=only_seen)
            )
            beyond += int(np.sum(drawn[-1] >= z * (1 - 1e-9)))
            if beyond > _FEW:
                return beyond / (1 + sum(each.size for each in drawn))
        top = float(np.quantile(np.concatenate(drawn), 1 - 1 / _FEW))
        factor = -log1p(-1 / _FEW) / height(top) if top > 1 else 0.0
        fitted = -expm1(-factor * height(z))
        return max(fitted, (beyond - 1) / (1 + count))

    def _reordered(self, values: Array, rows: int, correlation: float) -> Array:
        """Return rows of these values, each in the order of an AR(1) series."""
        from scipy.signal import lfilter

        shocks = self._rng.normal(size=(rows, values.size + _WARM_UP))
        order = lfilter([1.0], [1.0, -correlation], shocks, axis=1)[:, _WARM_UP:]
        return np.sort(values)[order.argsort(axis=1).argsort(axis=1)]

    def drift(self, places: list[int]) -> LinearDrift | None:
        """Return the drift if a line describes the values better than steps at these places."""
        if not places:
            return None
        from trialwise.statistics.tests.slopes import theil_sen

        n = self._values.size
        kept = np.unique(np.linspace(0, n - 1, min(n, _MOST_OF_SLOPE)).astype(np.int64))
        slope = theil_sen(kept, self._values[kept], 95).slope
        if _criterion([self._values - slope * np.arange(n)], 1) >= _criterion(
            np.split(self._values, places), 2 * len(places)
        ):
            return None
        return LinearDrift(slope * (n - 1), self._tested(self._values)[0])


def _criterion(parts: Sequence[Array], terms: int) -> float:
    """Return Schwarz's criterion of parts around their medians, for double exponential errors, with so many terms besides a median.

    Distances instead of squares: an outlier would decide between a line and steps.
    """
    n = sum(part.size for part in parts)
    distances = sum(float(np.abs(part - np.median(part)).sum()) for part in parts)
    return 2 * n * log(distances / n) + terms * log(n) if distances > 0 else -inf


def inflation(correlation: float) -> float:
    """Return the factor by which the correlation of neighbours widens the distribution of means (AR(1))."""
    return sqrt((1 + correlation) / (1 - correlation))


def _correlation_left(scores: Array, places: Sequence[int]) -> float:
    """Return the correlation of neighbours around the means of the parts between places."""
    rest = np.concatenate([part - part.mean() for part in np.split(scores, places)])
    power, n = float(rest @ rest), rest.size
    if n < 2 * LEAST or power <= 0:
        return 0.0
    lagged = float(rest[1:] @ rest[:-1]) / power
    # Each mean that is estimated lowers it by about (1 + 3 r) / n (Kendall 1954).
    hidden = (1 + len(places)) * (1 + 3 * max(lagged, 0.0)) / n
    return min(max(lagged + hidden, 0.0), _MOST_CORRELATED)


def _tail_of_blocks(scores: Array) -> float:
    """Return the p-value of no change among the means of blocks of neighbours, which tie less and hide less of their correlation."""
    means = np.array([block.mean() for block in np.array_split(scores, _BLOCKS)])
    ranked = normal_scores(means)
    return _tail(_Viewed(ranked, RANKED, 1.0, best_split(ranked)), means.size)


def without_outliers(values: Array) -> Array:
    """Return the values without those that lie far from the values around them, unless five neighbours lie there together."""
    half = _WINDOW // 2
    if values.size < _WINDOW:
        return values
    around = np.pad(values, half, constant_values=np.nan)
    apart = np.abs(values - np.nanmedian(sliding_window_view(around, _WINDOW), axis=1))
    deviation = _NORMAL_DEVIATION * float(np.median(apart))
    return values[apart <= _FAR * deviation] if deviation > 0 else values


def _has_other_tail(scores: Array) -> bool:
    """Return True where ties make large values of the statistic more frequent: outlying ones, or many."""
    most_tied = int(np.unique(scores, return_counts=True)[1].max())
    return most_tied > max(1, _MANY_TIED * scores.size) or _is_uneven(scores)


def _is_uneven(scores: Array) -> bool:
    spread = float(scores.std())
    farthest = float(np.abs(scores - scores.mean()).max())
    untied = normal_scores(np.arange(float(scores.size)))
    return farthest / spread > _UNEVEN * float(untied.max() / untied.std())


def _portions(count: int, n: int) -> list[int]:
    """Split a number of draws so that few are drawn where few suffice, and each portion fits into memory."""
    most = max(1, min(_LEAST_SHUFFLES, 500_000 // n))
    return [most] * (count // most) + ([count % most] if count % most else [])


def _placed(values: Array, places: list[int]) -> list[int]:
    """Move each place to where the values between its neighbours lie nearest to the medians of its two sides."""
    placed = [0, *places, values.size]
    for _ in range(2):
        for number in range(1, len(placed) - 1):
            begin, at, end = placed[number - 1 : number + 2]
            distances = [
                np.abs(values[begin:end] - np.median(side)) for side in (values[begin:at], values[at:end])
            ]
            # The sum of distances to the first median before each place, and to the second from there on.
            sums = np.cumsum(distances[0] - distances[1])[LEAST - 1 : end - begin - LEAST]
            placed[number] = begin + LEAST + int(sums.argmin())
    return placed[1:-1]


def _changes(
    values: Array, places: list[int], p_values: list[float], widened: float
) -> tuple[ChangePoint, ...]:
    parts = np.split(values, places)
    made: list[ChangePoint] = []
    for at, p_value, (first, second) in zip(places, p_values, pairwise(parts), strict=True):
        shift = shift_between(second, first, _LEVEL)
        low, high = (shift.estimate if end is None else end for end in (shift.low, shift.high))
        made.append(
            ChangePoint(
                at=at,
                before=float(np.median(first)),
                after=float(np.median(second)),
                shift=shift.estimate,
                low=shift.estimate - widened * (shift.estimate - low),
                high=shift.estimate + widened * (high - shift.estimate),
                p_value=p_value,
                n=(first.size, second.size),
            )
        )
    return tuple(made)
