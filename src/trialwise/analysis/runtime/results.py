"""Frozen records of the required trial length, read by screens, files for machines and figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trialwise.analysis.estimation.results import DurationAdvice
from trialwise.statistics.tests.drift import Verdict


@dataclass(frozen=True, slots=True)
class Growth:
    """The metric of a pilot's prefix as a function of the prefix's length (TriScale, Fig. 4).

    `verdicts` are from the drift test on the prefix; `values_after_startup` and `verdicts_after_startup` exclude the start-up and
    are None if fewer than 20 samples are left.
    """

    lengths: tuple[float, ...]
    values: tuple[float, ...]
    verdicts: tuple[Verdict, ...]
    values_after_startup: tuple[float | None, ...]
    verdicts_after_startup: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class PilotNeed:
    """The requirement from one pilot. Lengths are in seconds, or in samples if the pilot has no times.

    `runtime` includes `startup` and is None if `reason` says why; `predicted` is the length at which the drift test passes with the
    stated `power`, `observed` the shortest from which on this pilot was steady; `oscillation` is a relevant period; `drift`, with
    `drift_low` and `drift_high` (None if unbounded), is the change over the pilot after the start-up as a share of the metric;
    `variation` the long-run coefficient of variation of a sample. `tolerance`, `confidence` and `power` are in percent.
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
    """The required trial length, as `trialwise runtime --json` prints it.

    `runtime` (start-up included) and `startup` suit every pilot; they are in `unit`. `runtime_line` and `warmup_line`
    belong into the section `[trial]` of an experiment file, rounded up; None where there is none. `decided_by` is the
    place in `pilots` of the one that needs most, None without a runtime. `reason` says what decided, or why there is
    no runtime and the remedy. `skipped` names trials that say nothing and why.

    Simulated trials have `durations` instead of `pilots`, one for each metric and treatment: `runtime` is the duration of their
    workload, `startup` the longest warm-up, which it includes, and `decided_by` an index in `durations`.
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
