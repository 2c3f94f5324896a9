"""Theil-Sen regression."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt
from typing import TYPE_CHECKING

import numpy as np

from trialwise import _core
from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.statistics.checks import Array, as_percent, as_values
from trialwise.statistics.estimates.measures import overflow_scale, percentile_of

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class TheilSen:
    """A line through the medians, and an interval of its slope."""

    slope: float
    """Median of the slopes between all pairs of points, in y per x."""
    intercept: float
    """Median of y minus slope times median of x."""
    low: float
    """Lower bound of the slope's interval."""
    high: float
    """Upper bound of the slope's interval."""
    n: int
    """Number of points."""
    confidence: float
    """In percent."""
    method: str
    """How the interval was computed."""
    note: str
    """Assumptions of the interval."""


def theil_sen(x: ArrayLike, y: ArrayLike, confidence: float) -> TheilSen:
    """Estimate the slope of a line as the median of all pairwise slopes, with Sen's interval.

    Slope: Theil (1950). Interval: Sen (1968), Eq. 2.6, from the normal approximation of Kendall's score with correction for ties,
    with ranks rounded as in `scipy.stats.theilslopes`; it assumes that the deviations from the line are independent. TriScale
    section 4.5 says "the interval containing the middle C% of slopes", which is not a confidence interval of the slope.

    Parameters
    ----------
    x, y
        Coordinates of the points, of equal length, in any order.
    confidence
        In percent, between 0 and 100, exclusive.

    Returns
    -------
    TheilSen
        In y per x.

    Raises
    ------
    StatisticsError
        There are fewer than two points, all are at one x, x and y differ in length or are not finite, or the slope exceeds the
        largest double.
    """
    across, up = as_values(x, "x", minimum=2), as_values(y, "y", minimum=2)
    if across.size != up.size:
        raise StatisticsError(f"there are {across.size} x for {up.size} y")
    slope, low, high = slope_interval(across, up, as_percent(confidence, "confidence"))
    intercept = percentile_of(up, 0.5) - slope * percentile_of(across, 0.5)
    if not all(map(isfinite, (slope, low, high, intercept))):
        raise StatisticsError("a slope is beyond the largest double; rescale x or y")
    return TheilSen(
        slope=slope,
        intercept=intercept,
        low=low,
        high=high,
        n=across.size,
        confidence=float(confidence),
        method="Theil-Sen slope, Sen interval",
        note="the interval holds for independent deviations from the line",
    )


def slope_interval(x: Array, y: Array, level: Fraction) -> tuple[float, float, float]:
    """Return the median slope and its Sen interval at a level between 0 and 1; raise StatisticsError if all x are equal."""
    pairs = _pairs(x.size) - _pairs_tied(x)
    if pairs == 0:
        raise StatisticsError("all x are the same; a slope needs two different ones")
    spread = float(special.ndtri(float((1 + level) / 2))) * sqrt(_score_variance(x, y))
    low = max(round((pairs - spread) / 2) - 1, 0)
    high = min(round((pairs + spread) / 2), pairs - 1)
    x_scale, y_scale = overflow_scale(x), overflow_scale(y)
    wanted = [(pairs - 1) // 2, pairs // 2, low, high]
    found = _core.slope_order_statistics(x * x_scale, y * y_scale, wanted).tolist()
    before, after, low_slope, high_slope = (slope * x_scale / y_scale for slope in found)
    return before / 2 + after / 2, low_slope, high_slope


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


def tie_counts(values: Array) -> list[int]:
    """Return how often each tied value occurs."""
    counts = np.unique(values, return_counts=True)[1]
    return [int(count) for count in counts[counts > 1]]


def _pairs_tied(values: Array) -> int:
    return sum(map(_pairs, tie_counts(values)))


def _score_variance(x: Array, y: Array) -> float:
    """Return the variance of Kendall's score under independence, with ties in either variable (Sen 1968, Eq. 2.6)."""
    groups = [*tie_counts(x), *tie_counts(y)]
    tied = sum(count * (count - 1) * (2 * count + 5) for count in groups)
    n = x.size
    return max(n * (n - 1) * (2 * n + 5) - tied, 0) / 18
