"""The estimate of one metric of one treatment from the samples of its trials, under either estimand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from trialwise import statistics as st
from trialwise.analysis.estimation.results import Estimate
from trialwise.experiment.model import Estimand, Metric

Array = npt.NDArray[np.float64]


def can_be_pooled(metric: Metric) -> bool:
    """Whether the measure of a metric is one of all samples: an extreme of all only grows with their number."""
    return metric.measure not in ("min", "max")


def estimate(
    metric: Metric,
    estimand: Estimand,
    trials: Sequence[Array],
    confidence: float = 95.0,
    *,
    forced: bool = False,
) -> Estimate:
    """Estimate a metric from the samples of each trial.

    Parameters
    ----------
    metric, estimand
        What is estimated.
    trials
        Samples of each trial, in the unit of the metric.
    confidence
        In percent.
    forced
        Take the quantile of trials also where fewer than five samples of a trial lie beyond it.
    """
    try:
        if estimand == "pooled":
            return pooled(metric, trials, confidence)
        return _per_trial(metric, trials, confidence, forced=forced)
    except ValueError as error:
        return _refused(metric, estimand, trials, confidence, str(error))


def pooled(metric: Metric, trials: Sequence[Array], confidence: float) -> Estimate:
    """The estimand "pooled"; ValueError where it cannot be had."""
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


def _per_trial(metric: Metric, trials: Sequence[Array], confidence: float, *, forced: bool) -> Estimate:
    single = all(len(trial) == 1 for trial in trials)
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
        note=_forced_note(found) if found.forced else "",
    )


def _forced_note(found: st.PerTrialMean) -> str:
    beyond = found.samples / found.trials
    return f"forced: a trial has {beyond:.3g} samples, too few for this quantile; it is biased whatever the number of trials"


def _refused(
    metric: Metric, estimand: Estimand, trials: Sequence[Array], confidence: float, why: str
) -> Estimate:
    what = metric.measure if isinstance(metric.measure, str) else f"p{metric.measure:g}"
    return Estimate(
        estimand=estimand,
        what=f"{what} of all samples" if estimand == "pooled" else f"mean over trials of each one's {what}",
        estimate=None,
        low=None,
        high=None,
        confidence=confidence,
        trials=len(trials),
        samples=sum(map(len, trials)),
        design_effect=None,
        convention="" if metric.percentile is None else metric.convention,
        method="",
        note=why,
    )
