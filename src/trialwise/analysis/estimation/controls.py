"""The estimate of a simulated metric with control variates: what is known of the workload of each trial takes variance out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trialwise import statistics as st
from trialwise.analysis.estimation.control_columns import KnownWorkloads, control_columns
from trialwise.analysis.estimation.results import ControlledEstimate
from trialwise.analysis.observations import Observation
from trialwise.errors import StatisticsError
from trialwise.experiment.model import Controls, Metric, Stop
from trialwise.store.records import TrialRow

FEWEST = 200
"""Trials of a treatment from which on workload controls are used unless told otherwise; fewer could not use them."""


@dataclass(frozen=True, slots=True)
class Workloads:
    """What is known of workloads, and the controls that were asked for.

    `kind` None is what the metric stops by; where it stops by none, workload controls from so many trials on.
    """

    known: KnownWorkloads
    kind: Controls | None = None

    def kind_for(self, metric: Metric, trials: int) -> Controls:
        """The controls of a metric of so many trials."""
        if self.kind is not None:
            return self.kind
        if metric.stop is not None and metric.stop.controls != "none":
            return metric.stop.controls
        return "workload" if trials >= FEWEST else "none"


def controlled(
    metric: Metric,
    observations: Sequence[Observation],
    samples: st.TrialSamples,
    rows: Mapping[int, TrialRow],
    workloads: Workloads | None,
    confidence: float,
) -> tuple[ControlledEstimate | None, str]:
    """The estimate of a metric with control variates, or why there is none (empty where none was asked for).

    `observations` are those of one treatment, `samples` theirs, `rows` its trials by their numbers.
    """
    kind = "none" if workloads is None else workloads.kind_for(metric, len(observations))
    if workloads is None or kind == "none":
        return None, ""
    columns = control_columns(metric, kind, observations[0].factors, workloads.known)
    if columns is None:
        return None, "no control variates: the flows are not drawn at random, or hardly ever has a trial one"
    # A trial without a flow of the metric is an observation of what is pooled, and none of what is per trial.
    pooled = metric.estimand == "pooled"
    counted = [one for one in observations if pooled or len(one.values)]
    trials = samples if pooled else samples.with_samples()
    places = [rows[one.number] for one in counted]
    values = columns.of_rounds([(row.series, row.round) for row in places])
    try:
        found = columns.fitted(trials, values, confidence, None)
        if metric.stop is not None:
            precision = precision_percent(metric.stop, found.plain.estimate)
            found = columns.fitted(trials, values, confidence, precision)
    except StatisticsError as error:
        return None, f"no control variates: {error}"
    kept = st.independent_controls(values)
    names = tuple(columns.names[place] for place in kept)
    return ControlledEstimate(columns.kind, names, columns.lists, found), ""


def precision_percent(stop: Stop, estimate: float) -> float | None:
    """The precision that a metric stops by in percent of an estimate; None where that is 0."""
    if stop.precision.relative:
        return stop.precision.value
    return 100 * stop.precision.value / abs(estimate) if estimate else None
