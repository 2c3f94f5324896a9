"""Means over trials: of all samples, or of one statistic per trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.statistics.checks import Array, as_percent, one_of
from trialwise.statistics.estimates.mean_interval import interval_of_two, mean_interval, tail_note
from trialwise.statistics.estimates.measures import Measure, as_measure
from trialwise.statistics.estimates.quantiles import Convention, quantile_refusal
from trialwise.statistics.pooled.clusters import ratio_standard_error, resampled_counts
from trialwise.statistics.pooled.quantile import RESAMPLES, PooledEstimate, PooledMethod
from trialwise.statistics.pooled.trial_measures import trial_measures
from trialwise.statistics.pooled.trial_samples import TrialSamples

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def pooled_mean(
    trials: Sequence[ArrayLike],
    *,
    confidence: float = 95,
    method: PooledMethod = "delta",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> PooledEstimate:
    """Estimate the mean of all samples, trials as clusters: total sum / total count (ratio estimator, Cochran 1977, chapter 6).

    "delta": Student's t with the linearised variance and n - 1 degrees of freedom for n trials; the bounds of `mean_interval` if
    trials have equal size and only two distinct means. "bootstrap": resamples whole trials.

    Parameters
    ----------
    trials
        The samples of each trial, two trials or more.
    confidence
        In percent.
    method, resamples, seed
        As in `pooled_quantile`.

    Raises
    ------
    StatisticsError
        As for `pooled_quantile`.
    """
    one_of(method, "method", ("delta", "bootstrap"))
    level = float(as_percent(confidence, "confidence"))
    clusters = TrialSamples.of(trials).clusters
    sums = clusters.sums()
    count = clusters.ordered.size
    estimate = float(sums.sum()) / count
    error = ratio_standard_error(sums, clusters.sizes)
    independent = float(clusters.ordered.var()) / count
    if method == "delta":
        reach = float(special.stdtrit(clusters.trials - 1, (1 + level) / 2)) * error
        low, high = estimate - reach, estimate + reach
        alike = np.ptp(clusters.sizes) == 0
        exact = interval_of_two(sums / clusters.sizes, confidence) if alike else None
        low, high = (low, high) if exact is None else (min(low, exact[0]), max(high, exact[1]))
    else:
        low, high = _by_bootstrap(sums, clusters.sizes, level, resamples, seed)
    return PooledEstimate(
        estimate=estimate,
        low=low,
        high=high,
        estimand="mean of all samples",
        trials=clusters.trials,
        samples=count,
        confidence=float(confidence),
        design_effect=error**2 / independent if method == "delta" and independent else float("nan"),
        convention="",
        method="ratio estimator, Student's t over trials"
        if method == "delta"
        else f"bootstrap of trials, {resamples} draws",
        note=tail_note(sums - estimate * clusters.sizes),
    )


def _by_bootstrap(sums: Array, sizes: Array, level: float, resamples: int, seed: int) -> tuple[float, float]:
    counts = resampled_counts(sums.size, resamples, seed)
    drawn = counts @ sizes
    found = (counts @ sums)[drawn > 0] / drawn[drawn > 0]
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class PerTrialMean:
    """The mean over trials of one statistic per trial: the estimand "per_trial", in the unit of the samples."""

    estimate: float
    low: float
    high: float
    estimand: str
    trials: int
    samples: int
    confidence: float
    """In percent."""
    convention: str
    """Of the quantile; empty for other measures."""
    forced: bool
    """True if a quantile was forced despite too few samples."""
    method: str
    note: str
    """Why the interval undercovers in these trials; empty if it does not."""


def per_trial_mean(
    trials: Sequence[ArrayLike],
    measure: Measure,
    *,
    confidence: float = 95,
    convention: Convention = "nearest_rank",
    forced: bool = False,
) -> PerTrialMean:
    """Estimate the mean over trials of a per-trial statistic, with Student's interval, as CCEval's model-free algorithm does.

    It differs from the statistic of all samples: a quantile of few samples is biased, and averaging does not remove the bias.

    Parameters
    ----------
    trials
        The samples of each trial, two trials or more, none of them empty.
    measure
        "mean", "median", "min", "max", or a percentile in percent.
    confidence
        In percent.
    convention
        Of a quantile; see `trial_quantile`.
    forced
        Allow a quantile with fewer than five samples of a trial beyond it.

    Raises
    ------
    StatisticsError
        Such a quantile without `forced` (the message gives the remedy), an empty trial, or an option out of range.
    """
    percentile = 50.0 if measure == "median" else as_measure(measure)
    samples = TrialSamples.of(trials)
    refusal = ""
    if not isinstance(percentile, str):
        refusal = quantile_refusal(float(samples.sizes.mean()) if len(samples) else 0.0, percentile)
        if refusal and not forced:
            raise StatisticsError(refusal)
    values = trial_measures(samples, percentile, convention)
    found = mean_interval(values, confidence=confidence)
    what = percentile if isinstance(percentile, str) else f"p{percentile:g}"
    return PerTrialMean(
        estimate=found.estimate,
        low=found.low,
        high=found.high,
        estimand=f"mean over trials of each one's {what}",
        trials=found.n,
        samples=int(samples.sizes.sum()),
        confidence=float(confidence),
        convention="" if isinstance(percentile, str) else convention,
        forced=bool(refusal),
        method=found.method,
        note=tail_note(values),
    )
