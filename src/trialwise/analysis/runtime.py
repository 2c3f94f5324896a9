"""How long a trial must be, from long pilot trials in a table or in an experiment directory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from trialwise import statistics as st
from trialwise.analysis.estimation.results import DurationAdvice
from trialwise.analysis.observations import Observation, StoreObservations
from trialwise.errors import AnalysisError
from trialwise.experiment.quantity import duration_text
from trialwise.statistics.drift import Verdict

if TYPE_CHECKING:
    from trialwise.analysis.condition_table import ConditionTable
    from trialwise.experiment.model import Experiment, Measure, Metric
    from trialwise.store.directory import ExperimentDirectory
    from trialwise.store.ledger import Ledger

Array = npt.NDArray[np.float64]
Watcher = Callable[[int, int], None]
"""Called after each pilot with how many are done and how many there are."""

POWER = 80.0
_PILOTS = 3
_HOW = (
    "equivalence test of the drift of 20 batches; start-up by MSER-5; oscillations by a Lomb-Scargle search"
)
_TOLERANCE, _CONFIDENCE = 5.0, 95.0


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of pilots; None where the metric of an experiment says it, else 5 % tolerance, 95 % confidence."""

    measure: Measure | None = None
    tolerance: float | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Pilot:
    """The samples of one long trial, and what is asked of them. `times` in seconds, None to count in samples."""

    metric: str
    unit: str
    treatment: str
    trial: str
    values: Array
    times: Array | None
    measure: Measure
    tolerance: float
    confidence: float

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"{self.metric} of {self.treatment}, trial {self.trial}".replace(" of -,", ",")


@dataclass(frozen=True, slots=True)
class Growth:
    """The metric of the first part of a pilot against the length of that part (TriScale, Fig. 4).

    `verdicts` are those of the drift test on that part; `values_after_startup` and `verdicts_after_startup` those
    without the start-up, None where fewer than 20 samples are left.
    """

    lengths: tuple[float, ...]
    values: tuple[float, ...]
    verdicts: tuple[Verdict, ...]
    values_after_startup: tuple[float | None, ...]
    verdicts_after_startup: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class PilotNeed:
    """What one pilot asks for. Lengths are in seconds, or in samples where the pilot has no times.

    `runtime` includes `startup` and is None where `reason` says why; `predicted` is the length at which the drift test
    passes with the stated `power`, `observed` the shortest from which on this pilot was steady; `oscillation` is a
    period that weighs; `drift`, with `drift_low` and `drift_high` (None where unbounded), is the change over the
    pilot after the start-up as a share of the metric; `variation` the long-run coefficient of variation of a sample.
    `tolerance`, `confidence` and `power` are in percent.
    """

    metric: str
    unit: str
    treatment: str
    trial: str
    measure: str | float
    runtime: float | None
    startup: float
    steady: bool
    reason: str
    predicted: float | None
    observed: float | None
    oscillation: float | None
    verdict: Verdict
    drift: float
    drift_low: float | None
    drift_high: float | None
    variation: float
    duration: float
    n: int
    tolerance: float
    confidence: float
    power: float
    growth: Growth


@dataclass(frozen=True, slots=True)
class RuntimeAdvice:
    """How long trials must be, as `trialwise runtime --json` prints it.

    `runtime` (start-up included) and `startup` suit every pilot; they are in `unit`. `runtime_line` and `warmup_line`
    belong into the section `[trial]` of an experiment file, rounded up; None where there is none. `decided_by` is the
    place in `pilots` of the one that needs most, None without a runtime. `reason` says what decided, or why there is
    no runtime and what would lift that. `skipped` names trials that say nothing and why.

    Of simulated trials there are no `pilots` but `durations`, one for each metric and treatment: `runtime` is the duration of
    their workload, `startup` the longest warm-up, which it includes, and `decided_by` a place in `durations`.
    """

    format: Literal["trialwise.runtime/1"]
    file: str
    unit: Literal["s", "samples"]
    runtime: float | None
    startup: float
    steady: bool
    runtime_line: str | None
    warmup_line: str | None
    decided_by: int | None
    reason: str
    how: str
    pilots: tuple[PilotNeed, ...]
    skipped: tuple[str, ...]
    notes: tuple[str, ...]
    durations: tuple[DurationAdvice, ...] = ()


