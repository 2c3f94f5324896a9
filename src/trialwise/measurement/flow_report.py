"""Read what the programs of a flow report about themselves: JSON lines, in nanoseconds of CLOCK_MONOTONIC."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import numpy as np

from trialwise.errors import TrialError
from trialwise.measurement.frames import Frames
from trialwise.measurement.samples import Samples

_SERIES = {
    "rtt": ("rtt_ms", 1.0),
    "window": ("cwnd_bytes", 1.0),
    "delivery_rate": ("delivery_rate_bps", 1e-6),
}
"""Quantities that are series: the key in a line, and the factor to the quantity's unit."""

_LARGEST = 2**62
"""No time in nanoseconds, no rate and no count is larger."""

Report = Path | bytes
"""The file of a report, or its content."""
Line = Mapping[str, object]
ARRIVALS = "arrivals.jsonl"
"""The report of a receiver, in the folder of the sender's."""


def flow_series(report: Report, quantity: str, origin_ns: int) -> Samples:
    """Read the series of a quantity, timed in seconds since `origin_ns`.

    Raises
    ------
    TrialError
        The report is missing or lacks these numbers.
    """
    key, factor = _SERIES[quantity]
    found = [
        (_number(line, "time_ns"), _number(line, key) * factor)
        for line in _lines(report)
        if "time_ns" in line and line.get(key) is not None
    ]
    if not found:
        raise TrialError(
            f"the sender's report has no {key}; the schemes of Trialwise's own senders report it"
        )
    times, values = np.array(found).T
    return Samples(values, (times - origin_ns) / 1e9)


def retransmits(report: Report) -> float:
    """Return the number of packets that the sender retransmitted; raise TrialError if it does not report that.

    The summary at the end covers all connections; each line before it covers its own.
    """
    found = (line.get("summary", line) for line in _lines(report))
    lines = [cast("Line", line) for line in found if isinstance(line, dict)]
    counts = [_number(line, "retransmits") for line in lines if line.get("retransmits") is not None]
    if not counts:
        raise TrialError("the sender's report has no retransmits")
    return counts[-1]


def completions(report: Report) -> Samples:
    """Return the completion time of each flow of the load, in seconds, by the time of its end; raise TrialError if none ended."""
    found = [
        (_number(line, "end_ns"), (_number(line, "end_ns") - _number(line, "start_ns")) / 1e9)
        for line in _lines(report)
        if "end_ns" in line
    ]
    if not found:
        raise TrialError(
            "the sender's report has no completed flow", hint="use a load that ends, such as bytes:10MB"
        )
    ends, seconds = np.array(found).T
    return Samples(seconds, (ends - ends.min()) / 1e9)


def frames_of(report: Report, origin_ns: int) -> Frames:
    """Read the frames of a load of media, timed in seconds since `origin_ns`.

    When they had arrived stands in `arrivals.jsonl` beside the sender's report, which the receiver writes, or in the report itself if
    the flow was simulated.

    Raises
    ------
    TrialError
        A report is missing or has no frames.
    """
    arrivals = report if isinstance(report, bytes) else report.with_name(ARRIVALS)
    sent = {
        int(_number(line, "frame")): line
        for line in _lines(report, holding='"captured_ns"')
        if "captured_ns" in line
    }
    if not sent:
        raise TrialError("the sender's report has no frames", hint="use a load of media with a UDP scheme")
    came = {
        int(_number(line, "frame")): _number(line, "arrived_ns")
        for line in _lines(arrivals, "receiver", '"arrived_ns"')
        if "arrived_ns" in line
    }
    lines = [sent[number] for number in sorted(sent)]
    targets = [line.get("target_bps") for line in lines]
    arrived = [came.get(number, np.nan) for number in sorted(sent)]
    return Frames(
        captured=(np.array([_number(line, "captured_ns") for line in lines]) - origin_ns) / 1e9,
        size=np.array([_number(line, "size_bytes") for line in lines], dtype=np.int64),
        target=np.array(
            [
                np.nan if each is None else _number(line, "target_bps")
                for each, line in zip(targets, lines, strict=True)
            ]
        ),
        key=np.array([line.get("is_key") is True for line in lines]),
        arrived=(np.array(arrived) - origin_ns) / 1e9,
    )


def _lines(report: Report, end: str = "sender", holding: str = "") -> Iterator[Line]:
    """Yield the objects of a report whose lines hold a text, without a truncated last line."""
    try:
        text = report if isinstance(report, bytes) else report.read_bytes()
    except OSError as error:
        raise TrialError(f"the {end} wrote no report: {error.strerror}") from error
    for line in text.decode(errors="replace").splitlines():
        if holding not in line:
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield cast("Line", found)


def _number(line: Line, key: str) -> float:
    value = line.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TrialError(f"the sender's report has {str(value)[:80]!r} as {key}, which is not a number")
    if not -_LARGEST <= value <= _LARGEST:
        raise TrialError(f"the sender's report has {str(value)[:80]} as {key}, which nothing measured has")
    return float(value)
