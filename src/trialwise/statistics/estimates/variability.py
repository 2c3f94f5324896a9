"""Variability scores: how much KPIs vary between series (TriScale section 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.statistics.checks import Limits, Method, as_percent, as_values, percent
from trialwise.statistics.estimates.kpi import caution, joined
from trialwise.statistics.estimates.measures import percentile_of
from trialwise.statistics.estimates.percentiles import at_ranks
from trialwise.statistics.sizing.sizing import series_needed
from trialwise.statistics.tests.binomial import lower_rank, miss, upper_rank
from trialwise.statistics.tests.independence import Independence, independence

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True, eq=False)
class Variability:
    """The range, at a confidence, of a middle share of the KPIs of all series."""

    low: float | None
    """Lower bound of the lower percentile, in the unit of the values; None if there are too few."""
    high: float | None
    """Upper bound of the upper percentile."""
    low_rank: int | None
    """Rank of `low`, from 1."""
    high_rank: int | None
    """Rank of `high`, from 1."""
    score: float | None
    """high - low, in the unit of the values."""
    relative: float | None
    """Score as a share of the absolute median of the values; None if that is 0."""
    joint_confidence: float | None
    """Probability, in percent, that both bounds hold jointly."""
    prediction: float | None
    """Probability, in percent, that the KPI of one more series lies between the bounds."""
    independent: bool | None
    """Result of the independence test; False makes the score descriptive only."""
    independence: Independence
    """The independence test."""
    n: int
    """Number of series."""
    needed: int
    """Smallest number of series that yields the score."""
    percentile: float
    """In percent."""
    confidence: float
    """In percent: of each bound, or of both jointly for the median."""
    method: str
    """How the bounds were computed."""
    note: str
    """What is missing or weakens the score, and the remedy."""


def variability(
    values: ArrayLike,
    percentile: float,
    confidence: float,
    *,
    limits: Limits = None,
    method: Method = "default",
) -> Variability:
    """Estimate the range of a middle share of KPIs over all series like those given.

    It extends from the lower bound of percentile min(p, 100-p) to the upper bound of its mirror image, each one-sided at the
    confidence, from exact ranks. For the median both bounds hold jointly, as the paper's Table 2 counts (75 %: 3 series, 90 %:
    5). `method` selects the independence test.

    Parameters
    ----------
    values
        One KPI per series, in time order.
    percentile
        In percent; 25 and 75 give the same range.
    confidence
        In percent, between 0 and 100, exclusive.
    limits
        Expected extremes of the KPI, for the paper's test of stationarity.
    method
        "default" or "paper".

    Returns
    -------
    Variability
        In the unit of the values.

    Raises
    ------
    StatisticsError
        The values are empty, not finite, masked or not one-dimensional, an option is out of range, or the score exceeds the
        largest double.
    """
    array = as_values(values)
    share, level = as_percent(percentile, "percentile"), as_percent(confidence, "confidence")
    p = min(share, 1 - share)
    each = (1 + level) / 2 if p == _HALF else level
    test = independence(array, limits=limits, method=method)
    low_rank, high_rank = lower_rank(array.size, p, each), upper_rank(array.size, 1 - p, each)
    low, high = at_ranks(array, low_rank, high_rank)
    score = None if low is None or high is None else high - low
    if score == inf:
        raise StatisticsError("the score is beyond the largest double; rescale the values")
    middle = abs(percentile_of(array, 0.5))
    wanted = series_needed(percentile, confidence)
    return Variability(
        low=low,
        high=high,
        low_rank=low_rank,
        high_rank=high_rank,
        score=score,
        relative=None if score is None or middle == 0 else score / middle,
        joint_confidence=joint_confidence(array.size, low_rank, high_rank, p),
        prediction=_prediction(array.size, low_rank, high_rank),
        independent=test.independent,
        independence=test,
        n=array.size,
        needed=wanted,
        percentile=float(percentile),
        confidence=float(confidence),
        method="exact binomial ranks",
        note=joined(_shortage(array.size, wanted, p, level), caution(test)),
    )


def _shortage(count: int, wanted: int, p: Fraction, level: Fraction) -> str:
    if count >= wanted:
        return ""
    low, high = float(p) * 100, float(1 - p) * 100
    what = "range of the median" if p == _HALF else f"range from p{low:g} to p{high:g}"
    return f"the {percent(level)} {what} needs {wanted} series; there are {count}"


def _prediction(count: int, low: int | None, high: int | None) -> float | None:
    """Return the probability for n + 1 equally likely gaps between values: (n-1)/(n+1) between the extremes."""
    return None if low is None or high is None else 100 * (high - low) / (count + 1)


def joint_confidence(n: int, low: int | None, high: int | None, p: Fraction) -> float | None:
    """Return the probability, in percent, that x_(low) <= Q_p and Q_(1-p) <= x_(high) hold jointly.

    With A values below Q_p and B below Q_(1-p): P(A >= low) - P(A >= low, B >= high), and B - A given A is
    binomial.
    """
    if low is None or high is None:
        return None
    if p == _HALF:
        return 100 * (1 - miss(n, low, high, p))
    below = np.arange(low, n + 1)
    log_ways = special.gammaln(n + 1) - special.gammaln(below + 1) - special.gammaln(n - below + 1)
    chance = np.exp(log_ways + below * np.log(float(p)) + (n - below) * np.log(float(1 - p)))
    wanted = high - below
    inside = float((1 - 2 * p) / (1 - p))
    reached = np.where(
        wanted <= 0, 1.0, special.betainc(np.maximum(wanted, 1), np.maximum(n - high + 1, 1), inside)
    )
    return 100 * float(1 - miss(n, low, n + 1, p) - chance @ reached)
