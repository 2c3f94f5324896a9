"""Work out what a changed experiment file does to a running plan: which trials are added, and which withdrawn."""

from __future__ import annotations

import dataclasses
import difflib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trialwise.design.plan import PlannedTrial
from trialwise.design.sizing import size
from trialwise.design.treatments import count_treatments
from trialwise.errors import PlanError
from trialwise.execution.amending import Changes
from trialwise.execution.worker_plan import (
    WorkerPlan,
    abandon_local,
    has_lanes,
    laid_out,
    lanes,
    lanes_meta,
    planned_row,
)
from trialwise.experiment.model import Experiment
from trialwise.experiment.results import claimed
from trialwise.experiment.stopping import goals_of
from trialwise.numbers import counted
from trialwise.store.directory import EXPERIMENT
from trialwise.store.ledger import Ledger
from trialwise.store.ledger_facts import APART, CLOSED, FILE_OF_SERIES
from trialwise.store.records import NOT_BEGUN, Event, TrialRow

_MAX_DIFFERENCE = 60


@dataclass(frozen=True, slots=True)
class Began:
    """The state before the change: the experiment, its text, and the directory."""

    experiment: Experiment
    text: str
    path: Path


@dataclass(frozen=True, slots=True)
class Step:
    """A change to the ledger: trials added and withdrawn, facts and events; `text` describes it if there is an amendment."""

    rows: Sequence[TrialRow] = ()
    withdrawn: Sequence[TrialRow] = ()
    meta: Mapping[str, str] = field(default_factory=dict[str, str])
    events: Sequence[Event] = ()
    text: str = ""


def replanned(
    began: Began, experiment: Experiment, text: str, ledger: Ledger, change: Changes | None, *, extend: bool
) -> Step | None:
    """Return what the current file does to the plan; None if the plan stays as it is.

    Raises
    ------
    PlanError
        The plan becomes shorter, or longer without `extend`; or a worker is running a trial whose round is to be laid out anew.
    """
    if change is not None and change.changes_treatments:
        _reclaim(began, ledger)
    if change is not None and change.lays_out:
        if not (extend or change.sets_apart):
            raise PlanError(
                f"{began.path}: the treatments differ from the plan that began here\n{difference_of(began.text, text)}",
                hint="add --extend to lay out the rounds anew with the present treatments; finished trials stay",
            )
        return _anew(experiment, ledger, began.text if change.sets_apart else None)
    step = _of_sizes(began, experiment, text, ledger, extend=extend)
    dropped = [row for row in ledger.trials() if not experiment.includes(row.factors)]
    if change is None or not dropped:
        return step
    withdrawn = [row for row in dropped if row.status in NOT_BEGUN]
    return dataclasses.replace(step or Step(), withdrawn=withdrawn, text=_stays(dropped))


def difference_of(before: str, after: str, name: str = EXPERIMENT) -> str:
    """Return the lines that differ between two versions of a file of the directory."""
    lines = list(
        difflib.unified_diff(
            before.splitlines(),
            after.splitlines(),
            f"{name} of the directory",
            f"{name} now",
            lineterm="",
            n=1,
        )
    )
    more = len(lines) - _MAX_DIFFERENCE
    return "\n".join(lines[:_MAX_DIFFERENCE] + ([f"… {counted(more, 'more line')}"] if more > 0 else []))


def _reclaim(began: Began, ledger: Ledger) -> None:
    """Abandon the trials that a killed runner was running here, so that they are planned, and withdrawn, like the rest."""
    abandon_local(ledger)
    if running := ledger.trials("running"):
        row = running[0]
        raise PlanError(
            f"{began.path}: worker {row.worker} may have trial {row.number} in hand still, so treatments cannot change now",
            hint=f"`trialwise run {began.path} --rounds 1` brings it home with the file as it was; change the plan then",
        )


