"""Measures: one number from many samples, for a whole array or for each of many windows of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialwise import _core
from trialwise.statistics.checks import Array, Indices, as_percent, as_values, one_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Measure: TypeAlias = str | float

_PERCENTILE = re.compile(r"[pP](\d{1,2}(?:\.\d+)?)")
_NAMES = ("mean", "median", "min", "max")


def measure_of(values: ArrayLike, measure: Measure) -> float:
    """Reduce many samples to one number.

    Parameters
    ----------
    values
        Samples, in any order.
    measure
        "mean", "median", "min", "max", or a percentile in percent, 95 or "p95" (linear, type 7, bit-identical to NumPy's).

    Returns
    -------
    float
        In the unit of the samples.

    Raises
    ------
    StatisticsError
        The samples are empty, not finite, masked or not one-dimensional, or the measure is unknown.
    """
    return measured(as_values(values), as_measure(measure))


def as_measure(measure: Measure) -> Measure:
    """Check that a measure is a known name or a percentile in percent.

    Raises
    ------
    StatisticsError
        It is neither.
    """
    if isinstance(measure, str) and (found := _PERCENTILE.fullmatch(measure)):
        measure = float(found[1])
    if isinstance(measure, str):
        return one_of(measure, "measure", _NAMES, "or a percentile as a number")
    as_percent(measure, "percentile of the measure")
    return float(measure)


def measured(values: Array, measure: Measure) -> float:
    """Compute `measure_of` for checked arguments."""
    if measure == "min":
        return float(values.min())
    if measure == "max":
        return float(values.max())
    if measure == "mean":
        return mean_of(values)
    return percentile_of(values, _fraction(measure))


def mean_of(values: Array) -> float:
    """Return the arithmetic mean, even if the sum exceeds the largest double."""
    scale = overflow_scale(values)
    return float(np.mean(values)) if scale == 1 else float(np.mean(values * scale)) / scale


def overflow_scale(values: Array) -> float:
    """Return a power of two that keeps sums of the values finite; 1 if they already are."""
    largest = max(-float(values.min()), float(values.max()))
    return 1.0 if largest < 1e290 else 2.0**-100


def percentile_of(values: Array, fraction: float) -> float:
    """Compute the quantile at `fraction` (linear, type 7)."""
    whole = np.array([values.size], dtype=np.int64)
    return float(_core.window_percentiles(values, np.zeros(1, dtype=np.int64), whole, fraction)[0])


def _fraction(measure: Measure) -> float:
    return 0.5 if isinstance(measure, str) else float(np.true_divide(measure, 100))


def window_measures(values: Array, starts: Indices, ends: Indices, measure: Measure) -> Array:
    """Compute the measure of `values[start:end]` for each window.

    Percentiles, minima and maxima equal those of each window alone, bit for bit. Means are assembled from sums of the blocks
    between window edges, and differ from `numpy.mean` of the window by rounding: at most 1e-14 of the largest value, for any
    number of samples.
    """
    if measure not in ("mean", "min", "max"):
        return _core.window_percentiles(values, starts, ends, _fraction(measure))
    edges = np.unique(np.concatenate((starts, ends)))
    pairs = np.column_stack((np.searchsorted(edges, starts), np.searchsorted(edges, ends))).ravel()
    covered = values[: edges[-1]]
    if measure == "mean":
        scale = overflow_scale(values)
        sums = np.add.reduceat(covered * scale if scale != 1 else covered, edges[:-1])
        return np.add.reduceat(np.append(sums, 0.0), pairs)[::2] / (ends - starts) / scale
    extreme = np.minimum if measure == "min" else np.maximum
    blocks = extreme.reduceat(covered, edges[:-1])
    return np.ascontiguousarray(extreme.reduceat(np.append(blocks, blocks[-1]), pairs)[::2])
