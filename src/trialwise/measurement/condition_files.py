"""Files of the condition of a path over time: a line of CSV for each row, after a line that says of what.

Rows are only ever added. A line that was not written to its end is cut off when the next run adds to the file.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Self

from trialwise.errors import AnalysisError, StoreError, TrialwiseError, not_written
from trialwise.foreign_files import read_foreign
from trialwise.measurement.condition_rows import COLUMNS, Condition
from trialwise.numbers import counted

MAGIC = "# trialwise.conditions/1 "
UNNAMED = "path"
"""Name of a path that stands in the trial of an experiment without one."""
MOST_BYTES = 256 << 20
"""A row a second for two weeks."""
_WHOLE = tuple(field.name for field in fields(Condition) if str(field.type).startswith("int"))
_DIGITS = 9
_NAME = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class About:
    """What a file says first: its own number, the path, a digest of its ends, and the seconds of a row."""

    id: str
    path: str
    ends: str
    every: float

    @property
    def line(self) -> str:
        """The first line."""
        content = {"id": self.id, "path": self.path, "ends": self.ends, "every": self.every}
        return MAGIC + json.dumps(content) + "\n"

    @staticmethod
    def of(path: Path, line: str) -> About:
        """Read the first line of a file.

        Raises
        ------
        AnalysisError
            It is that of another kind of file.
        """
        try:
            return About._parsed(line)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise AnalysisError(
                f"{path}: this is no record of the condition of a path: {error}",
                hint="take a file that `trialwise profile FILE.toml --for …` has written, or another name",
            ) from error

    @staticmethod
    def _parsed(line: str) -> About:
        if not line.startswith(MAGIC):
            raise ValueError("it does not begin with " + MAGIC.strip())
        told = json.loads(line[len(MAGIC) :])
        found = About(str(told["id"]), str(told["path"]), str(told["ends"]), float(told["every"]))
        if not (_NAME.fullmatch(found.id) and 0 < found.every < math.inf):
            raise ValueError("its id or the length of its rows is none")
        return found


@dataclass(frozen=True, slots=True)
class ConditionRecord:
    """A file that was read: what it is about, and its rows as they stand in it."""

    about: About
    rows: tuple[Condition, ...]


def read_conditions_of_path(path: Path) -> ConditionRecord:
    """Read the condition of a path; a last line without its end is left out.

    Raises
    ------
    AnalysisError
        The file cannot be read, is too large, or a line of it is damaged.
    """
    text = read_foreign(path, MOST_BYTES).decode("utf-8", "replace")
    first, _, rest = text.partition("\n")
    about = About.of(path, first)
    lines = rest.split("\n")[:-1]
    if lines and lines[0] != ",".join(COLUMNS):
        raise AnalysisError(f"{path}: line 2 does not name the columns of this version")
    return ConditionRecord(about, tuple(_row(path, at, line) for at, line in enumerate(lines[1:], 3)))


def _row(path: Path, at: int, line: str) -> Condition:
    try:
        return _parsed(line.split(","))
    except (ValueError, TypeError, OverflowError) as error:
        raise AnalysisError(f"{path}: line {at} is damaged: {error}") from error


def _parsed(cells: list[str]) -> Condition:
    if len(cells) != len(COLUMNS):
        raise ValueError(f"{counted(len(cells), 'value')} instead of {len(COLUMNS)}")
    time = datetime.fromisoformat(cells[0]).replace(tzinfo=UTC).timestamp()
    values = {name: _value(name, cell) for name, cell in zip(COLUMNS[1:], cells[1:], strict=True) if cell}
    return Condition(time=time, **values)  # pyright: ignore[reportArgumentType]


def _value(name: str, cell: str) -> float:
    value = int(cell) if name in _WHOLE else float(cell)
    if not (math.isfinite(value) and abs(value) < 1e12):
        raise ValueError(f"{name} is {cell[:20]}")
    if value < 0 and name not in ("skew_ppm", "route_ms"):
        raise ValueError(f"{name} is below 0")
    return value


def _line(row: Condition) -> str:
    when = datetime.fromtimestamp(row.time, UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
    cells = (_cell(value) for value in astuple(row)[1:])
    return ",".join([when, *cells]) + "\n"


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.{_DIGITS}g}"


def record_file(experiment: str, path: str) -> Path:
    """Return where the condition of a path of an experiment is kept by default: in the current folder, as results are."""
    return Path(f"{experiment}.{path}.conditions.csv")


def profiled_rates(path: Path) -> tuple[float | None, float | None]:
    """Return the median rates of a path in bit/s, there and back, from the file of its condition; None where not measured.

    Raises
    ------
    AnalysisError
        As for `read_conditions_of_path`, also if the file does not exist.
    """
    rows = read_conditions_of_path(path).rows
    known = ([row.up_mbps for row in rows], [row.down_mbps for row in rows])
    there, back = ([rate for rate in each if rate is not None] for each in known)
    return (median(there) * 1e6 if there else None, median(back) * 1e6 if back else None)


class ConditionFile:
    """A file that rows are added to, by one process at a time; made if it does not exist.

    Raises
    ------
    AnalysisError
        The file is of another kind, or damaged.
    TrialwiseError
        It is about another path, or rows of another length, or another process adds to it.
    StoreError
        It cannot be written.
    """

    def __init__(self, path: Path, about: About) -> None:
        self.path = path
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise not_written(path, error) from error
        try:
            self._lock()
            self.about = self._begun(about)
        except BaseException:
            os.close(self._descriptor)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def add(self, rows: Iterable[Condition]) -> int:
        """Add rows durably; return how many.

        Raises
        ------
        StoreError
            The file cannot be written, or is as large as is read.
        """
        lines = [_line(row) for row in rows]
        self._append("".join(lines).encode())
        return len(lines)

    def _lock(self) -> None:
        import fcntl  # absent on Windows, where no path is probed

        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TrialwiseError(
                f"{self.path}: another process adds to this file",
                hint="wait for it, or name another with --out",
            ) from None

    def _begun(self, about: About) -> About:
        """Return what the file is about; begin it if it is empty, and cut off a line that has no end."""
        if os.fstat(self._descriptor).st_size:
            self._mend()
        if not os.fstat(self._descriptor).st_size:
            self._append((about.line + ",".join(COLUMNS) + "\n").encode())
            return about
        found = read_conditions_of_path(self.path).about
        if (found.path, found.ends, found.every) != (about.path, about.ends, about.every):
            raise TrialwiseError(
                f"{self.path}: this file holds {found.every:g}-second rows of the path {found.path!r}"
                + ("" if found.ends == about.ends else ", whose ends were others"),
                hint="name another file with --out",
            )
        return found

    def _mend(self) -> None:
        """Cut off what follows the last end of a line of a file of this kind."""
        if os.pread(self._descriptor, len(MAGIC), 0) not in (MAGIC.encode(), b""):
            raise AnalysisError(
                f"{self.path}: this is no record of the condition of a path",
                hint="name another file with --out",
            )
        size = os.fstat(self._descriptor).st_size
        tail = os.pread(self._descriptor, 1 << 16, max(0, size - (1 << 16)))
        os.ftruncate(self._descriptor, size - len(tail) + tail.rfind(b"\n") + 1)

    def _append(self, content: bytes) -> None:
        size = os.fstat(self._descriptor).st_size
        if size + len(content) > MOST_BYTES:
            raise StoreError(f"{self.path}: the file is full", hint="go on in another one with --out")
        try:
            while content:
                size += (written := os.pwrite(self._descriptor, content, size))
                content = content[written:]
            os.fsync(self._descriptor)
        except OSError as error:
            raise not_written(self.path, error) from error
