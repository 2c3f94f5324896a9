"""Check that a directory is as it was recorded."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from trialwise.errors import StoreError
from trialwise.store.directory import ExperimentDirectory, latest
from trialwise.store.verifying import CANNOT_SHOW, verify


def check_chain(path: Path) -> str:
    """Follow the chain of a directory's ledger; return what was found whole, and what that does not show.

    Raises
    ------
    StoreError
        Something is not as it was recorded; the message names the first such row or file. Or the ledger has no chain.
    """
    directory = ExperimentDirectory(latest(path))
    with closing(directory.ledger()) as ledger:
        found = verify(directory, ledger)
    if found.head is None:
        raise StoreError(
            f"{directory.path}: its ledger has an older format, without a chain",
            hint="the next `trialwise run` of the directory begins one",
        )
    if found.broken is not None:
        raise StoreError(
            f"{directory.path}: {found.broken.text}",
            hint="restore a copy; without one, trust nothing in the directory that rests on it",
        )
    later = f", the first {found.later} since the ledger was upgraded" if found.later else ""
    whole = f"{found.head.rows} rows and {found.files} files of samples are as they were recorded{later}"
    return f"whole: {whole}; {CANNOT_SHOW}"