def _anew(experiment: Experiment, ledger: Ledger, before: str | None) -> Step:
    """Close the series that have begun, and lay out those of the plan after them.

    With the text of the file `before`, they are set apart, and the text is kept.
    """
    rows = ledger.trials()
    withdrawn = [row for row in rows if row.status in NOT_BEGUN]
    begun = [row for row in rows if row.status not in NOT_BEGUN]
    closed = max((row.series for row in begun), default=0)
    further, meta = _further(
        ledger, lambda lane: laid_out(lane.experiment(experiment), closed), lambda _: set()
    )
    words = [f"{_trials(len(further))} of {count_treatments(experiment)} treatments follow"]
    if closed:
        finished = sum(row.status == "finished" for row in begun)
        which = "series 1 is" if closed == 1 else f"series 1 to {closed} are"
        words.insert(
            0, f"{which} {'closed' if before is None else 'set apart'} with {_trials(finished, 'finished')}"
        )
    if before is None and (dropped := _stays([row for row in begun if not experiment.includes(row.factors)])):
        words.append(dropped)
    meta |= {CLOSED: str(closed)}
    if before is not None and closed:
        meta |= {APART: str(closed), FILE_OF_SERIES.format(closed): before}
    return Step(further, withdrawn, meta, text="; ".join(words))


def _stays(dropped: Sequence[TrialRow]) -> str:
    """Say what is kept of dropped treatments."""
    finished = sum(row.status == "finished" for row in dropped)
    return f"the {_trials(finished, 'finished')} of what was dropped stay in the ledger" if finished else ""


def _trials(number: int, what: str = "") -> str:
    return f"{number} {what}{' ' if what else ''}trial{'' if number == 1 else 's'}"


def _of_sizes(
    began: Began, experiment: Experiment, text: str, ledger: Ledger, *, extend: bool
) -> Step | None:
    now, then = size(experiment), size(began.experiment)
    if (now.series, now.rounds) == (then.series, then.rounds):
        known = frozenset(metric.name for metric in claimed(began.experiment))
        if _ends(experiment, known) == _ends(began.experiment, known):
            return None
        changed = f"when to stop was changed:\n{difference_of(began.text, text)}"
        return Step(events=[Event(time.time(), "rule", changed)])
    if now.series < then.series or now.rounds < then.rounds:
        hint = "put the numbers back; an experiment can only become longer"
    elif now.rounds > then.rounds and experiment.design.span is not None:
        hint = "a span is laid out when its series begins: raise design.series instead of design.rounds"
    elif not extend:
        hint = "add --extend to go on with the same sequence and more trials"
    else:
        closed = ledger.closed_series()
        rows, meta = _further(
            ledger,
            lambda lane: laid_out(lane.experiment(experiment), closed),
            lambda lane: ledger.rounds_planned(lane.blocks),
        )
        return Step(rows, meta=meta)
    raise PlanError(
        f"{began.path}: the number of trials differs from the plan that began here\n{difference_of(began.text, text)}",
        hint=hint,
    )


def _ends(experiment: Experiment, known: frozenset[str]) -> object:
    """Return what the file says about when to stop, for the metrics, and patterns of metrics, with known names."""
    design = experiment.design
    words = (design.stop, design.looks, design.pilot, design.max_trials, design.budget, design.base)
    of_metrics = [
        (metric.margin, metric.estimand, metric.convention, metric.few_samples, goals_of(metric))
        for metric in claimed(experiment)
        if metric.name in known
    ]
    return words, of_metrics


def _further(
    ledger: Ledger,
    planned: Callable[[WorkerPlan], Sequence[PlannedTrial]],
    seen: Callable[[WorkerPlan], set[tuple[str, int, int, bool]]],
) -> tuple[list[TrialRow], dict[str, str]]:
    """Return the trials of every lane that are not in the ledger, numbered after those that are; and the new record of lanes."""
    known, last = lanes(ledger), ledger.last_number()
    rows: list[TrialRow] = []
    longer: list[WorkerPlan] = []
    for lane in known:
        before = seen(lane)
        further = (
            trial
            for trial in planned(lane)
            if (trial.treatment.name, trial.series, trial.round, trial.warmup) not in before
        )
        first = last + len(rows) + 1
        rows += [planned_row(dataclasses.replace(trial, number=n)) for n, trial in enumerate(further, first)]
        longer.append(lane.with_block(first, last + len(rows)))
    return rows, lanes_meta(longer) if has_lanes(ledger) else {}
