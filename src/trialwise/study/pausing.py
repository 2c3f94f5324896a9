"""Ask a run in progress to pause."""

from __future__ import annotations

import time
from pathlib import Path

from trialwise.errors import StoreError
from trialwise.store.directory import ExperimentDirectory, is_locked, latest
from trialwise.store.records import PAUSE, Amendment
from trialwise.store.user import user_name
from trialwise.study.documents import PauseDocument
from trialwise.study.reasons import checked_reason
from trialwise.visible import visible


def pause(path: Path, because: str = "", *, who: str | None = None) -> PauseDocument:
    """Ask the run of a directory to stop after its running trials, and record who asked (default the user), when and why.

    Raises
    ------
    PlanError
        The reason is too long.
    StoreError
        There is no ledger, or no run is at work.
    """
    reason = checked_reason(because)
    directory = ExperimentDirectory(latest(path))
    ledger = directory.ledger(read_only=False)
    try:
        if not is_locked(directory):
            raise StoreError(
                f"{directory.path}: no run is at work",
                hint=f"`trialwise run {directory.path}` goes on with it",
            )
        name = user_name() if who is None else visible(who)
        ledger.amend([Amendment(time.time(), PAUSE, name, reason)])
        head = ledger.head()
    finally:
        ledger.close()
    assert head is not None  # noqa: S101 a ledger that was written to has the format that has one
    return PauseDocument(str(directory.path), reason, name, head)
