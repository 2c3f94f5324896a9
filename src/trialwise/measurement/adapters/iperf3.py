"""Parse iperf3's output into rows: text, ``--json`` (one document at the end) or ``--json-stream`` (one line per event)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trialwise.measurement.adapters.fields import MisfitError
from trialwise.measurement.adapters.lines import Row

_FIELDS = {
    "stream": "int64",
    "role": "string",
    "start": "double",
    "seconds": "double",
    "bytes": "int64",
    "bits_per_second": "double",
    "retransmits": "double",
    "congestion_window": "double",
    "rtt_ms": "double",
    "jitter_ms": "double",
    "lost_packets": "double",
    "packets": "double",
    "omitted": "bool",
}
"""Fields of every point; NaN where iperf3 reports nothing. The stream number of sums over streams is -1."""
_LINE = re.compile(
    r"\[ *(?P<stream>\d+|SUM)\](?:\[(?P<role>[TR]X)-[CS]\])? +(?P<start>[\d.]+)- *(?P<end>[\d.]+) +sec +"
    r"(?P<bytes>[\d.]+ [KMGT]?)Bytes +(?P<rate>[\d.]+ [KMGT]?)(?P<unit>bits|Bytes)/sec(?P<rest>.*)"
)
_TCP = re.compile(r" +(?P<retransmits>\d+)(?: +(?P<window>[\d.]+ [KMGT]?)Bytes)?")
_UDP = re.compile(r" +(?P<jitter>[\d.]+) ms +(?P<lost>-?\d+)/(?P<packets>\d+)")
_COUNT = re.compile(r" +(?P<packets>\d+)")
_BINARY = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_DECIMAL = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SUMS_AT_THE_END = {
    "sum_sent": "sender",
    "sum_received": "receiver",
    "sum_sent_bidir_reverse": "reverse_sender",
    "sum_received_bidir_reverse": "reverse_receiver",
}
"""Roles of the sums in iperf3's JSON; those of the other direction appear with --bidir."""
_MAX_DOCUMENT = 256 << 20
"""Maximum length of a document, in characters."""


class Iperf3Reader:
    """Reads the intervals of each stream, of their sum (``_sum``), and the final totals (``_end``, ``_end_sum``)."""

    types: Mapping[str, Mapping[str, str]] = dict.fromkeys(("", "_sum", "_end", "_end_sum"), _FIELDS)

    def __init__(self) -> None:
        self._counts_packets = False
        self._document: list[str] | None = None
        self._length = 0

    def read(self, line: str) -> Sequence[Row]:
        """Read one line."""
        try:
            return self._read(line.rstrip())
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise MisfitError(f"not as iperf3 prints: {error}") from error

    def _read(self, line: str) -> Sequence[Row]:
        if self._document is not None or line == "{":
            return self._read_document(line)
        if line.startswith('{"event"'):
            return _of_event(json.loads(line))
        if "Interval" in line:
            self._counts_packets = "Datagrams" in line
        found = _LINE.search(line)
        return () if found is None else (_of_text(found, counts_packets=self._counts_packets),)

    def _read_document(self, line: str) -> Sequence[Row]:
        """Collect a line of a document; on its last line, return all rows, at the times given in the document."""
        lines = self._document = self._document or []
        lines.append(line)
        self._length += len(line)
        if line != "}" and self._length <= _MAX_DOCUMENT:
            return ()
        self._document, self._length = None, 0
        if line != "}":
            raise ValueError(f"a document of more than {_MAX_DOCUMENT} characters")
        document = json.loads("\n".join(lines))
        began = document.get("start", {}).get("timestamp", {}).get("timesecs")
        intervals = [
            row for interval in document.get("intervals", ()) for row in _of_interval(interval, began)
        ]
        return [*intervals, *_of_end(document.get("end", {}), began)]


def _of_text(found: re.Match[str], *, counts_packets: bool) -> Row:
    rest = found["rest"]
    start = float(found["start"])
    cells: dict[str, object] = {
        "stream": -1 if found["stream"] == "SUM" else int(found["stream"]),
        "role": found["role"] or "",
        "start": start,
        "seconds": round(float(found["end"]) - start, 6),
        "bytes": round(_scaled(found["bytes"], _BINARY)),
        "bits_per_second": _rate(found["rate"], found["unit"]),
        "omitted": "(omitted)" in rest,
    }
    if datagrams := _UDP.match(rest):
        cells |= {"jitter_ms": float(datagrams["jitter"])}
        cells |= {"lost_packets": float(datagrams["lost"]), "packets": float(datagrams["packets"])}
    elif counts_packets and (count := _COUNT.match(rest)):
        cells["packets"] = float(count["packets"])
    elif segments := _TCP.match(rest):
        cells["retransmits"] = float(segments["retransmits"])
        cells["congestion_window"] = _scaled(segments["window"], _BINARY) if segments["window"] else None
    suffix = "_sum" if found["stream"] == "SUM" else ""
    words = rest.split()
    if words and words[-1] in {"sender", "receiver"}:
        cells["role"], suffix = words[-1], f"_end{suffix}"
    return Row(_whole(cells), suffix)


def _scaled(text: str, prefixes: Mapping[str, float]) -> float:
    number, _, prefix = text.partition(" ")
    return float(number) * prefixes[prefix]


def _rate(text: str, unit: str) -> float:
    """Return bits per second; iperf3's prefixes are binary for bytes."""
    bits = _scaled(text, _DECIMAL) if unit == "bits" else 8 * _scaled(text, _BINARY)
    return float(round(bits))


def _whole(cells: Mapping[str, object]) -> dict[str, object]:
    """Return all fields, with None for those not reported."""
    return {name: cells.get(name) for name in _FIELDS}


def _of_event(event: Mapping[str, Any]) -> list[Row]:
    kind, data = event.get("event"), event.get("data", {})
    if kind == "interval":
        return list(_of_interval(data, None))
    return list(_of_end(data, None)) if kind == "end" else []


def _of_interval(interval: Mapping[str, Any], began: float | None) -> Iterator[Row]:
    streams = interval.get("streams", ())
    for stream in streams:
        yield _of_json(stream, "", _role(stream), began)
    if len(streams) > 1:
        for name in ("sum", "sum_bidir_reverse"):
            if name in interval:
                yield _of_json(interval[name], "_sum", _role(interval[name]), began)


def _role(cells: Mapping[str, Any]) -> str:
    return "" if "sender" not in cells else "TX" if cells["sender"] else "RX"


def _of_end(end: Mapping[str, Any], began: float | None) -> Iterator[Row]:
    streams = end.get("streams", ())
    for stream in streams:
        for role, cells in stream.items():
            yield _of_json(cells, "_end", role, began)
    if len(streams) > 1:
        for name, role in _SUMS_AT_THE_END.items():
            if name in end:
                yield _of_json(end[name], "_end_sum", role, began)


def _of_json(said: Mapping[str, Any], suffix: str, role: str, began: float | None) -> Row:
    cells = dict(said) | {"stream": said.get("socket", -1), "role": role}
    cells |= {"omitted": said.get("omitted", False), "bytes": round(said.get("bytes", 0))}
    cells["congestion_window"] = said.get("snd_cwnd")
    rtt = said.get("rtt", said.get("mean_rtt"))
    cells["rtt_ms"] = None if rtt is None else rtt / 1000
    return Row(_whole(cells), suffix, None if began is None else began + said.get("end", 0))
