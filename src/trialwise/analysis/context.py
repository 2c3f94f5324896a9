"""The context of an experiment's numbers: its plan, the populations of sampled factors, the sessions, the logs."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from trialwise.errors import AnalysisError
from trialwise.experiment.model import DrawnFactor, Experiment, Level, Order
from trialwise.foreign_files import open_foreign, read_foreign
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import Event, Session, TrialRow, service_versions

_TAIL_LINES = 20
_TAIL_BYTES = 8192
_MAX_ENVIRONMENT = 4 << 20


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """The design as executed: the four parameters of the experiment in TriScale's Table 2, and the rest.

    `rounds` is the largest number of rounds planned in a series. Times are in seconds: `span` None for back to back,
    `services` describes what ran beside the trials, with versions, by name,
    `runtime` as stated in the file, `median_runtime` as measured over finished trials.
    """

    order: Order
    rounds: int
    series: int
    span: float | None
    runtime: float | None
    median_runtime: float | None
    robustness: int
    warmup_trials: int
    warmup: float
    kind: str
    command: str
    reset: str | None
    factors: Mapping[str, tuple[Level, ...]]
    services: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Population:
    """The population behind the values of a sampled factor: `size` listed values, or the range from `low` to `high`."""

    factor: str
    origin: str
    size: int | None
    low: float | None
    high: float | None
    drawn: int


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """One run of the runner, and its recorded environment; empty if that cannot be read."""

    record: Session
    environment: Mapping[str, object]


def plan_summary(
    experiment: Experiment, rows: Sequence[TrialRow], events: Iterable[Event] = ()
) -> PlanSummary:
    """Summarise the plan from the experiment, the rows of the trials that count, and the events."""
    versions = service_versions(events)
    design, trial = experiment.design, experiment.trial
    return PlanSummary(
        order=design.order,
        rounds=max((row.round for row in rows), default=0),
        series=len({row.series for row in rows}),
        span=design.span,
        runtime=experiment.runtime,
        median_runtime=_median_runtime(rows),
        robustness=design.robustness,
        warmup_trials=design.warmup_trials,
        warmup=experiment.warmup,
        kind=trial.kind,
        command=trial.summary,
        reset=experiment.reset.text if experiment.reset else None,
        factors={factor.name: factor.levels for factor in experiment.fixed_factors},
        services={
            each.name: ", ".join((each.text, *versions.get(each.name, ()))) for each in experiment.services
        },
    )


def _median_runtime(rows: Sequence[TrialRow]) -> float | None:
    times = [
        row.finished - row.started
        for row in rows
        if row.status == "finished" and row.started is not None and row.finished is not None
    ]
    return statistics.median(times) if times else None


def populations(experiment: Experiment, rows: Sequence[TrialRow]) -> tuple[Population, ...]:
    """Return the population of each sampled factor, and the number of distinct values among finished trials."""
    return tuple(_population(factor, rows) for factor in experiment.drawn_factors)


def _population(factor: DrawnFactor, rows: Sequence[TrialRow]) -> Population:
    drawn = {
        row.factors[factor.name] for row in rows if row.status == "finished" and factor.name in row.factors
    }
    listed = bool(factor.values)
    return Population(
        factor=factor.name,
        origin=factor.origin,
        size=len(factor.values) if listed else None,
        low=None if listed else factor.low,
        high=None if listed else factor.high,
        drawn=len(drawn),
    )


def session_facts(directory: ExperimentDirectory, ledger: Ledger) -> tuple[SessionFacts, ...]:
    """Return the sessions of a ledger with the environment that each recorded."""
    return tuple(
        SessionFacts(session, _environment(directory.path, session.environment))
        for session in ledger.sessions()
    )


def changes_text(events: Iterable[Event]) -> list[str]:
    """Say what events say, once each: what changed for several workers at once names them together."""
    told: dict[str, list[str]] = {}
    for event in events:
        what, worker = event.change
        told.setdefault(f"{event.kind}: {what}", []).extend([worker] if worker is not None else [])
    return [f"{text} (on {', '.join(dict.fromkeys(who))})" if who else text for text, who in told.items()]


def _environment(folder: Path, name: str) -> Mapping[str, object]:
    try:
        found: object = json.loads(read_foreign(folder / name, _MAX_ENVIRONMENT, within=folder))
    except (AnalysisError, ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}


def log_tail(folder: Path, name: str) -> tuple[str, ...]:
    """Return the last lines of a log in an experiment directory; empty if unreadable, one line if it leads out of the directory."""
    try:
        with open_foreign(folder / name, within=folder) as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _TAIL_BYTES))
            text = stream.read(_TAIL_BYTES).decode(errors="replace")
    except AnalysisError as error:
        return (f"not shown: {error.message}",) if (folder / name).is_symlink() else ()
    except OSError:
        return ()
    return tuple(text.splitlines()[-_TAIL_LINES:])
