"""Estimates of few simulated trials from slices of their time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from trialwise import statistics as st
from trialwise._core import parse_picoseconds
from trialwise.analysis.estimation.durations import has_duration_advice
from trialwise.analysis.estimation.phases import phases_of
from trialwise.analysis.estimation.results import Estimate, TimeSlices
from trialwise.analysis.estimation.transients import growth_words
from trialwise.errors import StatisticsError
from trialwise.experiment.placeholders import fill
from trialwise.experiment.quantity import duration_text
from trialwise.experiment.simulation import SimulationSource, SimulationTrial
from trialwise.experiment.steady_flows import not_steady
from trialwise.experiment.traits import assumed
from trialwise.numbers import counted, write

if TYPE_CHECKING:
    from trialwise.analysis.estimation.flow_records import FlowRecords
    from trialwise.experiment.model import Experiment, Metric

FEW = 20
"""Trials from which on an interval over trials is precise enough to need no slices."""
_FAR = 99.0
_SHORTEST = 5.0
"""Least length of a slice, in completion times of which 99 % are shorter."""


@dataclass(frozen=True, slots=True, eq=False)
class FewRuns:
    """Few trials of a treatment: their flows, the span in which they are steady, and how long most last; times are in seconds."""

    flows: FlowRecords
    span: tuple[float, float]
    far: float

    @classmethod
    def of(cls, experiment: Experiment, flows: FlowRecords | None, confidence: float) -> FewRuns | str:
        """Find the span, of flows that begin when as many are active as later and that end while others begin; or say why not."""
        if flows is None or not flows.rows:
            return 'flows were not recorded, and records = "keep" lifts that'
        if experiment.trial.traits.workload is None:
            return "only simulated flows have slices of time"
        trial, factors = assumed(experiment.trial, SimulationTrial), flows.rows[0].factors
        if why := not_steady(trial, factors):
            return why
        if left := int(np.sum(~np.isfinite(flows.fct))):
            return f"{counted(left, 'flow')} did not end, and slices of the others are no sample"
        text = fill(trial.workload.duration, {"series": 0, "round": 0, **factors})
        duration = parse_picoseconds(text) / 1e12
        far = float(np.percentile(flows.fct, _FAR)) if flows.fct.size else 0.0
        phases = phases_of(flows, duration, confidence)
        if phases.warmup_end is None:
            return f"there is no stable phase: {growth_words(phases.growth)}"
        begin, end = max(phases.warmup_end, far, trial.warmup), duration - max(far, trial.cooldown)
        return (
            cls(flows, (begin, end), far)
            if end > begin
            else "warm-up and cool-down fill the trial, and a longer one lifts that"
        )

    def estimate(self, metric: Metric, usual: Estimate) -> Estimate:
        """Return the estimate from slices in place of the usual one, whose units are trials, or that where there is none."""
        if usual.estimand != "pooled":
            return usual
        try:
            found = self._sliced(metric, usual)
        except StatisticsError as error:
            return without_slices(usual, error)
        begin, end = self.span
        slices = TimeSlices(found.slices, found.length, begin, end, found.missed)
        return Estimate(
            estimand="pooled",
            what=found.found.estimand,
            estimate=found.found.estimate,
            low=found.found.low,
            high=found.found.high,
            confidence=found.found.confidence,
            trials=usual.trials,
            samples=found.found.samples,
            design_effect=found.found.design_effect,
            convention=found.found.convention,
            method=f"{found.found.method}, {found.slices} slices",
            note="; ".join(_notes(slices, usual, found.found.note)),
            slices=slices,
        )

    def _sliced(self, metric: Metric, usual: Estimate) -> st.SlicedEstimate:
        if not has_duration_advice(metric):
            raise StatisticsError("only a mean or quantile of all flows has slices of time")
        source = assumed(metric.source, SimulationSource)
        if source.phase != "stable":
            raise StatisticsError("only flows of the stable phase have slices of time")
        chosen, values = self.flows.of_class(source), self.flows.values(source.quantity)
        each = [chosen & (self.flows.trial == place) for place in range(len(self.flows.rows))]
        return st.sliced_estimate(
            [(self.flows.start[own], values[own]) for own in each],
            metric.percentile,
            span=self.span,
            shortest=_SHORTEST * self.far,
            confidence=usual.confidence,
            convention=metric.convention,
        )


def without_slices(usual: Estimate, why: StatisticsError | str) -> Estimate:
    """Return the usual estimate; one trial has none, which is then said with what lifts it."""
    if usual.trials > 1 or usual.estimand != "pooled":
        return usual
    times = why.times if isinstance(why, st.DependentSlicesError) else None
    longer = "" if times is None else f"one about {write(max(times, 1.1), digits=2)} times as long, or "
    note = f"one trial gives no interval over trials, and slices of its time give none: {why}; {longer}two trials or more lift that"
    return replace(usual, note=note)


def _notes(slices: TimeSlices, usual: Estimate, note: str) -> Sequence[str]:
    """Say what was used, and what the trials themselves give."""
    used = (
        f"from {slices.count} slices of {duration_text(slices.seconds)}, of flows that begin from {duration_text(slices.begin)} to "
        f"{duration_text(slices.end)}"
    )
    dependent = f"{write(100 * slices.missed, digits=2)} % was added to the variance, as neighbouring slices depend on each other"
    itself = (
        ""
        if usual.estimate is None
        else f"{counted(usual.trials, 'trial')} with all flows as the unit: {_interval(usual)}"
    )
    return [each for each in (used, dependent if slices.missed else "", itself, note) if each]


def _interval(found: Estimate) -> str:
    numbers = ["none" if each is None else write(each) for each in (found.estimate, found.low, found.high)]
    return f"{numbers[0]} ({numbers[1]} to {numbers[2]})"
