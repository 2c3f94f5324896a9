"""Effect of the order of trials on a treatment's results: fixed against random order (OrderSage)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, sqrt
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.statistics.checks import Array, as_percent, as_values
from trialwise.statistics.comparing.shift import Shift, shift_between
from trialwise.statistics.pooled.estimates import Pooled
from trialwise.statistics.tests.anderson import FEWEST, of_pooled
from trialwise.statistics.tests.shapiro import shapiro_wilk

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

CASES = {
    1: "the intervals do not overlap: inference changes",
    2: "a median lies in the other's interval: inference likely does not change",
    3: "the intervals overlap, the medians lie outside: inference may or may not change",
}
"""The paper's interpretation of its cases."""


@dataclass(frozen=True, slots=True)
class MedianInterval:
    """A median with its rank-based interval, in the unit of the values."""

    median: float
    low: float
    high: float
    low_rank: int
    """From 1."""
    high_rank: int
    n: int

    def holds(self, value: float, *, strictly: bool = False) -> bool:
        """Return True if a value lies in the interval, bounds included unless `strictly`."""
        return self.low < value < self.high if strictly else self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class OrderEffect:
    """Effect of a fixed order of trials on one treatment, compared with a random one."""

    h: float
    """Kruskal and Wallis' H, corrected for ties."""
    p_value: float
    """Of H, uncorrected."""
    alpha_corrected: float
    """alpha / comparisons (Bonferroni)."""
    significant: bool
    """True if the p-value is below `alpha_corrected`."""
    eta_squared: float
    """(H - k + 1) / (n - k) with k = 2 groups; negative if H < 1."""
    epsilon_squared: float
    """H / (n - 1), which OrderSage's program prints as η²."""
    percent_difference: float
    """100 (mean fixed - mean random) / mean fixed, the paper's Δ%; NaN if the fixed mean is 0."""
    shift: Shift
    """Hodges-Lehmann shift, fixed minus random as in Δ%, in the unit of the values."""
    shift_percent: float
    """The shift's estimate in percent of the fixed median; NaN if that is 0."""
    anderson: float
    """Anderson and Darling's A², sensitive to location, spread and shape."""
    p_distribution: float
    """Of A², uncorrected; NaN below four values."""
    spread_ratio: float
    """Interquartile range, random over fixed; NaN if the fixed one is 0."""
    fixed_interval: MedianInterval
    random_interval: MedianInterval
    case: int
    """1, 2 or 3 by the paper's text: 2 if at least one median lies in the other's interval, bounds included."""
    case_strict: int
    """1, 2 or 3 by the paper's Algorithm 2: 2 if both medians lie strictly inside the other's interval."""
    shapiro_fixed: float
    """p-value of Shapiro and Wilk's test of normality, for information; NaN below 3 and above 5000 values."""
    shapiro_random: float
    n: tuple[int, int]
    """Number of values in fixed and in random order."""
    alpha: float
    comparisons: int
    ci_confidence: float
    """In percent."""
    method: str


def order_effect(
    fixed: ArrayLike,
    random: ArrayLike,
    *,
    alpha: float = 0.05,
    comparisons: int = 1,
    ci_confidence: float = 95,
) -> OrderEffect:
    """Compare the results of one treatment under fixed and under random order.

    Duplyakin et al., "Avoiding the Ordering Trap in Systems Performance Measurement" (OrderSage), sections 3 and 5,
    with Hodges and Lehmann's shift and Anderson and Darling's test added; the latter also detects spread and shape.

    Parameters
    ----------
    fixed, random
        One number per trial.
    alpha
        Family-wise error rate of the comparisons, as a share.
    comparisons
        Their number, for Bonferroni's correction (the paper's Algorithm 1, line 14).
    ci_confidence
        Of the intervals, in percent.

    Raises
    ------
    StatisticsError
        Fewer than two values for an order, values that are not finite, or an option out of range.
    """
    level = _check(alpha, comparisons, ci_confidence)
    x, y = as_values(fixed, "fixed", minimum=2), as_values(random, "random", minimum=2)
    x, y = np.sort(x), np.sort(y)
    pooled = Pooled.of(x, y)
    h = kruskal_wallis(pooled)
    p_value = float(special.chdtrc(1, h))
    total = x.size + y.size
    intervals = interval_of_sorted(x, ci_confidence), interval_of_sorted(y, ci_confidence)
    shift = shift_between(x, y, level)
    statistic, p_distribution = of_pooled(pooled) if total >= FEWEST else (np.nan, np.nan)
    return OrderEffect(
        h=h,
        p_value=p_value,
        alpha_corrected=alpha / comparisons,
        significant=p_value < alpha / comparisons,
        eta_squared=(h - 1) / (total - 2),
        epsilon_squared=h / (total - 1),
        percent_difference=_percent(float(x.mean() - y.mean()), float(x.mean())),
        shift=shift,
        shift_percent=_percent(shift.estimate, intervals[0].median),
        anderson=statistic,
        p_distribution=p_distribution,
        spread_ratio=_ratio(_quartile_range(y), _quartile_range(x)),
        fixed_interval=intervals[0],
        random_interval=intervals[1],
        case=overlap_case(*intervals),
        case_strict=overlap_case(*intervals, strictly=True),
        shapiro_fixed=shapiro_wilk(x),
        shapiro_random=shapiro_wilk(y),
        n=(x.size, y.size),
        alpha=alpha,
        comparisons=comparisons,
        ci_confidence=float(ci_confidence),
        method="Kruskal-Wallis; Anderson-Darling; Hodges-Lehmann; medians by normal ranks",
    )


