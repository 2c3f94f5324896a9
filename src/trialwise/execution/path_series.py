"""Which series a trial over a real path belongs to: another one begins where the condition of its path has changed.

Each path has an epoch of its own. It is that of the session until the path changes; then the trials on this path, and no others, get a
new one. What the epoch of each path began with stands in the ledger, so it is known after a kill.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from trialwise.errors import StoreError
from trialwise.measurement.identity import told
from trialwise.measurement.path_condition import PathCondition
from trialwise.measurement.path_moves import KEY as MOVES
from trialwise.measurement.path_moves import PathMoves, moves_in
from trialwise.store.connection import RESTORE
from trialwise.store.ledger import Ledger
from trialwise.store.records import PATH_CHANGED, Event, TrialRow
from trialwise.trials.base import TrialOutcome

_KEY = "path "
"""What begins the keys of `meta` that hold the epoch of a path, and the condition that it began with."""
WITHIN = "path changed within a trial"
"""Kind of the events that begin no series."""


@dataclass(frozen=True, slots=True)
class _Epoch:
    number: int
    began_with: PathCondition


def placed(ledger: Ledger, row: TrialRow, outcome: TrialOutcome) -> tuple[TrialRow, list[str]]:
    """Return the row of a trial that has run with the epoch of its path, and in words what changed.

    The condition is compared with that of the first trial of the epoch, so that slow changes count too. A path that is as it was
    before a change has changed again: time has passed, and an equal TTL and round trip do not prove an equal route.

    Raises
    ------
    StoreError
        What the ledger holds of the path cannot be read.
    """
    found = outcome.condition
    if found is None or row.epoch is None:
        return row, []
    texts: list[str] = []
    if found.is_expected:
        texts += _moved(ledger, row.number, outcome.status, found)
    elif found.changed_within:
        texts.append(_noted(ledger, WITHIN, f"{found.path}: {found.changed_within}, trial {row.number}"))
    epoch, change = _epoch_after(ledger, row.epoch, found, counts=outcome.status == "finished")
    if change is not None:
        text = f"{found.path}: {change}; its trials from {row.number} on are another series"
        texts.append(_noted(ledger, PATH_CHANGED, text))
    if epoch != row.epoch:
        row = replace(row, epoch=epoch)
        ledger.move(row)
    return row, texts


def _moved(ledger: Ledger, trial: int, status: str, found: PathCondition) -> Iterator[str]:
    """Note between what a path has moved that changes by design; yield it in words if this trial adds to it."""
    if status != "finished":
        return
    known = {each.path: each for each in moves_in(ledger.meta())}
    before = known.get(found.path, PathMoves(found.path, found.ends))
    after = before.with_trial(trial, found)
    if after != before:
        ledger.set_meta(MOVES + found.path, json.dumps(after.to_json()))
    if after.text != before.text:
        yield after.text


def _epoch_after(
    ledger: Ledger, session: int, found: PathCondition, *, counts: bool
) -> tuple[int, str | None]:
    """Return the epoch of a path in a session's epoch once a trial found a condition, and what changed if another begins.

    A trial that does not count begins none: the next one that counts will show the change.
    """
    epoch = _epoch_of(ledger, found.path)
    if epoch is None or epoch.number < session:  # the first trial on it, or since something else has changed
        _keep(ledger, session, found)
        return session, None
    change = told(found.changes(epoch.began_with))
    if change is None:
        filled = epoch.began_with.filled(found)
        if filled != epoch.began_with:
            _keep(ledger, epoch.number, filled)
        return epoch.number, None
    if not counts:
        return epoch.number, None
    number = ledger.last_epoch() + 1
    _keep(ledger, number, found)
    return number, change


def _epoch_of(ledger: Ledger, path: str) -> _Epoch | None:
    text = ledger.meta().get(_KEY + path)
    if text is None:
        return None
    try:
        record = json.loads(text)
        return _Epoch(int(record["epoch"]), PathCondition.from_json(path, record))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise StoreError(
            f"the ledger holds a condition of path {path} that cannot be read: {text!r:.100}", hint=RESTORE
        ) from error


def _keep(ledger: Ledger, epoch: int, condition: PathCondition) -> None:
    ledger.set_meta(_KEY + condition.path, json.dumps({"epoch": epoch, **condition.to_json()}))


def _noted(ledger: Ledger, kind: str, text: str) -> str:
    ledger.add_event(Event(time.time(), kind, text))
    return text
