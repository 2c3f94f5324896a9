"""What the programs of a flow report at both ends of a real path, in the time of the first end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from trialwise.arrays import Array, Integers
from trialwise.execution.ends.records import EndRecord
from trialwise.measurement.joining import Joined
from trialwise.trials.path_plan import FlowPlan

_TIMES = ("time_ns", "start_ns", "end_ns", "captured_ns", "arrived_ns")
_LATEST = 2**62
_Clock = Callable[[Integers], Array]
"""From nanoseconds of an end's CLOCK_MONOTONIC to those of the first end's."""


def report_of(plan: FlowPlan, records: tuple[EndRecord, EndRecord], joined: Joined) -> bytes:
    """Return the lines of a flow's sender, and of its receiver when frames arrived there, in nanoseconds of the first end's clock."""
    place = 0 if plan.flow.direction == "uplink" else 1
    clocks = [_clock_of(at, records, joined) for at in (0, 1)]

    def lines(at: int, name: str) -> bytes:
        return records[at].files.get(f"flow-{plan.number}/{name}", b"")

    sent = objects_of(lines(place, "report.jsonl"))
    came = [
        {name: line[name] for name in ("frame", "arrived_ns") if name in line}
        for line in objects_of(lines(1 - place, "arrivals.jsonl"))
        if "arrived_ns" in line
    ]
    return _written(_moved(sent, clocks[place]) + _moved(came, clocks[1 - place]))


def _clock_of(place: int, records: tuple[EndRecord, EndRecord], joined: Joined) -> _Clock:
    """Return the clock of an end: its programs have CLOCK_MONOTONIC, which is slewed, its packets CLOCK_MONOTONIC_RAW."""
    head, first = records[place].head, records[0].head
    monotonic, raw = (
        [int(head[began]), int(head["ended"][at])] for at, began in enumerate(("monotonic", "began"))
    )
    pace = (raw[1] - raw[0]) / max(monotonic[1] - monotonic[0], 1)

    def moved(times: Integers) -> Array:
        own = raw[0] + np.rint((times - monotonic[0]) * pace).astype(np.int64)
        since = (own - joined.clocks.origin) / 1e9 if place == 0 else joined.second(own)
        return int(first["monotonic"]) + np.rint(since * 1e9) + (joined.clocks.origin - int(first["began"]))

    return moved


def objects_of(content: bytes) -> list[dict[str, Any]]:
    """Return the objects of JSON lines; what is none is left out, as the last line may be, which was cut."""
    found: list[dict[str, Any]] = []
    for line in content.splitlines():
        try:
            one = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(one, dict):
            found.append(cast("dict[str, Any]", one))
    return found


def _moved(lines: list[dict[str, Any]], clock: _Clock) -> list[Mapping[str, Any]]:
    """Return the lines with their times on another clock."""
    places = [(at, name) for at, line in enumerate(lines) for name in _TIMES if _is_time(line.get(name))]
    if places:
        times = clock(np.array([lines[at][name] for at, name in places], dtype=np.int64))
        for (at, name), time in zip(places, times, strict=True):
            lines[at][name] = int(time)
    return list(lines)


def _is_time(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LATEST


def _written(lines: list[Mapping[str, Any]]) -> bytes:
    return b"\n".join(json.dumps(line).encode() for line in lines)
