"""The long pilot trials in a table or in an experiment directory, with the options of their analysis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from trialwise.analysis.observations import Observation, StoreObservations
from trialwise.arrays import Array
from trialwise.errors import AnalysisError
from trialwise.numbers import counted

if TYPE_CHECKING:
    from trialwise.analysis.conditions.table import ConditionTable
    from trialwise.experiment.model import Experiment, Measure, Metric
    from trialwise.store.directory import ExperimentDirectory
    from trialwise.store.ledger import Ledger

_PILOTS = 3
_TOLERANCE, _CONFIDENCE = 5.0, 95.0


@dataclass(frozen=True, slots=True)
class Question:
    """Options for pilots; None: the experiment's metric decides, by default 5 % tolerance, 95 % confidence."""

    measure: Measure | None = None
    tolerance: float | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Pilot:
    """The samples of one long trial, with the options. `times` in seconds, None to count in samples."""

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
        """The name of the pilot in messages."""
        return f"{self.metric} of {self.treatment}, trial {self.trial}".replace(" of -,", ",")


def pilots_of_table(table: ConditionTable, question: Question) -> list[Pilot]:
    """Return the pilots of a table: all rows, or those of each trial, without rows that have no value."""
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
    """Return hints that a table has several pilots although no trial column was named."""
    if table.trials is not None or table.times is None:
        return []
    back = int((np.diff(table.times) < 0).sum())
    if not back:
        return []
    return [
        f"times go back {counted(back, 'time')}: if these are several trials, name their column with --trial"
    ]


def pilots_of_directory(
    experiment: Experiment,
    directory: ExperimentDirectory,
    ledger: Ledger,
    question: Question,
    metric: str | None = None,
) -> tuple[list[Pilot], list[str]]:
    """Return the longest three trials of each treatment, for each metric that has samples with times, and remarks.

    The warm-up that the experiment discards is kept, because the analysis must find it.

    Raises
    ------
    AnalysisError
        The metric does not exist, or no metric has samples with times.
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
