"""What commands share that change something in a begun experiment: the reason, who says so, and the ledger that has it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from trialwise.errors import PlanError, StoreError
from trialwise.store.connection import RESTORE
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import Head
from trialwise.store.user import user_name
from trialwise.visible import visible

_MOST = 2000
"""Characters of a reason."""


def checked_reason(because: str, *, without: str = "", example: str = "") -> str:
    """Return a reason, made harmless to read.

    Raises
    ------
    PlanError
        It is too long; or there is none and one is needed, where `without` says why, and `example` what to write.
    """
    reason = visible(because.strip())
    if not reason and without:
        raise PlanError(without, hint=f'say it: --because "{example}"')
    if len(reason) > _MOST:
        raise PlanError(f"the reason has {len(reason)} characters; {_MOST} are kept", hint="shorten it")
    return reason


def author(who: str | None) -> str:
    """Return who says so, made harmless to read; default the user of this process."""
    return user_name() if who is None else visible(who)


@contextmanager
def amended(directory: ExperimentDirectory) -> Generator[Ledger]:
    """Open the ledger of a directory to write amendments, and close it; raise StoreError if that cannot be."""
    ledger = directory.ledger(read_only=False)
    try:
        yield ledger
    finally:
        ledger.close()


def head_of(ledger: Ledger) -> Head:
    """Return the head of the chain of a ledger that was written to."""
    head = ledger.head()
    if head is None:
        raise StoreError(f"{ledger.path}: has no chain yet", hint=RESTORE)
    return head
