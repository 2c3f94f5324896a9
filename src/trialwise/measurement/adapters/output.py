"""Record samples from a program's lines: the first rows fix the types, and what does not fit is counted."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trialwise.measurement.adapters.child import Child, pass_on
from trialwise.measurement.adapters.fields import Cells, MisfitError, convert, infer
from trialwise.measurement.adapters.lines import Reader, Row
from trialwise.measurement.points import Client, Point

FIRST_ROWS = 10
"""Number of rows from which types are inferred,"""
FIRST_SECONDS = 1.0
"""unless this time, in seconds, passes first."""
MAX_LINE = 1 << 20
"""Maximum length of a line, in bytes; longer ones are passed on and counted."""


@dataclass(slots=True)
class LineCounts:
    """Counts of lines by what became of them."""

    lines: int = 0
    samples: int = 0
    others: int = 0
    misfits: int = 0
    first_misfit: str = ""
    left_out: tuple[str, ...] = ()
    """Fields that first appeared after the first rows."""

    def misfit(self, line: int, reason: str) -> None:
        """Count a line that does not fit, and keep the first one."""
        self.misfits += 1
        self.first_misfit = self.first_misfit or f"line {line}: {reason}"


class LineRecorder:
    """Injects rows from lines into points of a client.

    Parameters
    ----------
    client
        Owner of the points.
    name
        Name of the point; some readers add further points, whose names begin with it.
    reader
        Parses lines into rows.
    types
        Types of fields that are not to be inferred.
    """

    def __init__(self, client: Client, name: str, reader: Reader, types: Mapping[str, str]) -> None:
        self._client = client
        self._name = name
        self._reader = reader
        self._given = types
        self._points: dict[str, Point] = {}
        self._waiting: list[tuple[int, Row, float]] = []
        self._since = 0.0
        self.counts = LineCounts()

    @property
    def patience(self) -> float | None:
        """Seconds until the rows that wait for their types are injected."""
        return max(0.0, self._since + FIRST_SECONDS - clock.monotonic()) if self._waiting else None

    def line(self, line: str, time: float) -> None:
        """Take a line printed at `time`, in seconds since 1970."""
        self.counts.lines += 1
        try:
            rows = self._reader.read(line)
        except MisfitError as error:
            self.counts.misfit(self.counts.lines, str(error))
            return
        if not rows:
            self.counts.others += 1
        for row in rows:
            self._take(self.counts.lines, row, row.time or time)

    def overlong(self) -> None:
        """Count a line that was too long to keep."""
        self.counts.lines += 1
        self.counts.misfit(self.counts.lines, f"longer than {MAX_LINE} bytes")

    def settle(self) -> None:
        """Fix the types from the rows so far, and inject those."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._declare("", infer([row.cells for _, row, _ in waiting], self._given))
            for number, row, time in waiting:
                self._inject(number, row, time)

    def end(self) -> None:
        """Inject the waiting rows, and report the line counts to the collector."""
        self.settle()
        counts = self.counts
        said: dict[str, object] = {
            "lines": counts.lines,
            "other_lines": counts.others,
            "misfits": counts.misfits,
        }
        if counts.first_misfit:
            said["first_misfit"] = counts.first_misfit
        if counts.left_out:
            said["left_out"] = ", ".join(counts.left_out)
        for key, value in said.items():
            self._client.metadata(f"{self._name}_{key}", value)

    def _take(self, number: int, row: Row, time: float) -> None:
        if row.suffix not in self._points and row.suffix in self._reader.types:
            self._declare(row.suffix, self._reader.types[row.suffix])
        if row.suffix in self._points:
            self._inject(number, row, time)
            return
        if not self._waiting:
            self._since = clock.monotonic()
        self._waiting.append((number, row, time))
        if len(self._waiting) >= FIRST_ROWS:
            self.settle()

    def _declare(self, suffix: str, types: Mapping[str, str]) -> None:
        self._points[suffix] = self._client.point(self._name + suffix, types)

    def _inject(self, number: int, row: Row, time: float) -> None:
        point = self._points[row.suffix]
        try:
            values = _values(point.fields, row.cells)
        except MisfitError as error:
            self.counts.misfit(number, str(error))
            return
        later = [name for name in row.cells if name not in point.fields and name not in self.counts.left_out]
        self.counts.left_out += tuple(later)
        # The client itself counts and reports what it drops.
        self.counts.samples += point.inject_at(time, *values)


def _values(fields: Mapping[str, str], cells: Cells) -> Sequence[object]:
    values: list[object] = []
    for name, kind in fields.items():
        try:
            values.append(convert(cells.get(name), kind))
        except MisfitError as error:
            raise MisfitError(f"field {name}: {error}") from error
    return values


class _Lines:
    """Splits output into lines."""

    def __init__(self, recorder: LineRecorder) -> None:
        self._recorder = recorder
        self._begun = bytearray()
        self._too_long = False

    def take(self, chunk: bytes, time: float) -> None:
        *ended, begun = chunk.split(b"\n")
        for line in ended:
            self._begun += line
            self.flush(time)
        self._begun += begun
        if len(self._begun) > MAX_LINE:
            self._too_long = True
            self._begun.clear()

    def flush(self, time: float) -> None:
        if self._too_long:
            self._recorder.overlong()
        else:
            self._recorder.line(self._begun.decode(errors="replace").rstrip("\r"), time)
        self._too_long = False
        self._begun.clear()

    def end(self, time: float) -> None:
        if self._begun or self._too_long:
            self.flush(time)


def record(child: Child, recorder: LineRecorder) -> int:
    """Pass a command's output on, feeding each line to the recorder; return the command's exit code."""
    lines = _Lines(recorder)
    for chunk in child.chunks(lambda: recorder.patience):
        now = clock.time()
        if not chunk:
            recorder.settle()
            continue
        if not pass_on(chunk):
            child.close()
        lines.take(chunk, now)
    lines.end(clock.time())
    recorder.end()
    return child.wait()
