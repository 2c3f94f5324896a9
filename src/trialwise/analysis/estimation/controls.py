"""Control variates of a simulated metric: what is known of the workload of each trial takes variance out of its estimate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trialwise import statistics as st
from trialwise.analysis.estimation.flow_records import FlowRecords
from trialwise.analysis.estimation.results import ControlledEstimate, Controls
from trialwise.analysis.observations import Observation
from trialwise.experiment.model import Level, Metric

Array = npt.NDArray[np.float64]
FEATURES = ("flows", "offered bytes", "largest flow")
FEWEST = 200
"""Trials of a treatment from which on workload controls are used unless told otherwise; fewer could not use them."""


@dataclass(frozen=True, slots=True)
class Workloads:
    """What is known of workloads beside the trials.

    `kind` is what was asked for, None for workload controls where there are trials enough. `generated` gives, for levels of factors,
    the features of many flow lists that its workload might have had, shape (lists, features), and None where the flows are not drawn.
    """

    generated: Callable[[Mapping[str, Level]], Array | None]
    kind: Controls | None = None


def controlled(
    metric: Metric,
    observations: Sequence[Observation],
    flows: FlowRecords | None,
    workloads: Workloads | None,
    confidence: float,
) -> tuple[ControlledEstimate | None, str]:
    """The estimate of a metric with control variates, or why there is none (empty where none was asked for)."""
    kind = _kind(workloads, len(observations))
    if workloads is None or kind == "none":
        return None, ""
    if flows is None:
        return None, "no control variates: flows were not recorded"
    known = workloads.generated(flows.rows[0].factors) if flows.rows else None
    if known is None:
        return None, "no control variates: the flows are not drawn at random"
    places = {(row.number, row.attempt): place for place, row in enumerate(flows.rows)}
    here = [one for one in observations if (one.number, one.attempt) in places]
    features = workload_features(flows)[[places[one.number, one.attempt] for one in here]]
    varying = np.ptp(features, axis=0) > 0
    try:
        found = _with_controls(
            metric, [one.values for one in here], features[:, varying], known[:, varying], confidence
        )
    except ValueError as error:
        return None, f"no control variates: {error}"
    names = tuple(name for name, varies in zip(FEATURES, varying, strict=True) if varies)
    return ControlledEstimate("workload", names, len(known), found), ""


def _kind(workloads: Workloads | None, trials: int) -> Controls:
    if workloads is None:
        return "none"
    return workloads.kind or ("workload" if trials >= FEWEST else "none")


def workload_features(flows: FlowRecords) -> Array:
    """Number of flows, their bytes and the largest of them for each trial: shape (trials, features)."""
    trials = len(flows.rows)
    count = np.bincount(flows.trial, minlength=trials).astype(np.float64)
    offered = np.bincount(flows.trial, weights=flows.size, minlength=trials)
    largest = np.zeros(trials)
    np.maximum.at(largest, flows.trial, flows.size)
    return np.column_stack([count, offered, largest])


def _with_controls(
    metric: Metric, trials: Sequence[Array], features: Array, known: Array, confidence: float
) -> st.ControlVariates:
    means, lists = known.mean(axis=0), len(known)
    percentile = metric.percentile
    if metric.estimand == "pooled" and percentile is not None:
        return st.control_variates_quantile(
            trials, percentile, features, means, confidence=confidence, surrogate_trials=lists
        )
    values = (
        st.pooled_influence(trials)
        if metric.estimand == "pooled"
        else [trial_value(metric, trial) for trial in trials]
    )
    return st.control_variates(values, features, means, confidence=confidence, surrogate_trials=lists)


def trial_value(metric: Metric, samples: Array) -> float:
    """The metric of one trial, by the convention that estimates have."""
    percentile = metric.percentile
    if percentile is None:
        return st.measure_of(samples, metric.measure)
    return st.trial_quantile(samples, percentile, metric.convention)
