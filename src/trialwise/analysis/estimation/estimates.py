"""The estimate of one metric of one treatment from the samples of its trials, under either estimand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise import statistics as st
from trialwise.analysis.equal_trials import equal_words
from trialwise.analysis.estimation.results import Estimate
from trialwise.arrays import Array
from trialwise.errors import StatisticsError
from trialwise.experiment.estimands import estimand_text
from trialwise.experiment.model import Estimand, Metric
from trialwise.numbers import about, counted

ONE_TRIAL = (
    "one trial gives no interval over trials; two trials or more lift that, shorter ones where one takes long"
)
"""Of all flows of one long trial there may be an interval from slices of its time (`few_runs`)."""


def is_estimated(metric: Metric) -> bool:
    """Return True if both estimands of a metric are reported: simulated trials, transfers over a path, and pooled metrics."""
    return metric.source.traits.is_estimated or metric.estimand == "pooled"


def can_be_pooled(metric: Metric) -> bool:
    """Return True if a metric's measure can be pooled; an extreme cannot, because it grows with the number of samples."""
    return metric.measure not in ("min", "max")


def estimate(
    metric: Metric,
    estimand: Estimand,
    trials: Sequence[Array],
    confidence: float = 95.0,
    *,
    forced: bool = False,
    repeats: bool = False,
) -> Estimate:
    """Estimate a metric from the samples of each trial.

    Parameters
    ----------
    metric, estimand
        The metric and its estimand.
    trials
        Samples of each trial, in the unit of the metric; `st.TrialSamples` if several estimates use the same trials.
    confidence
        In percent.
    forced
        Allow the per-trial quantile even if fewer than five samples of a trial lie beyond it.
    repeats
        True if trials with equal results are identical, because nothing in them is random.
    """
    try:
        if estimand == "pooled":
            return pooled(metric, trials, confidence)
        return _per_trial(metric, trials, confidence, forced=forced, repeats=repeats)
    except StatisticsError as error:
        return _refused(metric, estimand, trials, confidence, str(error))


def trial_value(metric: Metric, samples: Array) -> float:
    """Compute the metric of one trial, by its convention."""
    if metric.percentile is None:
        return float(st.measure_of(samples, metric.measure))
    return float(st.trial_quantile(samples, metric.percentile, metric.convention))


def trial_values(metric: Metric, trials: Sequence[Array]) -> Array:
    """Compute `trial_value` of many trials at once: shape (trials,)."""
    measure = metric.measure if metric.percentile is None else metric.percentile
    return st.trial_measures(trials, measure, metric.convention)


def pooled(metric: Metric, trials: Sequence[Array], confidence: float) -> Estimate:
    """Estimate the estimand "pooled"; raise StatisticsError if that is impossible."""
    percentile = metric.percentile
    if percentile is None:
        found = st.pooled_mean(trials, confidence=confidence)
    else:
        found = st.pooled_quantile(trials, percentile, confidence=confidence, convention=metric.convention)
    return Estimate(
        estimand="pooled",
        what=found.estimand,
        estimate=found.estimate,
        low=found.low,
        high=found.high,
        confidence=found.confidence,
        trials=found.trials,
        samples=found.samples,
        design_effect=found.design_effect,
        convention=found.convention,
        method=found.method,
        note=found.note,
    )


def _per_trial(
    metric: Metric, everything: Sequence[Array], confidence: float, *, forced: bool, repeats: bool
) -> Estimate:
    """Estimate from the trials with samples; trials without a flow of the metric have no value."""
    trials = st.TrialSamples.of(everything).with_samples()
    single = bool((trials.sizes == 1).all())
    measure = "mean" if single else metric.measure
    found = st.per_trial_mean(
        trials, measure, confidence=confidence, convention=metric.convention, forced=forced
    )
    return Estimate(
        estimand="per_trial",
        what="mean over trials" if single else found.estimand,
        estimate=found.estimate,
        low=found.low,
        high=found.high,
        confidence=found.confidence,
        trials=found.trials,
        samples=found.samples,
        design_effect=None,
        convention=found.convention,
        method=found.method,
        note="; ".join(_notes(found, len(everything) - len(trials), repeats=repeats)),
    )


def _notes(found: st.PerTrialMean, missing: int, *, repeats: bool) -> Iterator[str]:
    if found.forced:
        each = found.samples / found.trials
        yield f"forced: a trial has {about(each)} samples, too few for this quantile; it is biased whatever the number of trials"
    if missing:
        yield f"{missing} of {counted(found.trials + missing, 'trial has', 'trials have')} no sample: left out"
    if found.trials > 1 and found.low == found.high:
        yield equal_words(found.trials, repeats=repeats)
    if found.note:
        yield found.note


def _refused(
    metric: Metric, estimand: Estimand, trials: Sequence[Array], confidence: float, why: str
) -> Estimate:
    return Estimate(
        estimand=estimand,
        what=estimand_text(metric, estimand),
        estimate=None,
        low=None,
        high=None,
        confidence=confidence,
        trials=len(trials),
        samples=sum(map(len, trials)),
        design_effect=None,
        convention="" if metric.percentile is None else metric.convention,
        method="",
        note=ONE_TRIAL if len(trials) == 1 else why,
    )
