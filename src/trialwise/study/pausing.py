"""Ask a run in progress to pause."""

from __future__ import annotations

import time
from pathlib import Path

from trialwise.errors import StoreError
from trialwise.store.directory import ExperimentDirectory, is_locked, latest
from trialwise.store.records import PAUSE, Amendment
from trialwise.study.amending import amended, author, checked_reason, head_of
from trialwise.study.documents import PauseDocument


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
    with amended(directory) as ledger:
        if not is_locked(directory):
            raise StoreError(
                f"{directory.path}: no run is at work",
                hint=f"`trialwise run {directory.path}` goes on with it",
            )
        name = author(who)
        ledger.amend([Amendment(time.time(), PAUSE, name, reason)])
        head = head_of(ledger)
    return PauseDocument(str(directory.path), reason, name, head)
