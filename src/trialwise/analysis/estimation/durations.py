"""The duration that a simulated trial needs: phases of its flows, and small-sample bias separated from transient bias.

CCEval (figure 13) shows a per-trial quantile that changes with the duration of trials, and blames warm-up and cool-down. A quantile
of few flows is biased without any transient; the same flows pooled are not, and show the effect of the transient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from trialwise import statistics as st
from trialwise._core import parse_picoseconds
from trialwise.analysis.estimation.duration_answers import answer_of, sentences_of
from trialwise.analysis.estimation.estimates import estimate, trial_values
from trialwise.analysis.estimation.flow_records import FlowRecords
from trialwise.analysis.estimation.phases import Phases, phases_of
from trialwise.analysis.estimation.results import DurationAdvice, DurationStep
from trialwise.analysis.estimation.transients import Edges, Transient, edges_of, flows_lacking, transient_of
from trialwise.experiment.model import Experiment, Measure, Metric
from trialwise.experiment.placeholders import fill
from trialwise.experiment.simulation import SimulationSource
from trialwise.experiment.traits import Source, assumed

_PARTS = (0.1, 0.2, 0.5, 1.0)
_JOINED = (2, 5, 10, 20, 50)
_MIN_JOINED = 5
"""Minimum number of joined trials for a useful interval of their mean."""
TOLERANCE = 5.0
"""Default tolerance of bias in percent."""


def duration_advice(
    experiment: Experiment,
    treatment: str,
    flows: FlowRecords,
    confidence: float,
    tolerance: float | None = None,
) -> Iterator[DurationAdvice]:
    """Yield the results that other trial durations would give, for each metric that is a mean or quantile of flows.

    Yields nothing if flows come from a file, a job or several patterns. `confidence` and `tolerance` are in percent; the latter
    defaults to the relative stopping precision of the metric, else 5.
    """
    trial = experiment.trial
    if trial.traits.workload != "drawn" or len(flows.rows) < 2:
        return
    text = fill(dict(trial.workload_texts)["duration"], {"series": 0, "round": 0, **flows.rows[0].factors})
    duration = parse_picoseconds(text) / 1e12
    phases = phases_of(flows, duration, confidence)
    known: dict[_Statistic, _Finding] = {}
    for source, metrics in _by_flows(experiment.metrics).items():
        known |= _findings(source, metrics, flows, phases, confidence)
    for metric in experiment.metrics:
        if has_duration_advice(metric):
            allowed = tolerance or _tolerance_of(metric)
            yield _advice(metric, known[_statistic(metric)], treatment, flows, phases, confidence, allowed)


def has_duration_advice(metric: Metric) -> bool:
    """Return True if a metric is a mean or a quantile of a quantity of single flows."""
    return metric.source.traits.pools and (metric.percentile is not None or metric.measure == "mean")


def _tolerance_of(metric: Metric) -> float:
    if metric.stop is not None and metric.stop.precision.relative:
        return metric.stop.precision.value
    return TOLERANCE


_Statistic = tuple[Source, Measure, str]


def _statistic(metric: Metric) -> _Statistic:
    """Return the key shared by metrics that differ in their estimand only."""
    return metric.source, metric.measure, metric.convention


def _by_flows(metrics: Sequence[Metric]) -> dict[SimulationSource, list[Metric]]:
    """Return one metric per statistic, grouped by the flows that it covers."""
    found: dict[SimulationSource, dict[_Statistic, Metric]] = {}
    for metric in metrics:
        if has_duration_advice(metric):
            found.setdefault(assumed(metric.source, SimulationSource), {}).setdefault(
                _statistic(metric), metric
            )
    return {source: list(each.values()) for source, each in found.items()}


@dataclass(frozen=True, slots=True)
class _Finding:
    """Results for a statistic, whatever its estimand; `inside` is the pooled estimate of the stable phase."""

    edges: Edges | str
    transient: Transient | None
    inside: float | None
    trials: st.TrialSamples
    steps: list[DurationStep]


def _findings(
    source: SimulationSource,
    metrics: Sequence[Metric],
    flows: FlowRecords,
    phases: Phases,
    confidence: float,
) -> Iterator[tuple[_Statistic, _Finding]]:
    """Yield findings for metrics of the same flows, step by step, so that each step sorts its trials once and is then released."""
    values, chosen = flows.samples(source.quantity), flows.of_class(source)
    trials = values.chosen(chosen)
    found = [_stable(metric, flows, values, chosen, trials, phases, confidence) for metric in metrics]
    for part, some in _parts(flows, values, chosen, trials, phases.duration):
        for metric, one in zip(metrics, found, strict=True):
            step = _step(metric, some, part * phases.duration, confidence, joined=False)
            one.steps.append(_with_transient(metric, step, int(some.sizes.sum()), one.inside))
    for number, joined in _longer(trials):
        duration = number * phases.duration
        for metric, one in zip(metrics, found, strict=True):
            bias = None if one.transient is None else one.transient.bias_at(duration)
            step = _step(metric, joined, duration, confidence, joined=True)
            one.steps.append(replace(step, transient=bias))
    return zip(map(_statistic, metrics), found, strict=True)


def _stable(
    metric: Metric,
    flows: FlowRecords,
    values: st.TrialSamples,
    chosen: npt.NDArray[np.bool_],
    trials: st.TrialSamples,
    phases: Phases,
    confidence: float,
) -> _Finding:
    """Evaluate the stable phase of a statistic, and the effect of the other flows, without steps yet."""
    edges = edges_of(metric, flows, chosen, phases)
    if not isinstance(edges, Edges):
        return _Finding(edges, None, None, trials, [])
    stable = values.chosen(edges.stable)
    transient = transient_of(metric, trials, stable, edges, confidence)
    return _Finding(edges, transient, estimate(metric, "pooled", stable, confidence).estimate, trials, [])


def _advice(
    metric: Metric,
    found: _Finding,
    treatment: str,
    flows: FlowRecords,
    phases: Phases,
    confidence: float,
    tolerance: float,
) -> DurationAdvice:
    edges, transient, steps = found.edges, found.transient, found.steps
    known = isinstance(edges, Edges)
    answer = answer_of(metric, steps, edges, transient, tolerance)
    own = steps[len(_PARTS) - 1]
    warmup = flows.start < (phases.duration if phases.warmup_end is None else phases.warmup_end)
    late = flows.start >= phases.duration - edges.cooldown if known else None
    return DurationAdvice(
        metric=metric.name,
        unit=metric.unit,
        treatment=treatment,
        estimand=metric.estimand,
        what=estimate(metric, metric.estimand, found.trials, confidence, forced=True).what,
        trials=own.trials,
        duration=phases.duration,
        warmup_end=phases.warmup_end,
        warmup_share=float(np.mean(warmup)),
        cooldown=edges.cooldown if known else None,
        cooldown_share=None if late is None else float(np.mean(late)),
        stable_share=None if late is None else float(np.mean(~warmup & ~late)),
        growth=phases.growth,
        drain=phases.drain,
        active_times=phases.times,
        active=phases.active,
        steps=tuple(steps),
        transient=None if transient is None else transient.bias,
        tolerance=tolerance,
        confidence=confidence,
        needed=answer.needed,
        trials_needed=answer.trials,
        reason=answer.reason,
        sentences=tuple(sentences_of(metric, own, edges, transient)),
    )


def _parts(
    flows: FlowRecords,
    values: st.TrialSamples,
    chosen: npt.NDArray[np.bool_],
    trials: st.TrialSamples,
    duration: float,
) -> Iterator[tuple[float, st.TrialSamples]]:
    """Yield the first parts of the trials, and the whole trials."""
    for part in _PARTS:
        yield part, trials if part >= 1 else values.chosen(chosen & (flows.start < part * duration))


def _with_transient(metric: Metric, step: DurationStep, flows: int, inside: float | None) -> DurationStep:
    """Add to a step its bias relative to the stable phase, if there are enough flows."""
    found = None if step.pooled is None else step.pooled.estimate
    if found is None or not inside or flows_lacking(flows, metric.percentile):
        return step
    return replace(step, transient=100 * (found / inside - 1))


def _longer(trials: st.TrialSamples) -> Iterator[tuple[int, st.TrialSamples]]:
    """Yield joined trials, with warm-up and cool-down as in one trial of that duration."""
    for number in _JOINED:
        if len(trials) // number >= _MIN_JOINED:
            yield number, trials.joined(number)


def _step(
    metric: Metric,
    trials: st.TrialSamples,
    duration: float,
    confidence: float,
    *,
    joined: bool,
) -> DurationStep:
    """Build a step without its transient bias."""
    with_flows = trials.with_samples()
    own = estimate(metric, "per_trial", with_flows, confidence, forced=True)
    pooled = estimate(metric, "pooled", trials, confidence)
    return DurationStep(
        duration=duration,
        joined=joined,
        trials=len(trials),
        flows_per_trial=int(trials.sizes.sum()) / len(trials),
        per_trial=own if own.estimate is not None else None,
        pooled=pooled if pooled.estimate is not None else None,
        small_sample=_small_sample(metric, with_flows, confidence),
        transient=None,
    )


def _small_sample(metric: Metric, trials: st.TrialSamples, confidence: float) -> st.Ratio | None:
    """Return the per-trial estimate over the pooled one of the same flows, in percent; None if there are too few flows."""
    if len(trials) < 2 or flows_lacking(int(trials.sizes.sum()), metric.percentile):
        return None
    own = trial_values(metric, trials)
    pooled = st.pooled_influence(trials, metric.percentile)
    found = st.paired_ratio(pooled, own, confidence=confidence).in_percent()
    return found if found.bounded else None
