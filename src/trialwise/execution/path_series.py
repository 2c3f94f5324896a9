"""Which series a trial over a real path belongs to: another one begins where the condition of its path has changed.

Each path has an epoch of its own. It is that of the session until the path changes; then the trials on this path, and no others, get a
new one. What the epoch of each path began with stands in the ledger, so it is known after a kill.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace

from trialwise.errors import StoreError
from trialwise.measurement.identity import told
from trialwise.measurement.path_condition import PathCondition
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


def placed(ledger: Ledger, row: TrialRow, outcome: TrialOutcome) -> tuple[TrialRow, str | None]:
    """Return the row of a trial that has run with the epoch of its path, and what changed, or None.

    The condition is compared with that of the first trial of the epoch, so that slow changes count too. A path that is as it was
    before a change has changed again: time has passed, and an equal TTL and round trip do not prove an equal route.

    Raises
    ------
    StoreError
        What the ledger holds of the path cannot be read.
    """
    found = outcome.condition
    if found is None or row.epoch is None:
        return row, None
    if found.changed_within:
        _tell(ledger, WITHIN, f"{found.path}: {found.changed_within}, trial {row.number}")
    epoch = _epoch_of(ledger, found.path)
    if (
        epoch is None or epoch.number < row.epoch
    ):  # the first trial on it, or since something else has changed
        _keep(ledger, row.epoch, found)
        return row, None
    change = told(found.changes(epoch.began_with))
    if change is None:
        filled = epoch.began_with.filled(found)
        if filled != epoch.began_with:
            _keep(ledger, epoch.number, filled)
        return _moved(ledger, row, epoch.number), None
    if outcome.status != "finished":  # the next trial that counts will show it
        return _moved(ledger, row, epoch.number), None
    number = ledger.last_epoch() + 1
    _keep(ledger, number, found)
    change = f"{found.path}: {change}; its trials from {row.number} on are another series"
    _tell(ledger, PATH_CHANGED, change)
    return _moved(ledger, row, number), change


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


def _tell(ledger: Ledger, kind: str, text: str) -> None:
    ledger.add_event(Event(time.time(), kind, text))


def _moved(ledger: Ledger, row: TrialRow, epoch: int) -> TrialRow:
    if row.epoch == epoch:
        return row
    row = replace(row, epoch=epoch)
    ledger.move(row)
    return row
