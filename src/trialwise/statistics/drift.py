"""Does a metric still move? Batch metrics, the test that their drift is small, and the start-up to cut."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import stdtrit

from trialwise.statistics.correlogram import standardized

if TYPE_CHECKING:
    from trialwise.statistics.timegrid import Floats

Measure = Literal["mean", "median", "min", "max"] | float
Verdict = Literal["steady", "drifting", "inconclusive"]

BATCHES = 20
MSER_BATCH = 5


@dataclass(frozen=True, slots=True)
class DriftTest:
    """Equivalence test (two one-sided tests) of the drift over a whole trial.

    Attributes
    ----------
    verdict
        "steady": the interval lies inside the tolerance; "drifting": wholly outside; else "inconclusive".
    drift
        Change of the metric from start to end (least squares), as a share of `level`.
    low, high
        Interval of the drift in which both one-sided tests have the stated confidence; infinite where the
        batches are so correlated that fewer than two of them are worth something.
    level
        Absolute value of the median batch metric.
    correlation
        Lag-1 correlation of the batches about the line, corrected for their small number.
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


def reduce(samples: Floats, measure: Measure) -> float:
    """One number for many samples; a percentile is linear between order statistics (type 7).

    Raises
    ------
    ValueError
        If the measure is neither a known name nor a percentile from 0 to 100.
    """
    # A power of two changes no digit, and sums and differences of huge samples stay finite.
    scale = 2.0**-64 if float(np.abs(samples).max()) > 1e280 else 1.0
    scaled = samples if scale == 1.0 else samples * scale
    value = np.mean(scaled) if measure == "mean" else np.percentile(scaled, percentile_of(measure))
    return float(value) / scale


def percentile_of(measure: Measure) -> float:
    """Say which percentile a measure other than the mean is."""
    names = {"median": 50.0, "min": 0.0, "max": 100.0}
    if isinstance(measure, str):
        if measure not in names:
            raise ValueError(
                f'measure must be "mean", "median", "min", "max" or a percentile, not {measure!r}'
            )
        return names[measure]
    if not 0 <= measure <= 100:
        raise ValueError(f"a percentile must be from 0 to 100, not {measure}")
    return float(measure)


def batch_metrics(samples: Floats, measure: Measure, *, batches: int = BATCHES) -> Floats:
    """Reduce each of so many consecutive batches of equal size, to within one sample, to its metric.

    Raises
    ------
    ValueError
        If there are fewer samples than batches.
    """
    if samples.size < batches:
        raise ValueError(f"{samples.size} samples are too few for {batches} batches")
    edges = np.arange(batches + 1) * samples.size // batches
    return np.array([reduce(samples[start:end], measure) for start, end in pairwise(edges)])


def drift_test(metrics: Floats, *, tolerance: float = 5, confidence: float = 95) -> DriftTest:
    """Test that batch metrics drift by less than a tolerance from start to end.

    The drift is the least-squares slope times the number of batches B. With the lag-1 correlation r of
    the residuals, r + (1 + 4r)/B within [0, 0.95], the batches are worth n' = B(1 - r)/(1 + r)
    independent ones, and the standard error has n' - 2 degrees of freedom (Santer et al. 2000, adapted).

    Parameters
    ----------
    metrics
        One for each batch, in order; at least 5.
    tolerance
        In percent of the median batch.
    confidence
        Of each of the two one-sided tests, in percent.

    Raises
    ------
    ValueError
        If there are fewer than 5 batches, or the median batch is 0 while others are not: a relative
        tolerance then means nothing.
    """
    count = metrics.size
    if count < 5:
        raise ValueError(f"{count} batches are too few for a drift test; at least 5 are needed")
    level = abs(reduce(metrics, "median"))
    if metrics.min() == metrics.max():
        return DriftTest("steady", 0.0, 0.0, 0.0, level, 0.0, 0.0, count)
    if level == 0:
        raise ValueError(
            "the median batch is 0, so that a tolerance relative to it means nothing; add an offset"
        )
    relative = metrics / level
    position = np.arange(count) - (count - 1) / 2
    slope = float(position @ relative / (position @ position))
    left = relative - relative.mean() - slope * position
    squares = float(left @ left)
    correlation = _lag_one(left, squares)
    worth = count * (1 - correlation) / (1 + correlation)
    drift = slope * count
    reach = _reach(squares, worth - 2, float(position @ position), confidence) * count
    low, high = drift - reach, drift + reach
    verdict = _verdict(low, high, tolerance / 100)
    return DriftTest(
        verdict, drift, low, high, level, correlation, float(np.sqrt(squares / (count - 2))), count
    )


def _lag_one(left: Floats, squares: float) -> float:
    raw = float(left[1:] @ left[:-1]) / squares if squares > 0 else 0.0
    return float(np.clip(raw + (1 + 4 * raw) / left.size, 0.0, 0.95))


def _reach(squares: float, freedom: float, spread: float, confidence: float) -> float:
    """Half the interval of the slope."""
    if freedom <= 0:
        return float("inf")
    return float(stdtrit(freedom, confidence / 100) * np.sqrt(squares / freedom / spread))


def _verdict(low: float, high: float, tolerance: float) -> Verdict:
    if -tolerance <= low and high <= tolerance:
        return "steady"
    return "drifting" if low > tolerance or high < -tolerance else "inconclusive"


def mser5(samples: Floats) -> int | None:
    """How many samples of start-up to cut so that the mean of the rest is known best (MSER-5, White 1997).

    Minimises SS(d)/(k - d)² over the number d of batches of five that are cut, SS being the sum of
    squares of the k - d that remain about their mean.

    Returns
    -------
    int or None
        A multiple of 5; None where the minimum lies at half of the samples, the farthest that is
        searched: the start-up may then last longer than the samples show.
    """
    count = samples.size // MSER_BATCH
    if count < 4:
        return None
    means = standardized(samples[: count * MSER_BATCH]).reshape(count, MSER_BATCH).mean(axis=1)
    remaining = np.arange(count, 0, -1)
    sums, squares = np.cumsum(means[::-1])[::-1], np.cumsum(means[::-1] ** 2)[::-1]
    criterion = (squares - sums**2 / remaining) / remaining.astype(np.float64) ** 2
    farthest = count // 2
    # What rounding leaves of constant data must not decide.
    best = int(np.argmin(np.maximum(criterion[: farthest + 1], 1e-15)))
    return None if best == farthest else best * MSER_BATCH
