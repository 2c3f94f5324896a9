"""Drift of a metric: batch metrics, the test that their drift is small, and the start-up to discard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.statistics.estimates.measures import Measure, percentile_of, window_measures
from trialwise.statistics.scaling import centred, is_constant

if TYPE_CHECKING:
    from trialwise.statistics.checks import Array, Indices, Limits

Verdict: TypeAlias = Literal["steady", "drifting", "inconclusive"]

BATCHES = 20
MIN_BATCHES = 5
MSER_BATCH = 5
_MAX_CORRELATION = 0.95
_LARGEST = 1e150
_ROUNDING = 1e-14


@dataclass(frozen=True, slots=True)
class DriftTest:
    """Equivalence test (two one-sided tests) of the drift over a whole trial.

    Attributes
    ----------
    verdict
        "steady": the interval lies inside the tolerance; "drifting": entirely outside; else "inconclusive".
    drift
        Change of the metric from start to end (least squares), as a share of `level`.
    low, high
        Interval of the drift in which both one-sided tests have the stated confidence; infinite if the batches are so correlated
        that their effective number is two or less.
    level
        Reference value of the drift: the absolute value of the median batch metric, or half the distance between the limits.
    correlation
        Lag-1 correlation of the batches about the line, corrected for small-sample bias.
    deviation
        Standard deviation of the batches about the line, as a share of `level`.
    n
        Number of batches.
    """

    verdict: Verdict
    drift: float
    low: float
    high: float
    level: float
    correlation: float
    deviation: float
    n: int


def batch_edges(count: int, batches: int = BATCHES) -> Indices:
    """Return the bounds of consecutive batches of `count` samples, equal in size to within one sample.

    Raises
    ------
    StatisticsError
        If there are fewer samples than batches.
    """
    if count < batches:
        raise StatisticsError(f"{count} samples are too few for {batches} batches")
    return np.arange(batches + 1, dtype=np.int64) * count // batches


def batch_metrics(samples: Array, measure: Measure, *, batches: int = BATCHES) -> Array:
    """Reduce each of `batches` consecutive batches to its metric.

    Raises
    ------
    StatisticsError
        If there are fewer samples than batches.
    """
    edges = batch_edges(samples.size, batches)
    return window_measures(samples, edges[:-1], edges[1:], measure)


def drift_test(
    metrics: Array, *, tolerance: float = 5, confidence: float = 95, limits: Limits = None
) -> DriftTest:
    """Test that batch metrics drift by less than a tolerance from start to end.

    The drift is the least-squares slope times the number of batches B. With the lag-1 correlation r of the residuals, r + (1 +
    4r)/B within [0, 0.95], the effective number of batches is n' = B(1 - r)/(1 + r), and the standard error has n' - 2 degrees of
    freedom (Santer et al. 2000, adapted).

    Parameters
    ----------
    metrics
        One per batch, in order; at least 5.
    tolerance
        In percent of the median batch, or of half the distance between the limits.
    confidence
        Of each of the two one-sided tests, in percent.
    limits
        Expected extremes of the metric, in its unit.

    Raises
    ------
    StatisticsError
        If there are fewer than 5 batches, or the median batch is 0 (or close to it) while others are not, since a relative
        tolerance is then meaningless.
    """
    count = metrics.size
    if count < MIN_BATCHES:
        raise StatisticsError(
            f"{count} batches are too few for a drift test; at least {MIN_BATCHES} are needed"
        )
    level = abs(percentile_of(metrics, 0.5)) if limits is None else limits[1] / 2 - limits[0] / 2
    if is_constant(metrics):
        return DriftTest("steady", 0.0, 0.0, 0.0, level, 0.0, 0.0, count)
    position = np.arange(count) - (count - 1) / 2
    spread = float(position @ position)
    relative = _relative(metrics, level)
    slope = float(position @ relative) / spread
    left = relative - relative.mean() - slope * position
    squares = float(left @ left)
    correlation = _lag_one(left, squares)
    freedom = count * (1 - correlation) / (1 + correlation) - 2
    drift = slope * count
    reach = _reach(squares, freedom, spread, confidence) * count
    low, high = drift - reach, drift + reach
    verdict = _verdict(low, high, tolerance / 100)
    deviation = float(np.sqrt(squares / (count - 2)))
    return DriftTest(verdict, drift, low, high, level, correlation, deviation, count)


def _relative(metrics: Array, level: float) -> Array:
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        relative = metrics / level
    if not (np.abs(relative) < _LARGEST).all():
        raise StatisticsError(
            "the median batch is 0, or next to it, so that a tolerance relative to it is meaningless; "
            "give limits or add an offset"
        )
    return relative


def _lag_one(left: Array, squares: float) -> float:
    raw = float(left[1:] @ left[:-1]) / squares if squares > 0 else 0.0
    # Without residuals there is no correlation and nothing to correct.
    return min(max(raw + (1 + 4 * raw) / left.size, 0.0), _MAX_CORRELATION) if squares > 0 else 0.0


def _reach(squares: float, freedom: float, spread: float, confidence: float) -> float:
    """Return the half-width of the slope's interval."""
    if freedom <= 0:
        return float("inf")
    return float(special.stdtrit(freedom, confidence / 100) * np.sqrt(squares / freedom / spread))


def _verdict(low: float, high: float, tolerance: float) -> Verdict:
    if -tolerance <= low and high <= tolerance:
        return "steady"
    return "drifting" if low > tolerance or high < -tolerance else "inconclusive"


def mser5(samples: Array) -> int | None:
    """Return the number of start-up samples to discard so that the mean of the rest is most precise (MSER-5, White 1997).

    Minimises SS(d)/(k - d)² over the number d of discarded batches of five, with SS the sum of squares of the remaining k - d
    about their mean.

    Returns
    -------
    int or None
        A multiple of 5; None if the minimum lies at half of the samples, the end of the search: the start-up may then last longer
        than the samples show.
    """
    count = samples.size // MSER_BATCH
    if count < 4:
        return None
    means = centred(_means_of_five(samples[: count * MSER_BATCH]))
    left = np.arange(count, 0, -1)
    sums = np.cumsum(means[::-1])[::-1]
    squares = np.cumsum((means**2)[::-1])[::-1]
    # Rounding residue of a constant rest must not decide.
    about_mean = np.maximum(squares - sums**2 / left, _ROUNDING * squares)
    farthest = count // 2
    best = int(np.argmin((about_mean / left**2)[: farthest + 1]))
    return None if best == farthest else best * MSER_BATCH


def _means_of_five(samples: Array) -> Array:
    """Average groups of five, halved so that no sum overflows."""
    share = samples * (0.5 / MSER_BATCH)
    return sum((share[place::MSER_BATCH] for place in range(1, MSER_BATCH)), share[::MSER_BATCH])
