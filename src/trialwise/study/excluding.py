"""Leave finished trials out of every analysis, with a reason, and take them back; nothing is deleted."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from trialwise.errors import PlanError, StoreError
from trialwise.experiment.stopping import stops_by_itself
from trialwise.store.directory import ExperimentDirectory, is_locked, latest
from trialwise.store.ledger import Ledger
from trialwise.store.records import EXCLUDE, INCLUDE, Amendment, TrialRow
from trialwise.study.amending import amended, author, checked_reason, head_of
from trialwise.study.documents import ExclusionDocument
from trialwise.study.locating import frozen_experiment
from trialwise.study.standing import failure_document
from trialwise.visible import visible

_WITHOUT = "a trial is left out for a reason that others can judge"
_EXAMPLE = "the fan of node3 failed during this trial"
_MAX_TRIALS = 1_000_000
_RANGE = re.compile(r"([0-9]{1,12})(?:-([0-9]{1,12}))?")


def exclude(
    path: Path, trials: Sequence[str], because: str, *, undo: bool = False, who: str | None = None
) -> ExclusionDocument:
    """Leave trials out, or take them back.

    Parameters
    ----------
    trials
        Numbers, or ranges of numbers such as "12-15".
    because
        The reason, which is kept; needed to leave trials out.
    undo
        Take back what was left out.
    who
        Who says so; default the user of this process.

    Raises
    ------
    PlanError
        There is no reason, a number is unknown, or a trial is not one that can be left out, or taken back.
    StoreError
        There is no ledger, or a run that waits for results is active.
    """
    reason = checked_reason(because) if undo else checked_reason(because, without=_WITHOUT, example=_EXAMPLE)
    directory = ExperimentDirectory(latest(path))
    reader = directory.ledger()
    try:
        _refuse_running_rule(directory, reader)
        rows = _chosen(directory, reader, trials, undo=undo)
    finally:
        reader.close()
    name = author(who)
    kind = INCLUDE if undo else EXCLUDE
    with amended(directory) as ledger:
        now = time.time()
        ledger.amend([Amendment(now, kind, name, reason, row.number, row.attempt) for row in rows])
        excluded = ledger.trials("excluded")
        head = head_of(ledger)
    return ExclusionDocument(
        str(directory.path),
        kind,
        reason,
        name,
        [failure_document(row) for row in rows],
        [failure_document(row) for row in excluded],
        head,
    )


def _refuse_running_rule(directory: ExperimentDirectory, ledger: Ledger) -> None:
    """A run that decides by results when to stop has taken them in already."""
    if is_locked(directory) and stops_by_itself(frozen_experiment(directory, ledger)):
        raise StoreError(
            f"{directory.path}: a run that decides by its results when to stop is at work",
            hint="press Ctrl-C in it, leave the trial out, and run again: it then decides without this trial",
        )


def _chosen(
    directory: ExperimentDirectory, ledger: Ledger, trials: Sequence[str], *, undo: bool
) -> list[TrialRow]:
    last = {row.number: row for row in ledger.trials()}
    numbers = dict.fromkeys(number for text in trials for number in _numbers(text))
    if not numbers:
        raise PlanError("no trial is named", hint=f"`trialwise status {directory.path}` has their numbers")
    return [_checked(directory, last.get(number), number, undo=undo) for number in numbers]


def _numbers(text: str) -> Iterator[int]:
    found = _RANGE.fullmatch(text.strip())
    first, last = (found[1], found[2] or found[1]) if found else ("", "")
    if not found or int(last) < int(first) or int(last) - int(first) > _MAX_TRIALS:
        raise PlanError(
            f"{visible(text)!r} is not a number of a trial; expected one such as 7, or a range such as 12-15"
        )
    yield from range(int(first), int(last) + 1)


def _checked(directory: ExperimentDirectory, row: TrialRow | None, number: int, *, undo: bool) -> TrialRow:
    """Return the row if it can be left out, or taken back; raise PlanError if not."""
    wanted = "excluded" if undo else "finished"
    if row is not None and row.status == wanted:
        return row
    if row is None:
        raise PlanError(
            f"{directory.path}: there is no trial {number}",
            hint=f"`trialwise analyze {directory.path} --json` has the numbers of trials",
        )
    name = f"{directory.path}: trial {number} ({row.treatment})"
    if undo:
        raise PlanError(f"{name} is not left out: it is {row.status}", hint="name trials that are")
    if row.status == "excluded":
        raise PlanError(f"{name} is left out already: {row.reason}", hint="--undo takes it back")
    raise PlanError(f"{name} cannot be left out: it is {row.status}", hint=_HINTS[row.status])


_NO_VALUE = "it has no value that could be left out, and is counted as it is"
_HINTS = {
    "planned": "it has not run",
    "skipped": "it has not run",
    "running": "wait until it has ended",
    "failed": _NO_VALUE,
    "invalid": _NO_VALUE,
    "abandoned": _NO_VALUE,
}