def pilots_of_table(table: ConditionTable, question: Question) -> list[Pilot]:
    """The pilots of a table: all rows, or those of each trial, without rows that have no value."""
    trials = np.array(table.trials or ("1",) * table.values.size)
    measured = ~np.isnan(table.values)
    return [
        Pilot(
            metric=table.value,
            unit="",
            treatment="-",
            trial=str(name),
            values=table.values[own],
            times=None if table.times is None else table.times[own],
            measure="mean" if question.measure is None else question.measure,
            tolerance=question.tolerance or _TOLERANCE,
            confidence=question.confidence or _CONFIDENCE,
        )
        for name in dict.fromkeys(trials.tolist())
        if (own := (trials == name) & measured).any()
    ]


def doubts_of_table(table: ConditionTable) -> list[str]:
    """What makes a table look like several pilots although no column of trials was named."""
    if table.trials is not None or table.times is None:
        return []
    back = int((np.diff(table.times) < 0).sum())
    if not back:
        return []
    return [f"times go back {back} times: if these are several trials, name their column with --trial"]


def pilots_of_directory(
    experiment: Experiment,
    directory: ExperimentDirectory,
    ledger: Ledger,
    question: Question,
    metric: str | None = None,
) -> tuple[list[Pilot], list[str]]:
    """The longest three trials of each treatment, for each metric that has samples with times; and remarks.

    What the experiment cuts as warm-up is kept: it is part of what is looked for.

    Raises
    ------
    AnalysisError
        There is no such metric, or no metric has samples with times.
    """
    known = [one.name for one in experiment.metrics]
    if metric is not None and metric not in known:
        raise AnalysisError(f"there is no metric {metric!r}", hint=f"metrics: {', '.join(known)}")
    store = StoreObservations(replace(experiment, warmup=0.0), directory, ledger)
    pilots: list[Pilot] = []
    notes: list[str] = []
    for one in experiment.metrics:
        if metric in (None, one.name):
            seen = [found for found in store.of(one) if found.times is not None and found.values.size > 1]
            chosen = list(_longest(seen))
            pilots += [_pilot(one, found, question) for found in chosen]
            if len(chosen) < len(seen):
                notes.append(f"{one.name}: the {len(chosen)} longest of {len(seen)} trials were looked at")
    if not pilots:
        raise AnalysisError(
            f"{directory.path}: no finished trial has samples with times",
            hint='read a metric from many samples, with csv = "COLUMN" and time = "COLUMN", and run again',
        )
    return pilots, notes


def _longest(seen: list[Observation]) -> Iterator[Observation]:
    for treatment in dict.fromkeys(found.treatment for found in seen):
        own = [found for found in seen if found.treatment == treatment]
        yield from sorted(own, key=_duration, reverse=True)[:_PILOTS]


def _duration(seen: Observation) -> float:
    return 0.0 if seen.times is None else float(np.ptp(seen.times))


def _pilot(metric: Metric, seen: Observation, question: Question) -> Pilot:
    asked = metric.convergence
    return Pilot(
        metric=metric.name,
        unit=metric.unit,
        treatment=seen.treatment,
        trial=str(seen.number),
        values=seen.values,
        times=seen.times,
        measure=metric.measure if question.measure is None else question.measure,
        tolerance=question.tolerance or (asked.tolerance if asked else _TOLERANCE),
        confidence=question.confidence or (asked.confidence if asked else _CONFIDENCE),
    )


def runtime_advice(
    file: str, pilots: list[Pilot], *, notes: tuple[str, ...] = (), watch: Watcher | None = None
) -> RuntimeAdvice:
    """Find the runtime and the start-up that suit all pilots; the longest need wins.

    Raises
    ------
    AnalysisError
        No pilot can be judged, or an option is out of range.
    """
    needs: list[tuple[Pilot, st.RuntimeNeeded]] = []
    skipped: list[str] = []
    for place, pilot in enumerate(pilots, start=1):
        try:
            needs.append((pilot, _needed(pilot)))
        except ValueError as error:
            skipped.append(f"{pilot.label}: {error}")
        if watch is not None:
            watch(place, len(pilots))
    if not needs:
        raise AnalysisError(f"{file}: {'; '.join(skipped)}", hint="make a longer pilot trial")
    return _advice(file, needs, tuple(skipped), notes)


