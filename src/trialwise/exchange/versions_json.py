"""The JSON form of a comparison of two versions (docs/how-to/gate-a-change.md)."""

from __future__ import annotations

from trialwise.analysis.versions.results import VersionsResult
from trialwise.exchange.plain import Json, formatted, formatted_schema

FORMAT = "trialwise.ab/1"


def versions_document(found: VersionsResult) -> dict[str, Json]:
    """Return a comparison as a JSON document; its key `format` names the format and its version."""
    return formatted(FORMAT, found)


def versions_schema() -> dict[str, Json]:
    """Return the JSON Schema of a comparison, from its dataclasses."""
    return formatted_schema(FORMAT, VersionsResult)
