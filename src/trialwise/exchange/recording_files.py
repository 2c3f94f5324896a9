"""Recordings of a path as files (docs/reference/path-recording.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np

from trialwise import _core
from trialwise.errors import AnalysisError
from trialwise.exchange.trace_files import LARGEST
from trialwise.foreign_files import read_foreign
from trialwise.measurement.packets import DIRECTIONS
from trialwise.measurement.recordings import DELAY, LOSS, RATE, STATE, STATES, Recording, Steps, Way
from trialwise.whole_files import whole_file

MAGIC = "# trialwise.path/1"
COLUMNS = ("time_ms", "direction", RATE, "opportunities", DELAY, LOSS, STATE)


def is_recording(text: str) -> bool:
    """Return whether a file that begins so is a recording of a path, of whatever version."""
    return text.startswith(MAGIC.removesuffix("1"))


def read_recording(path: Path) -> Recording:
    """Read a recording.

    Raises
    ------
    AnalysisError
        The file cannot be read, or is no recording; the message names the line and what to write.
    """
    content = read_foreign(path, LARGEST)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise AnalysisError(f"{path}: line {line} of the recording is not text") from error
    return parse_recording(text, str(path))


def parse_recording(text: str, name: str) -> Recording:
    """Parse the text of a recording; `name` is for messages.

    Raises
    ------
    AnalysisError
        It is no recording, by the core's own reader, or its header is no JSON object.
    """
    try:
        _core.check_recording(text)
    except ValueError as error:
        problem, _, hint = str(error).partition("; ")
        raise AnalysisError(f"{name}: {problem}", hint=hint or None) from error
    lines = text.splitlines()
    columns = [column.strip() for column in lines[1].split(",")]
    rows = [dict(zip(columns, line.split(","), strict=False)) for line in lines[2:]]
    ways = {way: [row for row in rows if row["direction"].strip() == way] for way in DIRECTIONS}
    length = max((float(row["time_ms"]) for row in rows), default=0.0)
    return Recording(_way(ways["uplink"]), _way(ways["downlink"]), length, _header(lines[0], name))


def _header(line: str, name: str) -> dict[str, Any]:
    text = line.removeprefix(MAGIC).strip() or "{}"
    try:
        header: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AnalysisError(
            f"{name}: line 1 of the recording has no JSON behind `{MAGIC}`: {error}"
        ) from error
    found = cast("dict[str, Any]", header) if isinstance(header, dict) else {"notes": None}
    if not isinstance(found.get("notes", []), list):
        raise AnalysisError(f"{name}: line 1 of the recording: the JSON is no object with notes as a list")
    return found


def _way(rows: list[dict[str, str]]) -> Way:
    steps: dict[str, Steps] = {}
    for column in (RATE, DELAY, LOSS, STATE):
        cells = [(row["time_ms"], row.get(column, "").strip()) for row in rows]
        there = [(float(time), _value(column, text)) for time, text in cells if text]
        if there:
            times, values = zip(*there, strict=True)
            steps[column] = Steps(np.array(times), np.array(values))
    counted = [(float(row["time_ms"]), row.get("opportunities", "").strip()) for row in rows]
    counts = [(int(time), int(text)) for time, text in counted if text]
    if not sum(count for _, count in counts):
        return Way(steps)
    times, numbers = zip(*counts, strict=True)
    return Way(steps, np.repeat(np.array(times, dtype=np.int64), numbers))


def _value(column: str, text: str) -> float:
    return float(STATES.index(text)) if column == STATE else float(text)


def recording_text(recording: Recording) -> str:
    """Return the text of a recording's file."""
    header = json.dumps(recording.header, ensure_ascii=False, sort_keys=True)
    rows = sorted(
        (
            row
            for number, way in enumerate((recording.uplink, recording.downlink))
            for row in _rows(way, number)
        ),
        key=lambda row: row[:2],
    )
    end = (recording.length, 0)
    if not any(time >= recording.length for time, *_ in rows):
        number = 0 if recording.uplink.columns else 1
        rows.append((end[0], number, {}))
    lines = (_line(time, number, cells) for time, number, cells in rows)
    return "\n".join([f"{MAGIC} {header}", ",".join(COLUMNS), *lines, ""])


def _rows(way: Way, number: int) -> Iterator[tuple[float, int, dict[str, str]]]:
    cells: dict[float, dict[str, str]] = {}
    for column, steps in way.steps.items():
        for time, value in zip(steps.times.tolist(), steps.values.tolist(), strict=True):
            cells.setdefault(time, {})[column] = _text(column, value)
    if way.opportunities is not None:
        times, counts = np.unique(way.opportunities, return_counts=True)
        for time, count in zip(times.tolist(), counts.tolist(), strict=True):
            cells.setdefault(float(time), {})["opportunities"] = str(count)
    yield from ((time, number, found) for time, found in cells.items())


def _text(column: str, value: float) -> str:
    if column == STATE:
        return STATES[int(value)]
    return f"{value:.9g}" if column == LOSS else str(round(value))


def _line(time: float, number: int, cells: dict[str, str]) -> str:
    first = [f"{time:.6f}".rstrip("0").rstrip("."), DIRECTIONS[number]]
    return ",".join([*first, *(cells.get(column, "") for column in COLUMNS[2:])])


def write_recording(path: Path, recording: Recording) -> None:
    """Write a recording.

    Raises
    ------
    AnalysisError
        It is none that can be replayed, such as with rate 0 throughout.
    StoreError
        The file cannot be written.
    """
    text = recording_text(recording)
    parse_recording(text, "the recording")
    with whole_file(path) as aside:
        aside.write_text(text, encoding="utf-8")


def described(names: Iterable[Path], origin: str, **more: object) -> dict[str, Any]:
    """Return the header of a recording made from files: the origin, and the SHA-256 of each file by name."""
    from hashlib import sha256

    sums = {path.name: sha256(read_foreign(path, LARGEST)).hexdigest() for path in names}
    return {"origin": origin, "source_sha256": sums, "mtu": 1500, **more}
