"""Reject trials with too few samples for the percentile that each of them is to have."""

from __future__ import annotations

from collections.abc import Mapping

from trialwise import statistics as st
from trialwise.errors import PlanError
from trialwise.experiment.model import Experiment, Metric


def wants_enough_samples(metric: Metric) -> bool:
    """Return True if trials with few samples are rejected for this metric: a percentile of each simulated trial."""
    each = metric.estimand == "per_trial" and metric.source.traits.is_sample
    return each and metric.percentile is not None and metric.few_samples == "refuse"


def refuse_few_samples(experiment: Experiment, expected: Mapping[str, float]) -> None:
    """Raise PlanError if a trial is expected to have too few samples of a metric; `expected` has their number by metric."""
    for metric in experiment.metrics:
        if metric.name not in expected or not wants_enough_samples(metric):
            continue
        if refusal := st.quantile_refusal(expected[metric.name], metric.percentile or 0.0):
            raise PlanError(
                f"{experiment.name}: metric {metric.name}: {refusal}",
                hint='longer trials, estimand = "pooled", or few_samples = "allow" in the metric, which forces it',
            )
