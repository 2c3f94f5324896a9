"""Estimation of simulated metrics with control variates: known properties of each trial's workload reduce the variance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trialwise import statistics as st
from trialwise.analysis.estimation.control_columns import ControlColumns, KnownWorkloads, control_columns
from trialwise.analysis.estimation.estimates import trial_values
from trialwise.analysis.estimation.results import ControlledEstimate, EngineCheck
from trialwise.analysis.observations import Observation
from trialwise.errors import StatisticsError
from trialwise.experiment.model import Controls, Metric, Stop
from trialwise.store.records import TrialRow

FEWEST = 200
"""Default minimum number of trials of a treatment for workload controls; with fewer they could not be used."""


@dataclass(frozen=True, slots=True)
class Workloads:
    """Known facts about workloads, and the requested controls.

    If `kind` is None, the controls of the metric's stopping rule are used, or else workload controls from `FEWEST` trials on.
    """

    known: KnownWorkloads
    kind: Controls | None = None

    def kind_for(self, metric: Metric, trials: int) -> Controls:
        """Return the controls of a metric with this number of trials."""
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
    """Estimate a metric with control variates, or say why not (empty if none were requested).

    `observations` and their `samples` are of one treatment, `rows` its trials by number.
    """
    kind = "none" if workloads is None else workloads.kind_for(metric, len(observations))
    if workloads is None or kind == "none":
        return None, ""
    columns = control_columns(metric, kind, observations[0].factors, workloads.known)
    if columns is None:
        return None, "no control variates: the flows are not drawn at random, or hardly ever has a trial one"
    # A trial without a flow of the metric counts as an observation for pooled estimates, but not for per-trial ones.
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
    check = _engine(columns, places, trials, found, confidence) if columns.kind == "fluid" else None
    return ControlledEstimate(columns.kind, names, columns.lists, found, check), ""


def _engine(
    columns: ControlColumns,
    rows: Sequence[TrialRow],
    trials: st.TrialSamples,
    found: st.ControlVariates,
    confidence: float,
) -> EngineCheck | None:
    """Compare the fluid model with the trials on their own flow lists, and say what its lists cost and gain in time.

    None if the trials are by a model themselves.
    """
    own = columns.modelled([(row.series, row.round) for row in rows])
    if own is None:
        return None
    modelled, seconds = own
    metric = columns.metric
    sides = (
        st.pooled_influence(each, metric.percentile)
        if metric.estimand == "pooled"
        else trial_values(metric, each)
        for each in (trials, modelled)
    )
    bias = st.paired_ratio(*sides, confidence=confidence).in_percent()
    took = [
        row.finished - row.started for row in rows if row.started is not None and row.finished is not None
    ]
    trial_seconds = sum(took) / len(took) if took else None
    gain = None
    if trial_seconds:
        plain = len(rows) * trial_seconds
        gain = found.gain * plain / (plain + (len(rows) + columns.lists) * seconds)
    return EngineCheck("fluid", bias, seconds, trial_seconds, gain)


def precision_percent(stop: Stop, estimate: float) -> float | None:
    """Return the stopping precision of a metric in percent of an estimate; None if that is 0."""
    if stop.precision.relative:
        return stop.precision.value
    return 100 * stop.precision.value / abs(estimate) if estimate else None
