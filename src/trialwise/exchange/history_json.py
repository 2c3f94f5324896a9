"""The JSON form of a history (docs/reference/history-json.md): series with their points and changes."""

from __future__ import annotations

from trialwise.analysis.history import History
from trialwise.exchange.plain import Json, formatted, formatted_schema

FORMAT = "trialwise.history/1"


def history_document(found: History) -> dict[str, Json]:
    """Return a history as a JSON document."""
    return formatted(FORMAT, found)


def history_schema() -> dict[str, Json]:
    """Return the JSON Schema of a history, from its dataclasses."""
    return formatted_schema(FORMAT, History)
