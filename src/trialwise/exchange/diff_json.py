"""The JSON form of how two experiments, or an experiment and a machine, differ."""

from __future__ import annotations

from trialwise.analysis.diff import Diff
from trialwise.exchange.plain import Json, formatted, formatted_schema

FORMAT = "trialwise.diff/1"


def diff_document(found: Diff) -> dict[str, Json]:
    """Return differences as a JSON document."""
    return formatted(FORMAT, found)


def diff_schema() -> dict[str, Json]:
    """Return the JSON Schema of differences, from their dataclasses."""
    return formatted_schema(FORMAT, Diff)
