"""The JSON and CSV forms of an observation (docs/reference/observe-json.md)."""

from __future__ import annotations

from trialwise.analysis.observing.results import FORMAT, Observation, ObservedRow
from trialwise.exchange.csv_text import csv_text
from trialwise.exchange.plain import Json, plain, schema_of

COLUMNS = tuple(ObservedRow.__dataclass_fields__)


def observe_document(found: Observation) -> dict[str, Json]:
    """Return an observation as a JSON document; its key `format` names the format and its version."""
    content = plain(found)
    if not isinstance(content, dict):
        raise TypeError("a record is an object")
    return content


def observe_schema() -> dict[str, Json]:
    """Return the JSON Schema of an observation, from its dataclasses."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": FORMAT,
        **schema_of(Observation),
    }


def observe_csv(found: Observation) -> str:
    """Return a row for each flavour, load and metric; the load's factors have columns of their own, `load.NAME`."""
    loads = list(dict.fromkeys(name for row in found.rows for name in row.load))
    names = [name for name in COLUMNS if name != "load"]
    rows = (
        [*(plain(getattr(row, name)) for name in names), *(row.load.get(name) for name in loads)]
        for row in found.rows
    )
    return csv_text([*names, *(f"load.{name}" for name in loads)], rows)
