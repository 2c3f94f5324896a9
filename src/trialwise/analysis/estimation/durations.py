"""How long a simulated trial should be: phases of its flows, and small-sample bias told apart from that of the transient.

CCEval (figure 13) shows a per-trial quantile that moves with the duration of trials and blames warm-up and cool-down. A quantile
of few flows is biased without any transient; the same flows pooled are not, and show what the transient does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from trialwise._core import parse_picoseconds
from trialwise.analysis.estimation.estimates import estimate
from trialwise.analysis.estimation.flow_records import FlowRecords
from trialwise.analysis.estimation.phases import Phases, phases_of
from trialwise.analysis.estimation.results import DurationAdvice, DurationStep, Estimate
from trialwise.experiment.model import Experiment, Metric
from trialwise.experiment.placeholders import fill
from trialwise.experiment.simulation import SimulationSource, SimulationTrial

Array = npt.NDArray[np.float64]
_PARTS = (0.1, 0.2, 0.5, 1.0)
_JOINED = (2, 5, 10, 20, 50)
_FEWEST_JOINED = 5
"""Trials put together of which there are to be so many, so that their mean has an interval worth the name."""
_QUANTITIES = ("fct", "slowdown", "throughput")
_NEAR = 0.05


def duration_advice(
    experiment: Experiment, treatment: str, flows: FlowRecords, confidence: float
) -> Iterator[DurationAdvice]:
    """For each quantile of flows that a metric asks for: what other durations of a trial would give.

    Nothing where flows come from a file: every trial then has the same ones.
    """
    trial = experiment.trial
    if not isinstance(trial, SimulationTrial) or trial.workload.flows or len(flows.rows) < 2:
        return
    text = fill(trial.workload.duration, {"series": 0, "round": 0, **flows.rows[0].factors})
    duration = parse_picoseconds(text) / 1e12
    phases = phases_of(flows, duration)
    for metric in experiment.metrics:
        source = metric.source
        if not isinstance(source, SimulationSource) or source.quantity not in _QUANTITIES:
            continue
        if metric.percentile is not None:
            yield _advice(metric, source, treatment, flows, phases, confidence)


def _advice(
    metric: Metric,
    source: SimulationSource,
    treatment: str,
    flows: FlowRecords,
    phases: Phases,
    confidence: float,
) -> DurationAdvice:
    chosen, values = flows.of_class(source), flows.values(source.quantity)
    steps = [*_shorter(metric, flows, values, chosen, phases.duration, confidence)]
    steps += _longer(metric, flows.split(values, chosen), steps[-1], confidence)
    after = flows.start >= (phases.warmup_end or 0.0)
    stable = estimate(metric, "pooled", flows.split(values, chosen & after), confidence)
    return DurationAdvice(
        metric=metric.name,
        unit=metric.unit,
        treatment=treatment,
        duration=phases.duration,
        warmup_end=phases.warmup_end,
        warmup_share=phases.warmup_share,
        drain=phases.drain,
        active_times=phases.times,
        active=phases.active,
        steps=tuple(steps),
        sentences=tuple(_sentences(steps, stable, phases)),
    )


def _shorter(
    metric: Metric,
    flows: FlowRecords,
    values: Array,
    chosen: npt.NDArray[np.bool_],
    duration: float,
    confidence: float,
) -> Iterator[DurationStep]:
    for part in _PARTS:
        trials = flows.split(values, chosen & (flows.start < part * duration) if part < 1 else chosen)
        yield _step(metric, trials, part * duration, confidence, joined=False)


def _longer(
    metric: Metric, trials: Sequence[Array], whole: DurationStep, confidence: float
) -> Iterator[DurationStep]:
    for number in _JOINED:
        count = len(trials) // number
        if count >= _FEWEST_JOINED:
            joined = [np.concatenate(trials[number * at : number * (at + 1)]) for at in range(count)]
            yield _step(metric, joined, number * whole.duration, confidence, joined=True)


def _step(
    metric: Metric, trials: Sequence[Array], duration: float, confidence: float, *, joined: bool
) -> DurationStep:
    with_flows = [trial for trial in trials if trial.size]
    own = estimate(metric, "per_trial", with_flows, confidence, forced=True)
    pooled = estimate(metric, "pooled", trials, confidence)
    return DurationStep(
        duration=duration,
        joined=joined,
        trials=len(trials),
        flows_per_trial=sum(map(len, trials)) / len(trials),
        per_trial=own if own.estimate is not None else None,
        pooled=pooled if pooled.estimate is not None else None,
    )


def _sentences(steps: Sequence[DurationStep], stable: Estimate, phases: Phases) -> Iterator[str]:
    whole = next(step for step in reversed(steps) if not step.joined)
    if whole.per_trial is None or whole.pooled is None or not whole.pooled.estimate:
        yield "too few flows to say anything"
        return
    off = _change(whole.per_trial, whole.pooled)
    yield (
        f"small-sample bias: with {whole.flows_per_trial:.3g} flows a trial, the {whole.per_trial.what} is {_percent(off)} "
        f"the quantile of all these flows; no warm-up is to blame, since both are of the same flows"
    )
    near = next((step for step in steps if step.joined and _is_near(step, whole.pooled)), None)
    if abs(off) > _NEAR:
        yield (
            f"trials {near.duration / whole.duration:.0f} times as long ({near.flows_per_trial:.3g} flows) would be within 5 % of it"
            if near
            else "no number of these trials put together comes within 5 % of it: estimate the pooled quantile"
        )
    if phases.warmup_end is None:
        yield "transient: the number of active flows still rises at the end of the trial: take longer trials"
    elif stable.estimate is not None:
        within = (stable.low or 0.0) <= whole.pooled.estimate <= (stable.high or 0.0)
        yield (
            f"transient bias: the flows that begin before the number of active flows is stable are {phases.warmup_share * 100:.2g} % "
            f"of all; with them the pooled quantile is {_percent(_change(whole.pooled, stable))} that of the others"
            + (", which is within its interval" if within else "")
        )


def _change(found: Estimate, against: Estimate) -> float:
    return (found.estimate or 0.0) / (against.estimate or 1.0) - 1


def _is_near(step: DurationStep, pooled: Estimate) -> bool:
    return step.per_trial is not None and abs(_change(step.per_trial, pooled)) <= _NEAR


def _percent(change: float) -> str:
    size = abs(change) * 100
    return f"{size:.{0 if size >= 10 else 1}f} % {'below' if change < 0 else 'above'}"
