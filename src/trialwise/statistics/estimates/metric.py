"""The metric of one trial: a measure of its samples, after a convergence test if requested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import Array, Method, as_method, as_times, as_values, times_at
from trialwise.statistics.estimates.convergence import paper_windows, requirement_from, scaled_by, slope_test
from trialwise.statistics.estimates.measures import (
    Measure,
    as_measure,
    measured,
    overflow_scale,
    window_measures,
)
from trialwise.statistics.estimates.quantiles import Convention, as_convention, trial_quantile
from trialwise.statistics.pooled.trial_measures import trial_measures
from trialwise.statistics.pooled.trial_samples import TrialSamples
from trialwise.statistics.sizing.steady_state import Convergence, Requirement, steadiness, unjudged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class TrialMetric:
    """The metric of one trial, and whether it is representative of a longer trial."""

    value: float
    """In the unit of the samples."""
    converged: bool | None
    """Result of the convergence test; None if none was requested."""
    convergence: Convergence | None
    """The convergence test."""
    n: int
    """Number of samples."""
    measure: str | float
    """The measure that reduced the samples."""
    confidence: float | None
    """Nominal, of the convergence test, in percent."""
    method: str
    """The samples or windows that the value is computed from."""
    reason: str
    """Why the trial did not converge, and the remedy; empty if it did."""


def trial_metric(
    samples: ArrayLike,
    measure: Measure,
    *,
    times: ArrayLike | None = None,
    convergence: Mapping[str, object] | None = None,
    method: Method = "default",
    convention: Convention = "linear",
) -> TrialMetric:
    """Reduce the samples of one trial to its metric.

    Default: the measure of all samples, or of those after the warm-up if only these are steady.

    Paper (TriScale section 4.1): if convergence is expected, windows of half the samples slide by a hundredth of them over
    samples (not over time), and their measures are tested for convergence. The time of a window is that of its first sample;
    values are scaled by the limits or else by the extremes of the raw samples (`scaled_by`). If the test passes, the metric is
    the median of the windows' measures, otherwise the measure of all samples.

    Parameters
    ----------
    samples
        Numbers in time order.
    measure
        "mean", "median", "min", "max", or a percentile in percent, 95 or "p95".
    times
        One per sample, non-decreasing, in any unit; 0, 1, 2 … by default.
    convergence
        Keys `confidence` (percent, default 95), `tolerance` (percent, default 5), `limits` (two numbers) and
        `expected` (default true); None or `expected = false` for no test.
    method
        "default" or "paper".
    convention
        Of a percentile, as in `trial_quantile`; convergence tests accept "linear" only.

    Returns
    -------
    TrialMetric
        In the unit of the samples.

    Raises
    ------
    StatisticsError
        Samples or times are empty, not finite, masked or not one-dimensional, or an option is out of range.
    """
    paper, linear = as_method(method), as_convention(convention) == "linear"
    array, reduction = as_values(samples), as_measure(measure)
    moments = as_times(times, array.size)
    requirement = None if convergence is None else requirement_from(convergence, paper=paper)
    if requirement is not None and not linear:
        raise StatisticsError(
            "windows have linear percentiles; leave out the convergence test, or the convention"
        )
    if requirement is None:
        value = measured(array, reduction) if linear else _of_samples(array, reduction, convention)
        return _metric(value, reduction, array.size, None, "all samples")
    if paper:
        return _paper_metric(array, moments, reduction, requirement)
    test = steadiness(array, moments, reduction, requirement)
    used = "samples after the warm-up" if test.warmup else "all samples"
    return _metric(measured(array[test.warmup :], reduction), reduction, array.size, test, used)


def trial_metric_values(
    trials: Sequence[ArrayLike], measure: Measure, convention: Convention = "linear"
) -> Array:
    """Compute `trial_metric` of many trials at once, without convergence tests: shape (trials,). Raises the same errors."""
    samples, reduction = TrialSamples.of(trials).checked(minimum=1), as_measure(measure)
    if as_convention(convention) == "linear" and reduction not in ("mean", "min", "max"):
        ends = np.cumsum(samples.sizes)
        return window_measures(samples.values, ends - samples.sizes, ends, reduction)
    return trial_measures(samples, reduction, convention)


def _of_samples(samples: Array, measure: Measure, convention: Convention) -> float:
    percentile = 50.0 if measure == "median" else measure
    if isinstance(percentile, str):
        return measured(samples, percentile)
    return trial_quantile(samples, percentile, convention)


def _paper_metric(
    samples: Array, times: Array | None, measure: Measure, requirement: Requirement
) -> TrialMetric:
    starts, ends = paper_windows(samples.size)
    if starts.size == 0:
        test = unjudged(
            samples.size, requirement, "TriScale 4.1", "one sample says nothing about drift; take more"
        )
        return _metric(measured(samples, measure), measure, samples.size, test, "all samples")
    metrics = window_measures(samples, starts, ends, measure)
    test = slope_test(metrics, times_at(times, starts), samples.size, scaled_by(requirement, samples))
    if test.converged:
        scale = overflow_scale(metrics)
        middle = float(np.median(metrics * scale)) / scale
        return _metric(middle, measure, samples.size, test, "median of the windows' measures")
    return _metric(measured(samples, measure), measure, samples.size, test, "all samples")


def _metric(value: float, measure: Measure, count: int, test: Convergence | None, used: str) -> TrialMetric:
    return TrialMetric(
        value=value,
        converged=None if test is None else test.converged,
        convergence=test,
        n=count,
        measure=measure,
        confidence=None if test is None else test.confidence,
        method=used,
        reason="" if test is None else test.reason,
    )
