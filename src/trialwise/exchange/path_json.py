"""The JSON forms of traces and of packets' metrics (docs/reference/path-json.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trialwise.exchange.plain import Json, plain, schema_of
from trialwise.measurement.opportunities import TraceSummary
from trialwise.measurement.path_statistics import PathStatistics
from trialwise.measurement.recordings import RecordingSummary, WayComparison

TRACE_FORMAT = "trialwise.trace/1"
RECORDING_FORMAT = "trialwise.recording/1"
RECORDING_COMPARISON_FORMAT = "trialwise.recording-comparison/1"
PACKETS_FORMAT = "trialwise.packets/1"


def trace_document(file: str, found: TraceSummary) -> dict[str, Json]:
    """Return the summary of a trace as a JSON document."""
    return {"format": TRACE_FORMAT, "file": file, **_entries(found)}


def recording_document(file: str, found: RecordingSummary) -> dict[str, Json]:
    """Return the summary of a recording of a path as a JSON document."""
    return {"format": RECORDING_FORMAT, "file": file, **_entries(found)}


def recording_comparison_document(
    one: str, other: str, found: Mapping[str, WayComparison]
) -> dict[str, Json]:
    """Return the comparison of two recordings as a JSON document."""
    return {
        "format": RECORDING_COMPARISON_FORMAT,
        "one": one,
        "other": other,
        **_entries(WaysCompared(found)),
    }


@dataclass(frozen=True, slots=True)
class WaysCompared:
    """The comparison of each direction that both recordings describe, by its name."""

    ways: Mapping[str, WayComparison]


def packets_document(found: PathStatistics) -> dict[str, Json]:
    """Return the metrics of a packet file as a JSON document; NaN is null."""
    return {"format": PACKETS_FORMAT, **_entries(found)}


def _entries(record: object) -> dict[str, Json]:
    content = plain(record)
    if not isinstance(content, dict):
        raise TypeError("a record is an object")
    return content


def trace_schema() -> dict[str, Json]:
    """Return the JSON Schema of `trace_document`."""
    return _schema(TraceSummary, TRACE_FORMAT, "file")


def recording_schema() -> dict[str, Json]:
    """Return the JSON Schema of `recording_document`."""
    return _schema(RecordingSummary, RECORDING_FORMAT, "file")


def recording_comparison_schema() -> dict[str, Json]:
    """Return the JSON Schema of `recording_comparison_document`."""
    return _schema(WaysCompared, RECORDING_COMPARISON_FORMAT, "one", "other")


def packets_schema() -> dict[str, Json]:
    """Return the JSON Schema of `packets_document`."""
    return _schema(PathStatistics, PACKETS_FORMAT)


def _schema(record: type, title: str, *texts: str) -> dict[str, Json]:
    schema = schema_of(record)
    properties, required = schema["properties"], schema["required"]
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise TypeError("the schema of a record is an object")
    added: dict[str, Json] = {"format": {"const": title}, **{name: {"type": "string"} for name in texts}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **schema,
        "properties": {**added, **properties},
        "required": [*added, *required],
    }
