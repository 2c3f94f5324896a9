"""Open the ledger's SQLite file, even if nothing may be written beside it."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from urllib.parse import quote

from trialwise.errors import DISK_IS_FULL, StoreError, reason_of
from trialwise.foreign_files import check_foreign
from trialwise.store.files import gone
from trialwise.store.untouched import scratch_folder
from trialwise.temporary import vanishing_folder

LOG_PAGES = 200
"""Pages after which SQLite copies the write-ahead log into the database and restarts it: about thirty trials."""
LOG_BYTES = 1024 * 1024
"""Bytes reserved for the log: slightly more than these pages."""
MAX_VALUE = 64 << 20
"""Maximum bytes of a text that SQLite reads or makes: a ledger from elsewhere may give a column a default of a gigabyte."""
STEPS, STEPS_OF_A_BYTE = 50_000_000, 50
"""Maximum instructions of SQLite's virtual machine per query: a fixed number, plus some for each byte of the files.

Reading all rows of a ledger, in any order, takes less than one instruction per byte.
"""
_AT_ONCE = 1_000_000
"""Instructions between two checks: some hundredths of a second."""
_FREE = "free some space and run again; what is finished is kept"
ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What Python's module raises; the second if SQLite's message repeats bytes of a damaged schema that are not text."""
RESTORE = "restore a copy of the directory; `sqlite3 ledger.sqlite .recover` may save what is left"


_COPIES, _PAUSE = 50, 0.005
"""Attempts at a copy of a ledger whose log begins anew meanwhile, and seconds between them."""
_LOG_HEADER = 32
"""Bytes of the header of a write-ahead log, which has its salts."""
_BESIDE = ("", "-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite opens beside a database."""


class BusyLedgerError(StoreError):
    """A ledger that is written too fast to be copied."""


def require_own_files(path: Path) -> None:
    """Raise StoreError if the ledger, or a file that SQLite keeps beside it, is a link or not a file: SQLite would write elsewhere."""
    for ending in _BESIDE:
        file = path.with_name(path.name + ending)
        if os.path.lexists(file):
            check_foreign(file, within=path.parent, error=StoreError)


def copy_in_memory(path: Path) -> sqlite3.Connection:
    """Copy the ledger with its write-ahead log, also while it is written, into a database in memory.

    Raises
    ------
    StoreError
        It cannot be read, or is written too fast to be copied.
    """
    kept = scratch_folder()
    with vanishing_folder("trialwise-") if kept is None else tempfile.TemporaryDirectory(dir=kept) as folder:
        copy = Path(folder) / path.name
        _copy_files(path, copy)
        with contextlib.closing(connect(copy, "rw")) as opened:
            memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            try:
                opened.backup(memory)
            except ERRORS as error:
                raise refused(error, path, "read") from error
        return memory


def _copy_files(path: Path, copy: Path) -> None:
    """Copy a database and then its log as of one moment.

    Until the log begins anew, with other salts (SQLite's file format, 4.1), the database changes only by what stands in the log.
    """
    log, copied_log = (each.with_name(each.name + "-wal") for each in (path, copy))
    for _ in range(_COPIES):
        before = _log_header(log)
        try:
            shutil.copyfile(path, copy)
            shutil.copyfile(log, copied_log)
        except FileNotFoundError:
            copied_log.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{path}: cannot be read: {reason_of(error)}") from error
        if copy.exists() and _log_header(copied_log) == before == _log_header(log):
            return
        time.sleep(_PAUSE)
    raise BusyLedgerError(f"{path}: is written too fast to be copied", hint="try again")


def _log_header(log: Path) -> bytes:
    try:
        with log.open("rb") as file:
            return file.read(_LOG_HEADER)
    except FileNotFoundError:
        return b""


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open a database; `mode` is ro, rw or rwc (create)."""
    try:
        connection = sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?mode={mode}",
            uri=True,
            isolation_level=None,
            timeout=10,
            check_same_thread=False,
        )
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
        for setting in ("foreign_keys = ON", "trusted_schema = OFF", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {setting}")
    except ERRORS as error:
        raise refused(error, path, "opened") from error
    return connection


@contextlib.contextmanager
def bounded(connection: sqlite3.Connection, path: Path) -> Generator[int]:
    """Interrupt queries of the database at `path` that take more steps than its size explains.

    Yields the maximum number of rows that it can have, at one byte each. A file from elsewhere may compute without end.
    """
    size = sum(_size(path.with_name(path.name + ending)) for ending in ("", "-wal"))
    left = (STEPS + STEPS_OF_A_BYTE * size) // _AT_ONCE

    def look() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    connection.set_progress_handler(look, _AT_ONCE)
    try:
        yield size
    finally:
        connection.set_progress_handler(None, 0)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def endless(path: Path) -> StoreError:
    """Return the error for a ledger that returns more, or takes longer, than its size explains, or that is not there any more."""
    if not path.exists():
        return gone(path.parent)
    return StoreError(
        f"{path}: reading it comes to no end that its size explains", hint="who made it, and with what?"
    )


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return what distinguishes a file from another that takes its name; None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def refused(error: sqlite3.Error | UnicodeDecodeError, path: Path, what: str) -> StoreError:
    """Return the error for a ledger that SQLite cannot read, write or open; `what` is "read", "written" or "opened".

    On a full disk SQLite says only "disk I/O error", even while reading, because it then has to write beside the database.
    """
    if isinstance(error, UnicodeDecodeError):
        return StoreError(f"{path}: cannot be {what}: database disk image is malformed", hint=RESTORE)
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code == sqlite3.SQLITE_INTERRUPT:
        return endless(path)
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _has_no_room(path)):
        return StoreError(f"{path}: cannot be written: {DISK_IS_FULL}", hint=_FREE)
    return StoreError(f"{path}: cannot be {what}: {error}", hint=_hint_for(str(error)))


def _has_no_room(path: Path) -> bool:
    """Return True if the file system has no room left for the files that SQLite keeps beside the database."""
    try:
        state = os.statvfs(path.parent)
    except OSError:
        return False
    return state.f_bavail * state.f_frsize < LOG_BYTES


def _hint_for(text: str) -> str | None:
    """Return what to try, given SQLite's message."""
    if "disk I/O error" in text:
        return f"the disk may be full or broken: {_FREE}"
    if "malformed" in text or "not a database" in text or "no such table" in text:
        return RESTORE
    return None


def set_log_aside(path: Path) -> None:
    """Extend the write-ahead log of the database at `path` with zeros, which SQLite overwrites.

    Syncing a file of constant length takes half the time of syncing one that grows. Readers of the log stop at the
    first frame without a valid checksum. If there is no room, the log grows as usual.
    """
    log = path.with_name(path.name + "-wal")
    with contextlib.suppress(OSError):
        descriptor = os.open(
            log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644
        )
        try:
            missing = LOG_BYTES - os.fstat(descriptor).st_size
            if missing > 0:
                os.write(descriptor, bytes(missing))
        finally:
            os.close(descriptor)
