"""Opening the ledger's SQLite file, also where nothing may be written beside it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Generator
from pathlib import Path
from urllib.parse import quote

from trialwise.errors import DISK_IS_FULL, StoreError
from trialwise.foreign_files import check_foreign

LOG_PAGES = 200
"""After how many pages SQLite copies the write-ahead log into the database and starts it afresh: some thirty trials."""
LOG_BYTES = 1024 * 1024
"""What is set aside for the log: a little more than these pages."""
MAX_VALUE = 64 << 20
"""Bytes of the largest text that SQLite reads or makes: whoever wrote a ledger may have given a column a default of a gigabyte."""
STEPS, STEPS_OF_A_BYTE = 50_000_000, 50
"""Instructions of SQLite's virtual machine that one question may take: so many, and so many more for each byte of the files.

Reading all rows of a ledger, in whatever order, takes less than one for a byte.
"""
_AT_ONCE = 1_000_000
"""Instructions between two looks: some hundredths of a second."""
_FREE = "free some space and run again; what is finished is kept"
ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What Python's module raises: the second where SQLite's message repeats bytes of a damaged schema that are no text."""
RESTORE = "restore a copy of the directory; `sqlite3 ledger.sqlite .recover` may save what is left"


_BESIDE = ("", "-wal", "-shm", "-journal")
"""How the names end of what SQLite opens beside a database."""


def require_own_files(path: Path) -> None:
    """Raise StoreError where the ledger, or what SQLite keeps beside it, is a link or no file: it would write elsewhere."""
    for ending in _BESIDE:
        file = path.with_name(path.name + ending)
        if os.path.lexists(file):
            check_foreign(file, within=path.parent, error=StoreError)


def copy_in_memory(path: Path) -> sqlite3.Connection:
    """The ledger with its write-ahead log as a database in memory; StoreError where it cannot be read."""
    with tempfile.TemporaryDirectory(prefix="trialwise-") as folder:
        copy = Path(folder) / path.name
        for name in (path.name, path.name + "-wal"):
            source = path.with_name(name)
            if source.is_file():
                copy.with_name(name).write_bytes(source.read_bytes())
        with contextlib.closing(connect(copy, "rw")) as opened:
            memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            try:
                opened.backup(memory)
            except ERRORS as error:
                raise refused(error, path, "read") from error
        return memory


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
    """Interrupt what is asked meanwhile of the database at `path` where it takes more steps than its size explains.

    Gives the rows that it can have at most: each takes a byte. What a file that somebody else wrote computes may have no end.
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
    """Make the error of a ledger that gives more, or takes longer, than its size explains."""
    return StoreError(
        f"{path}: reading it comes to no end that its size explains", hint="who made it, and with what?"
    )


def file_identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from another that takes its name; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def refused(error: sqlite3.Error | UnicodeDecodeError, path: Path, what: str) -> StoreError:
    """Make the error of a ledger that SQLite does not let be read, written or opened: `what` is one of these words.

    Of a full disk it says, also while it reads, "disk I/O error" alone: it has to write beside the database then.
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
    """Whether its file system has no room left for what SQLite keeps beside the database."""
    try:
        state = os.statvfs(path.parent)
    except OSError:
        return False
    return state.f_bavail * state.f_frsize < LOG_BYTES


def _hint_for(text: str) -> str | None:
    """What to try after what SQLite says."""
    if "disk I/O error" in text:
        return f"the disk may be full or broken: {_FREE}"
    if "malformed" in text or "not a database" in text or "no such table" in text:
        return RESTORE
    return None


def set_log_aside(path: Path) -> None:
    """Lengthen the write-ahead log of the database at `path` with zeros, which SQLite overwrites.

    Syncing a file that keeps its length takes half of the time of one that grows. Whoever reads the log stops at the
    first frame without a valid checksum. Without the room, the log grows as it always does.
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
