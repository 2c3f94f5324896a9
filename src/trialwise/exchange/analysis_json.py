"""The JSON form of an analysis (docs/reference/analysis-json.md); `FORMAT` counts its versions."""

from __future__ import annotations

from trialwise.analysis.results import Analysis
from trialwise.exchange.plain import Json, plain, schema_of

FORMAT = "trialwise.analysis/1"


def analysis_document(analysis: Analysis) -> dict[str, Json]:
    """Return an analysis as a JSON document: every number with its n, level and method beside it; NaN and infinities are null."""
    content = plain(analysis)
    if not isinstance(content, dict):
        raise TypeError("an analysis is an object")
    return {"format": FORMAT, **content}


def analysis_schema() -> dict[str, Json]:
    """Return the JSON Schema of `analysis_document`, from the dataclasses; `schemas/analysis.json` holds a copy."""
    schema = schema_of(Analysis)
    properties, required = schema["properties"], schema["required"]
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise TypeError("the schema of a record is an object")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": FORMAT,
        **schema,
        "properties": {"format": {"const": FORMAT}, **properties},
        "required": ["format", *required],
    }