def _needed(pilot: Pilot) -> st.RuntimeNeeded:
    return st.runtime_needed(
        pilot.values,
        times=pilot.times,
        measure=pilot.measure,
        tolerance=pilot.tolerance,
        confidence=pilot.confidence,
        power=POWER,
    )


def _advice(
    file: str,
    needs: list[tuple[Pilot, st.RuntimeNeeded]],
    skipped: tuple[str, ...],
    notes: tuple[str, ...],
) -> RuntimeAdvice:
    together = st.combine_pilots([need for _, need in needs])
    timed = all(pilot.times is not None for pilot, _ in needs)
    runtime, decided_by, reason = together.runtime, None, _why_none(needs)
    if runtime is not None:
        lengths = [(need.runtime or 0.0) - need.startup for _, need in needs]
        decided_by = int(np.argmax(lengths))
        pilot, decisive = needs[decided_by]
        reason = decisive.reason if len(needs) == 1 else f"{pilot.label} needs most: {decisive.reason}"
    return RuntimeAdvice(
        format="trialwise.runtime/1",
        file=file,
        unit="s" if timed else "samples",
        runtime=runtime if timed or runtime is None else float(math.ceil(runtime - 1e-9)),
        startup=together.startup,
        steady=together.steady,
        runtime_line=f'runtime = "{rounded_up(runtime)}"' if timed and runtime is not None else None,
        warmup_line=f'warmup = "{rounded_up(together.startup)}"' if timed and together.startup else None,
        decided_by=decided_by,
        reason=reason,
        how=_HOW,
        pilots=tuple(_pilot_need(pilot, need) for pilot, need in needs),
        skipped=skipped,
        notes=notes,
    )


def _why_none(needs: list[tuple[Pilot, st.RuntimeNeeded]]) -> str:
    missing = [(pilot, need) for pilot, need in needs if need.runtime is None]
    if len(needs) == 1:
        return needs[0][1].reason
    return "; ".join(f"{pilot.label}: {need.reason}" for pilot, need in missing)


def rounded_up(seconds: float) -> str:
    """A duration as experiment files have it, rounded up: to three digits below a minute, then to the next unit."""
    if seconds <= 0:
        return "0s"
    for below, step in (
        (60.0, 10.0 ** (math.floor(math.log10(seconds)) - 2)),
        (3600.0, 1.0),
        (86_400.0, 60.0),
    ):
        if seconds < below:
            return duration_text(math.ceil(seconds / step - 1e-9) * step)
    return duration_text(math.ceil(seconds / 3600.0 - 1e-9) * 3600.0)


def _pilot_need(pilot: Pilot, need: st.RuntimeNeeded) -> PilotNeed:
    curve, drift = need.curve, need.drift
    return PilotNeed(
        metric=pilot.metric,
        unit=pilot.unit,
        treatment=pilot.treatment,
        trial=pilot.trial,
        measure=need.measure,
        runtime=need.runtime,
        startup=need.startup,
        steady=need.steady,
        reason=need.reason,
        predicted=need.predicted,
        observed=need.observed,
        oscillation=need.oscillation,
        verdict=drift.verdict,
        drift=drift.drift,
        drift_low=_finite(drift.low),
        drift_high=_finite(drift.high),
        variation=need.variation,
        duration=need.duration,
        n=need.n,
        tolerance=need.tolerance,
        confidence=need.confidence,
        power=need.power,
        growth=Growth(
            lengths=tuple(curve.times.tolist()),
            values=tuple(curve.values.tolist()),
            verdicts=curve.verdicts,
            values_after_startup=tuple(map(_finite, curve.values_after_startup.tolist())),
            verdicts_after_startup=curve.verdicts_after_startup,
        ),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
