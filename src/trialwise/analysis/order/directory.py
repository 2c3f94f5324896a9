"""The trials of an experiment directory with their order, as input for the analysis of order."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from math import isfinite

from trialwise.analysis.changes import reread_notes
from trialwise.analysis.conditions.timescales import analyse_metric
from trialwise.analysis.observations import StoreObservations
from trialwise.analysis.order.results import Problem
from trialwise.analysis.order.trials import FIXED, RANDOM, RECORDED, OrderTrials, recorded_trials
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Experiment, Metric
from trialwise.late import pl
from trialwise.numbers import counted
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.first_value import first_value_by
from trialwise.store.ledger import Ledger
from trialwise.store.records import TrialRow

_RAN = ("finished", "failed", "invalid", "abandoned", "excluded")
_WHOLE = ("finished", "invalid")
"""Trials with other statuses were interrupted, or disturbed by what they are left out for, and leave an unknown state behind."""


def read_order_directory(
    experiment: Experiment, directory: ExperimentDirectory, ledger: Ledger, wanted: Sequence[str] = ()
) -> OrderTrials:
    """Read the last attempt at every trial that ran; failed ones have no value.

    The predecessor of a trial is the one that ran to completion immediately before it in its round, on the same worker, in the same
    session and boot; for a trial that was repeated later it is unknown.

    Raises
    ------
    AnalysisError
        A metric is not in the experiment, no trial has a value, or trials are simulated.
    """
    if experiment.trial.traits.computed:
        raise AnalysisError(
            "simulated trials are computed from their seeds alone, whatever ran before them",
            hint="order matters to trials that are measured",
        )
    metrics = _metrics(experiment, wanted)
    store = StoreObservations(experiment, directory, ledger)
    attempts = sorted((row for row in store.rows if row.status in _RAN), key=_moment)
    last = {row.number: row for row in attempts if not row.warmup}
    ran = sorted(last.values(), key=_moment)
    follows = _following([] if _resets_trials(experiment) else attempts)
    values = {metric.name: _values(metric, store) for metric in metrics}
    rows = [
        _cells(place, name, row, found.get((row.number, row.attempt)), follows)
        for name, found in values.items()
        for place, row in enumerate(ran, start=1)
    ]
    several = len({row.worker for row in ran}) > 1
    table = pl.DataFrame(rows, schema=RECORDED, orient="row")
    if not several:
        table = table.with_columns(pl.lit("").alias("worker"))
    problems = [*_lost(ran), *(problem for name in values for problem in _without(name, ran, values[name]))]
    waiting = sum(row.status in ("planned", "running") for row in store.rows)
    notes = (*_notes(experiment, waiting), *reread_notes(metrics, ledger.amendments()))
    trials = recorded_trials(str(directory.path), table, problems, notes, first_value_by(store.rows))
    better = {metric.name: metric.better for metric in metrics if metric.better is not None}
    return dataclasses.replace(trials, better=better)


def _moment(row: TrialRow) -> tuple[float, int, int]:
    return row.started or row.claimed or 0.0, row.number, row.attempt


def _resets_trials(experiment: Experiment) -> bool:
    return experiment.reset is not None and experiment.reset.every == "trial"


def _following(attempts: Sequence[TrialRow]) -> set[tuple[int, int]]:
    """Return number and attempt of the trials that ran immediately after the trial of the previous position."""
    before: dict[str | None, TrialRow] = {}
    found: set[tuple[int, int]] = set()
    for row in attempts:
        other = before.get(row.worker)
        if other is not None and other.status in _WHOLE and _place(row) == _place(other, step=1):
            found.add((row.number, row.attempt))
        before[row.worker] = row
    return found


def _place(row: TrialRow, *, step: int = 0) -> tuple[object, ...]:
    return row.session, row.boot, row.warmup, row.series, row.round, row.position + step


def _values(metric: Metric, store: StoreObservations) -> dict[tuple[int, int], float | None]:
    found = analyse_metric(metric, store.of(metric), "default")
    return {(trial.number, trial.attempt): trial.value for trial in found.trials}


def _cells(
    place: int, metric: str, row: TrialRow, value: float | None, follows: AbstractSet[tuple[int, int]]
) -> tuple[object, ...]:
    known = None if value is None or not isfinite(value) else float(value)
    return (
        place,
        metric,
        "",
        metric,
        row.treatment,
        FIXED if row.order == FIXED else RANDOM,
        row.worker or "",
        f"{row.series}.{row.round}",
        float(row.position),
        known,
        (row.number, row.attempt) in follows,
    )


def _trial(row: TrialRow) -> str:
    worker = f" on {row.worker}" if row.worker else ""
    return (
        f"trial {row.number} ({row.treatment}, series {row.series}, {row.order} round {row.round}{worker}, "
        f"position {row.position})"
    )


def _lost(ran: Sequence[TrialRow]) -> Iterator[Problem]:
    for row in ran:
        if row.status != "finished":
            reason = f": {row.reason}" if row.reason else ""
            yield Problem(None, row.status, f"{_trial(row)} is {row.status}{reason}; it has no value")


def _without(
    metric: str, ran: Sequence[TrialRow], values: Mapping[tuple[int, int], float | None]
) -> Iterator[Problem]:
    for row in ran:
        value = values.get((row.number, row.attempt))
        if row.status == "finished" and (value is None or not isfinite(value)):
            yield Problem(None, "missing", f"{_trial(row)} gave no value of {metric}")


def _notes(experiment: Experiment, waiting: int) -> Iterator[str]:
    if waiting:
        yield f"{counted(waiting, 'trial of the plan has', 'trials of the plan have')} not run yet"
    if _resets_trials(experiment):
        yield "everything was reset before every trial: nothing is known to carry over from one to the next"


def _metrics(experiment: Experiment, wanted: Sequence[str]) -> list[Metric]:
    known = {metric.name: metric for metric in experiment.metrics}
    for name in wanted:
        if name not in known:
            raise AnalysisError(
                f"no metric {name!r} in this experiment", hint=f"there are: {', '.join(known)}"
            )
    return [known[name] for name in wanted or known]
