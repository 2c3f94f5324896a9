"""Estimates of every metric and treatment of a simulation experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trialwise.analysis.estimation.controls import Workloads, controlled
from trialwise.analysis.estimation.durations import duration_advice
from trialwise.analysis.estimation.estimates import can_be_pooled, estimate
from trialwise.analysis.estimation.flow_records import (
    FlowRecords,
    keeps_records,
    read_flows,
    treatments_of,
)
from trialwise.analysis.estimation.results import DurationAdvice, Estimation, MetricEstimate, SizeBin
from trialwise.analysis.estimation.size_classes import size_bins, size_edges
from trialwise.analysis.observations import Observation
from trialwise.experiment.model import Estimand, Experiment, Metric
from trialwise.experiment.simulation import SimulationTrial
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.records import TrialRow

Observed = Mapping[str, Sequence[Observation]]
"""By the name of the metric."""


def estimate_directory(
    experiment: Experiment,
    directory: ExperimentDirectory,
    rows: Sequence[TrialRow],
    treatments: Sequence[str],
    observed: Observed,
    workloads: Workloads | None = None,
    confidence: float = 95.0,
) -> Estimation | None:
    """Estimate what the finished trials of a directory say; None where they are not simulated.

    Parameters
    ----------
    rows
        Every attempt at every trial.
    treatments
        In the order in which they are told.
    observed
        The samples of all finished trials, by metric.
    workloads
        What is known of the workloads beside the trials, for control variates; None for none.
    confidence
        In percent.
    """
    if not isinstance(experiment.trial, SimulationTrial):
        return None
    estimates: list[MetricEstimate] = []
    sizes: list[SizeBin] = []
    durations: list[DurationAdvice] = []
    edges: tuple[float, ...] = ()
    trials = treatments_of(rows)
    for treatment, members in ((name, trials[name]) for name in treatments if name in trials):
        flows = read_flows(directory, members) if keeps_records(experiment) else None
        known = workloads if _lost(rows, treatment) == 0 else None
        estimates += _estimates(experiment.metrics, treatment, observed, flows, known, confidence)
        if flows is not None and flows.rows:
            edges = edges or size_edges(flows)
            sizes += size_bins(experiment.trial, treatment, flows, edges, confidence)
            durations += duration_advice(experiment, treatment, flows, confidence)
    estimates.sort(key=lambda one: [metric.name for metric in experiment.metrics].index(one.metric))
    return Estimation(tuple(estimates), tuple(sizes), tuple(durations), tuple(_notes(experiment, rows)))


def _estimates(
    metrics: Sequence[Metric],
    treatment: str,
    observed: Observed,
    flows: FlowRecords | None,
    workloads: Workloads | None,
    confidence: float,
) -> Iterator[MetricEstimate]:
    for metric in metrics:
        own = [one for one in observed[metric.name] if one.treatment == treatment]
        trials = [one.values for one in own]
        if not trials:
            continue
        several = sum(map(len, trials)) > len(trials)
        other: Estimand = "per_trial" if metric.estimand == "pooled" else "pooled"
        both = several and can_be_pooled(metric)
        control, why = controlled(metric, own, flows, workloads, confidence)
        yield MetricEstimate(
            metric=metric.name,
            unit=metric.unit,
            treatment=treatment,
            own=estimate(metric, metric.estimand, trials, confidence, forced=metric.few_samples == "allow"),
            other=estimate(metric, other, trials, confidence) if both else None,
            controlled=control,
            controls_note=why,
        )


def _lost(rows: Sequence[TrialRow], treatment: str) -> int:
    """Trials of a treatment that gave no values: what is left is no sample of its workloads, whose means controls rest on."""
    last = {row.number: row for row in rows if not row.warmup and row.treatment == treatment}
    return sum(row.status in ("invalid", "failed") for row in last.values())


def _notes(experiment: Experiment, rows: Sequence[TrialRow]) -> Iterator[str]:
    last = {row.number: row for row in rows if not row.warmup}
    invalid = sum(row.status == "invalid" for row in last.values())
    if invalid:
        yield (
            f"{invalid} of {len(last)} trials are invalid and left out: where trials without a flow of a metric are among them, "
            "per-trial means are those of the trials that have one, and there are no control variates"
        )
    if not keeps_records(experiment):
        yield 'flows were not recorded (records = "drop"): no sizes, durations or control variates'
