"""Copy a ledger for others: one file without a log beside it, the same bytes for the same rows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from trialwise.store.connection import ERRORS, connect, refused


def copy_for_others(ledger: Path, target: Path, text: Callable[[str], str]) -> None:
    """Write what a ledger holds to a new file.

    `text` rewrites what names a place or a host and is not part of the hash chain: the folder of the experiment, and the texts of
    events.

    Raises
    ------
    StoreError
        It cannot be read, or the copy cannot be written.
    """
    aside = target.with_name(f"{target.name}.aside")
    try:
        with contextlib.closing(connect(ledger, "ro")) as opened:
            opened.execute("VACUUM INTO ?", (str(aside),))
        with contextlib.closing(connect(aside, "rw")) as copy:
            copy.execute("BEGIN")
            for rowid, said in copy.execute("SELECT rowid, text FROM event").fetchall():
                copy.execute("UPDATE event SET text = ? WHERE rowid = ?", (text(str(said)), rowid))
            for (folder,) in copy.execute("SELECT value FROM meta WHERE key = 'folder'").fetchall():
                copy.execute("UPDATE meta SET value = ? WHERE key = 'folder'", (text(str(folder)),))
            copy.execute("COMMIT")
            copy.execute("VACUUM INTO ?", (str(target),))
    except ERRORS as error:
        raise refused(error, ledger, "read") from error
    finally:
        aside.unlink(missing_ok=True)