def _check(alpha: float, comparisons: int, ci_confidence: float) -> float:
    if not 0 < alpha < 1:
        raise StatisticsError(f"alpha is {alpha!r}; expected a share between 0 and 1")
    if comparisons < 1 or comparisons != int(comparisons):
        raise StatisticsError(f"comparisons are {comparisons!r}; expected an integer ≥ 1")
    return float(as_percent(ci_confidence, "ci_confidence"))


def median_interval(values: ArrayLike, confidence: float = 95) -> MedianInterval:
    """Estimate the median with its interval by normal ranks (Le Boudec, Performance Evaluation, 2010, section 2.2.2, Table A.1).

    It extends from the j-th to the k-th smallest value, with j = floor(n/2 - z sqrt(n)/2) and k = ceil(n/2 + 1 + z sqrt(n)/2),
    clamped to 1 and n; z = 1.96 at 95 %. Below six values no interval of the median reaches 95 %, so it is the whole range.

    Raises
    ------
    StatisticsError
        No values, or values that are not finite.
    """
    return interval_of_sorted(np.sort(as_values(values)), confidence)


def interval_of_sorted(ordered: Array, confidence: float = 95) -> MedianInterval:
    """Return the interval of the median of finite values in ascending order."""
    n = ordered.size
    low, high = _ranks(n, confidence)
    median = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    return MedianInterval(float(median), float(ordered[low - 1]), float(ordered[high - 1]), low, high, n)


@lru_cache(maxsize=1024)
def _ranks(n: int, confidence: float) -> tuple[int, int]:
    level = float(as_percent(confidence, "confidence"))
    half = 0.98 if confidence == 95 else float(special.ndtri((1 + level) / 2)) / 2
    # Round before floor and ceil, because 0.98 sqrt(n) may be an integer.
    reach = round(half * sqrt(n), 9)
    return max(1, floor(n / 2 - reach)), min(n, ceil(n / 2 + 1 + reach))


def overlap_case(fixed: MedianInterval, random: MedianInterval, *, strictly: bool = False) -> int:
    """Return the paper's case of two intervals of medians: by its text, or if `strictly` by its Algorithm 2."""
    if fixed.low > random.high or fixed.high < random.low:
        return 1
    inside = (
        fixed.holds(random.median, strictly=strictly),
        random.holds(fixed.median, strictly=strictly),
    )
    return 2 if (all(inside) if strictly else any(inside)) else 3


def kruskal_wallis(pooled: Pooled) -> float:
    """Compute H of two samples, corrected for ties (Kruskal and Wallis 1952); 0 if all values are equal."""
    m, n = pooled.sizes
    middle = (m + n + 1) / 2
    ranks = np.cumsum(pooled.counts) - (pooled.counts - 1) / 2 - middle
    own = float(ranks @ pooled.own)
    # The variance of tied ranks replaces N(N + 1)/12 and its correction.
    whole = float(pooled.counts @ ranks**2)
    return own**2 * (1 / m + 1 / n) * (m + n - 1) / whole if whole else 0.0


def _quartile_range(ordered: Array) -> float:
    low, high = (_quantile(ordered, share) for share in (0.25, 0.75))
    return high - low


def _quantile(ordered: Array, share: float) -> float:
    """Compute a quantile by linear interpolation between ranks, as NumPy does by default."""
    place = share * (ordered.size - 1)
    below = floor(place)
    above = min(below + 1, ordered.size - 1)
    return float(ordered[below] + (place - below) * (ordered[above] - ordered[below]))


def _percent(part: float, whole: float) -> float:
    return 100 * _ratio(part, whole)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
