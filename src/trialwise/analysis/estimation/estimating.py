"""Estimates of every metric and treatment with flows or pooled samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.estimation.blocks import estimate_of_blocks, whole_blocks
from trialwise.analysis.estimation.controls import Workloads, controlled
from trialwise.analysis.estimation.durations import duration_advice
from trialwise.analysis.estimation.estimates import can_be_pooled, estimate, is_estimated
from trialwise.analysis.estimation.few_runs import FEW, FewRuns, without_slices
from trialwise.analysis.estimation.flow_records import (
    FlowRecords,
    keeps_records,
    read_flows,
    treatments_of,
)
from trialwise.analysis.estimation.looked_at import looked_at_note, looks_harm
from trialwise.analysis.estimation.pooled_monitors import pooled_courses
from trialwise.analysis.estimation.results import (
    DurationAdvice,
    Estimate,
    Estimation,
    MetricEstimate,
    PooledCourse,
    SizeBin,
)
from trialwise.analysis.estimation.size_classes import size_bins, size_edges
from trialwise.analysis.estimation.weighted import TiltWeights, is_tilted, load_of, weighted_estimate
from trialwise.analysis.observations import Observation
from trialwise.analysis.progress import Progress
from trialwise.experiment.model import Estimand, Experiment, Metric
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.records import TrialRow

Observed = Mapping[str, Sequence[Observation]]
"""Observations by the name of the metric."""


def estimate_directory(
    experiment: Experiment,
    directory: ExperimentDirectory,
    rows: Sequence[TrialRow],
    treatments: Sequence[str],
    observed: Observed,
    workloads: Workloads | None = None,
    tilt: TiltWeights | None = None,
    confidence: float = 95.0,
    *,
    told: Progress | None = None,
    overview: bool = False,
) -> Estimation | None:
    """Estimate the metrics from the finished trials of a directory; None if no metric is estimated (`is_estimated`).

    Parameters
    ----------
    rows
        Every attempt at every trial.
    treatments
        In output order.
    observed
        The samples of all finished trials, by metric.
    workloads
        Facts about the workloads from outside the trials, for control variates; None for none.
    tilt
        Weights kept by tilted trials; None if nothing is tilted.
    confidence
        In percent.
    told
        Called with the current step, the amount done, and the total.
    overview
        Only the estimates: no flow records are read for sizes and durations, and there are no courses.
    """
    metrics = [metric for metric in experiment.metrics if is_estimated(metric)]
    if not metrics:
        return None
    estimates: list[MetricEstimate] = []
    sizes: list[SizeBin] = []
    durations: list[DurationAdvice] = []
    courses: list[PooledCourse] = []
    edges: tuple[float, ...] = ()
    trials = treatments_of(rows)
    if tilt is not None:
        estimates += _weighted(experiment, trials, treatments, observed, tilt, confidence)
        trials.clear()
    present = [name for name in treatments if name in trials]
    for done, treatment in enumerate(present):
        if told is not None:
            told("estimating treatments", done, len(present))
        members = trials[treatment]
        few = len(members) < FEW
        flows = (
            read_flows(directory, members) if keeps_records(experiment) and (few or not overview) else None
        )
        known = workloads if _lost(rows, treatment) == 0 else None
        numbered = {row.number: row for row in members}
        if experiment.trial.traits.in_blocks:
            estimates += _of_blocks(metrics, treatment, observed, numbered, confidence)
        else:
            own = _own(metrics, treatment, observed)
            repeats = experiment.trial.traits.repeats and _repeat(own)
            found = _estimates(metrics, treatment, own, numbered, known, confidence, repeats=repeats)
            estimates += _from_slices(experiment, found, flows, confidence) if few else found
            if not overview:
                courses += _courses(metrics, treatment, own, confidence)
        if flows is not None and flows.rows and not overview:
            edges = edges or size_edges(flows)
            sizes += size_bins(experiment.trial.traits.set_apart, treatment, flows, edges, confidence)
            durations += duration_advice(experiment, treatment, flows, confidence)
    estimates.sort(key=lambda one: [metric.name for metric in metrics].index(one.metric))
    looked_at = [note] if (note := looked_at_note(experiment)) else []
    harmed = looks_harm(experiment)
    return Estimation(
        tuple(estimates),
        tuple(sizes),
        tuple(durations),
        notes=(*(looked_at if harmed else ()), *_notes(experiment, rows)),
        courses=tuple(courses),
        remarks=() if harmed else tuple(looked_at),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Own:
    """The observations of a treatment, and their samples, which are shared by all metrics of one source."""

    observations: list[Observation]
    samples: st.TrialSamples


def _own(metrics: Sequence[Metric], treatment: str, observed: Observed) -> dict[str, _Own]:
    """Return observations by metric, for metrics that have any; metrics with the same list of observations share theirs."""
    shared: dict[int, _Own] = {}
    for everything in (observed[metric.name] for metric in metrics):
        if id(everything) not in shared:
            own = [one for one in everything if one.treatment == treatment]
            shared[id(everything)] = _Own(own, st.TrialSamples.of([one.values for one in own]))
    found = {metric.name: shared[id(observed[metric.name])] for metric in metrics}
    return {name: own for name, own in found.items() if own.observations}


def _repeat(observed: Mapping[str, _Own]) -> bool:
    """Return True if every trial of a treatment has the samples of the first, in all metrics."""
    return all(
        np.array_equal(one.values, own.observations[0].values)
        for own in observed.values()
        for one in own.observations[1:]
    )


def _courses(
    metrics: Sequence[Metric], treatment: str, own: Mapping[str, _Own], confidence: float
) -> Iterator[PooledCourse]:
    pooled = [one for one in metrics if one.estimand == "pooled" and one.name in own]
    together: dict[int, list[Metric]] = {}
    for metric in pooled:
        together.setdefault(id(own[metric.name]), []).append(metric)
    found = {
        course.metric: course
        for members in together.values()
        for course in pooled_courses(members, treatment, own[members[0].name].samples, confidence)
    }
    return (found[metric.name] for metric in pooled if metric.name in found)


def _weighted(
    experiment: Experiment,
    trials: Mapping[str, Sequence[TrialRow]],
    treatments: Sequence[str],
    observed: Observed,
    tilt: TiltWeights,
    confidence: float,
) -> Iterator[MetricEstimate]:
    """Estimate from tilted trials, with the alternative use of the same weights for each."""
    for treatment in (name for name in treatments if name in trials):
        load = load_of(experiment, trials[treatment][0].factors)
        for metric in experiment.metrics:
            own = [one for one in observed[metric.name] if one.treatment == treatment]
            if not own:
                continue
            other: Estimand = "pooled" if metric.estimand == "model_based" else "model_based"
            yield MetricEstimate(
                metric=metric.name,
                unit=metric.unit,
                treatment=treatment,
                own=weighted_estimate(metric, metric.estimand, own, tilt, load, confidence),
                other=weighted_estimate(metric, other, own, tilt, load, confidence),
                controlled=None,
                controls_note="",
            )


def _estimates(
    metrics: Sequence[Metric],
    treatment: str,
    observed: Mapping[str, _Own],
    rows: Mapping[int, TrialRow],
    workloads: Workloads | None,
    confidence: float,
    *,
    repeats: bool,
) -> Iterator[MetricEstimate]:
    for metric in (one for one in metrics if one.name in observed):
        own = observed[metric.name]
        several = bool((own.samples.sizes > 1).any())
        other: Estimand = "per_trial" if metric.estimand == "pooled" else "pooled"
        both = several and can_be_pooled(metric)
        control, why = controlled(metric, own.observations, own.samples, rows, workloads, confidence)
        forced = metric.few_samples == "allow"
        yield MetricEstimate(
            metric=metric.name,
            unit=metric.unit,
            treatment=treatment,
            own=estimate(metric, metric.estimand, own.samples, confidence, forced=forced, repeats=repeats),
            other=estimate(metric, other, own.samples, confidence, repeats=repeats) if both else None,
            controlled=control,
            controls_note=why,
        )


def _from_slices(
    experiment: Experiment, found: Iterable[MetricEstimate], flows: FlowRecords | None, confidence: float
) -> Iterator[MetricEstimate]:
    """Estimate from slices of the time of few trials where they allow it."""
    if not experiment.trial.traits.flow_records:
        yield from found
        return
    runs = FewRuns.of(experiment, flows, confidence)
    metrics = {metric.name: metric for metric in experiment.metrics}

    def sliced(metric: str, usual: Estimate) -> Estimate:
        return without_slices(usual, runs) if isinstance(runs, str) else runs.estimate(metrics[metric], usual)

    for one in found:
        other = None if one.other is None else sliced(one.metric, one.other)
        yield replace(one, own=sliced(one.metric, one.own), other=other)


def _of_blocks(
    metrics: Sequence[Metric],
    treatment: str,
    observed: Observed,
    rows: Mapping[int, TrialRow],
    confidence: float,
) -> Iterator[MetricEstimate]:
    """Estimate from Sobol samples: the metric's own estimand, without control variates, which require independent trials."""
    for metric in metrics:
        own = [one for one in observed[metric.name] if one.treatment == treatment]
        if own:
            blocks = whole_blocks(own, rows)
            yield MetricEstimate(
                metric=metric.name,
                unit=metric.unit,
                treatment=treatment,
                own=estimate_of_blocks(metric, metric.estimand, blocks, len(own), confidence),
                other=None,
                controlled=None,
                controls_note="",
            )


def _lost(rows: Sequence[TrialRow], treatment: str) -> int:
    """Count the trials of a treatment without values; the rest is then not a random sample of workloads, as controls require."""
    last = {row.number: row for row in rows if not row.warmup and row.treatment == treatment}
    return sum(row.status in ("invalid", "failed") for row in last.values())


def _notes(experiment: Experiment, rows: Sequence[TrialRow]) -> Iterator[str]:
    last = {row.number: row for row in rows if not row.warmup}
    invalid = sum(row.status == "invalid" for row in last.values())
    if invalid:
        yield (
            f"{invalid} of {len(last)} trials are invalid and left out: what remains may be no sample of the workloads, so that there "
            "are no control variates"
        )
    if is_tilted(experiment):
        yield "the workload is tilted: no sizes, durations or control variates, and single trials are those of another workload"
    elif experiment.trial.traits.flow_records == "drop":
        yield 'flows were not recorded (records = "drop"): no sizes and durations'
