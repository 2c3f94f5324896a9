"""OML's stream protocol with its text encoding, as a file: one sender is one trial, and the tuples of a measurement point are samples.

The header, the schemas and late definitions on stream 0 are those of OMSP 1 to 5. Nothing tells units or directions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import number
from trialwise.readers.records import Inside
from trialwise.readers.trial import Trial, mean

_SIGNATURE = re.compile(r"\Aprotocol: *[1-5]\s*$", re.MULTILINE)
_SCHEMA = re.compile(r"^schema: *(\d{1,9}) ", re.MULTILINE)
_NUMBERS = frozenset(
    ("int32", "uint32", "int64", "uint64", "double", "int", "integer", "long", "real", "float")
)
_FACTS = ("domain", "experiment-id", "sender-id", "app-name")
_METADATA = "0"


@dataclass(slots=True)
class _Stream:
    """A measurement point: the places and names of its numbers, and their values with the times of the tuples."""

    name: str
    numbers: Sequence[tuple[int, str]]
    values: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    times: dict[str, list[float]] = field(default_factory=dict[str, list[float]])


def _fits(content: Content) -> bool:
    return (
        not content.is_binary
        and _SIGNATURE.search(content.head) is not None
        and _SCHEMA.search(content.head) is not None
    )


def _read(content: Content, found: Found) -> None:
    head, _, body = content.text.partition("\n\n")
    lines = [line.partition(":") for line in head.split("\n")]
    told = {key: value.strip() for key, _, value in lines if key != "schema"}
    if told.get("content") == "binary":
        raise found.wrong("has the binary encoding of OML, which is not read from a file")
    found.facts |= {key: told[key] for key in _FACTS if told.get(key)}
    streams: dict[str, _Stream] = {}
    for key, _, value in lines:
        if key == "schema":
            _define(streams, value)
    began = number(told.get("start-time", told.get("start_time", "")))
    whole = body[: body.rfind("\n") + 1]
    for row in whole.split("\n"):
        _take(streams, row.split("\t"), began or 0.0)
    if len(whole) < len(body):
        found.note("partial", what="the last row has no end")
    _add_all(found, streams, began)


def _define(streams: dict[str, _Stream], schema: str) -> None:
    """Take a definition: its index, name, and fields with their types; metadata and the client's own counters are no results."""
    index, *words = schema.split() or [""]
    if not words:
        return
    fields = [field.partition(":") for field in words[1:]]
    numbers = [(place, name) for place, (name, _, kind) in enumerate(fields) if kind in _NUMBERS]
    streams[index] = _Stream(words[0], [] if words[0].startswith("_") else numbers)


def _take(streams: dict[str, _Stream], cells: list[str], began: float) -> None:
    """Take a row: time since the start, stream, number, values; on stream 0 it may define another stream."""
    if len(cells) < 4:
        return
    if cells[1] == _METADATA and cells[3:5] == [".", "schema"] and len(cells) > 5 and cells[5].strip():
        _define(streams, cells[5])
    stream, moment = streams.get(cells[1]), number(cells[0])
    if stream is None or moment is None:
        return
    for place, name in stream.numbers:
        value = number(cells[place + 3]) if place + 3 < len(cells) else None
        if value is not None:
            stream.values.setdefault(name, []).append(value)
            stream.times.setdefault(name, []).append(began + moment)


def _add_all(found: Found, streams: dict[str, _Stream], began: float | None) -> None:
    trial = Trial(found=found, levels={"host": found.facts.get("sender-id", "")}, start=began)
    for stream in streams.values():
        for _, name in stream.numbers:
            values = stream.values.get(name, [])
            reason = "" if values else "there is no tuple"
            samples = Inside("tuple", values, stream.times[name]) if values else None
            trial.add(f"{stream.name}.{name}", mean(values), "", reason=reason, samples=samples)
            found.gather("unit_unknown", f"{stream.name}.{name}")


READERS = (
    Reader(
        name="oml-text",
        tool="OML",
        how="`--oml-collect file:FILE --oml-text`",
        replicated="file",
        unit="file",
        fits=_fits,
        read=_read,
    ),
)
