"""What a program reported, before it is read: bytes, and where they come from."""

from __future__ import annotations

import difflib
import os
import stat
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from trialwise.errors import TrialError

if TYPE_CHECKING:
    from pathlib import Path

SIZE_LIMIT = 1 << 30
COARSE_CLOCK = 5  # CLOCK_REALTIME_COARSE of clock_gettime(2), which file systems take their times from
LONGEST_TICK = 0.02


@dataclass(frozen=True, slots=True)
class FileMark:
    """The state of a file at one moment: whoever writes to it later leaves another."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int


@dataclass(frozen=True, slots=True)
class Reported:
    """Bytes that a program reported, and where they come from, for messages."""

    data: bytes
    where: str

    def text(self) -> str:
        """Give the text, without a byte order mark; never empty.

        Raises
        ------
        TrialError
            Nothing was reported, or it is not UTF-8 text.
        """
        self.require_content()
        try:
            text = self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise self.not_text(error.start) from error
        if (position := text.find("\0")) >= 0:
            raise self.not_text(len(text[:position].encode()))
        return text

    def require_content(self) -> None:
        """Raise `TrialError` when there is nothing but white space."""
        if not self.data.strip():
            raise TrialError(
                f"{self.where} is empty",
                hint="check that the program prints there and not to the other output or to a file",
            )

    def not_text(self, position: int) -> TrialError:
        """Give the error for a byte that is not text."""
        line = self.data.count(b"\n", 0, position) + 1
        around = self.data[max(0, position - 8) : position + 8]
        return TrialError(
            f"{self.where} is not text (UTF-8): byte {position}, in line {line}, in {around!r}",
            hint="name the file or output that holds the text, or have the program write UTF-8",
        )


def from_output(data: bytes, *, total: int | None = None, where: str = "standard output") -> Reported:
    """Take what a run captured.

    Parameters
    ----------
    data
        The bytes kept.
    total
        All bytes printed; None when `data` are all.
    where
        The name of the output.

    Raises
    ------
    TrialError
        More was printed than was kept, so that what is sought may be in the lost part.
    """
    if total is not None and total > len(data):
        raise TrialError(
            f"{where} has {total:,} bytes, of which {len(data):,} were kept",
            hint="raise the output limit, or have the program print less or write a file",
        )
    return Reported(data, where)


def from_file(path: Path, *, unlike: FileMark | None = None, size_limit: int = SIZE_LIMIT) -> Reported:
    """Take what a program wrote to a file.

    Parameters
    ----------
    path
        The file.
    unlike
        The state of the file before the trial, from `mark`: what is still in it is another trial's.
    size_limit
        The most bytes that are read.

    Raises
    ------
    TrialError
        There is no such file, it is not a regular one, cannot be read, has not been written since `unlike`, or is too large.
    """
    try:
        status = path.stat()
        _check_status(path, status, unlike)
        if status.st_size > size_limit:
            raise TrialError(
                f"{path} has {status.st_size:,} bytes, over the limit of {size_limit:,}",
                hint="raise the limit, or have the program write fewer samples",
            )
        return Reported(path.read_bytes(), str(path))
    except FileNotFoundError as error:
        raise TrialError(f"the program did not write {path}", hint=_neighbours(path)) from error
    except OSError as error:
        raise TrialError(f"cannot read {path}: {error.strerror}", hint="check its permissions") from error


def mark(path: Path) -> FileMark | None:
    """Take the state of a file before a trial writes it; None where there is no such file.

    Waits, up to a tick of the file system's clock, until a later write must have a later time.
    """
    try:
        status = path.stat()
    except OSError:
        return None
    deadline = time.monotonic() + LONGEST_TICK
    while time.clock_gettime_ns(COARSE_CLOCK) <= status.st_ctime_ns and time.monotonic() < deadline:
        time.sleep(0.001)
    return _mark_of(status)


def _mark_of(status: os.stat_result) -> FileMark:
    return FileMark(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _check_status(path: Path, status: os.stat_result, unlike: FileMark | None) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise TrialError(f"{path} is not a regular file", hint="name the file that the program writes")
    if unlike is not None and _mark_of(status) == unlike:
        raise TrialError(
            f"{path} was not written by this trial: it is from {_moment(status.st_mtime)}",
            hint="have the trial remove the file first, and check that the program writes it",
        )


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, tz=UTC).isoformat(sep=" ", timespec="milliseconds")


def _neighbours(path: Path) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"there is no folder {path.parent}: check where the program writes"
    near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.6)
    return (
        f"did you mean {' or '.join(near)}?" if near else f"check what the program writes into {path.parent}"
    )
