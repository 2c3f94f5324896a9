"""The JSON form of an analysis (docs/reference/analysis-json.md); `FORMAT` counts its versions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from functools import partial

from trialwise.analysis.results import Analysis
from trialwise.exchange.json_pieces import Marks
from trialwise.exchange.plain import Json, plain, schema_of
from trialwise.exchange.trial_texts import trial_texts

FORMAT = "trialwise.analysis/1"


def analysis_document(analysis: Analysis) -> dict[str, Json]:
    """Return an analysis as a JSON document: every number with its n, level and method beside it; NaN and infinities are null."""
    content = {each.name: plain(getattr(analysis, each.name)) for each in fields(analysis)}
    del content["further"]
    return {"format": FORMAT, **content, **{name: plain(each) for name, each in analysis.further.items()}}


def analysis_texts(analysis: Analysis) -> Iterator[str]:
    """Yield the text of `analysis_document` in pieces, without an object for each trial."""
    marks = Marks()
    metrics = [
        {
            each.name: marks.add(partial(trial_texts, found.trials))
            if each.name == "trials"
            else plain(getattr(found, each.name))
            for each in fields(found)
        }
        for found in analysis.metrics
    ]
    whole = analysis_document(replace(analysis, metrics=()))
    return marks.texts({**whole, "metrics": metrics})


def analysis_schema() -> dict[str, Json]:
    """Return the JSON Schema of `analysis_document`, from the dataclasses; `schemas/analysis.json` holds a copy.

    It does not cover what kinds from other packages add.
    """
    schema = schema_of(Analysis)
    properties, required = schema["properties"], schema["required"]
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise TypeError("the schema of a record is an object")
    del properties["further"]
    required.remove("further")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": FORMAT,
        **schema,
        "properties": {"format": {"const": FORMAT}, **properties},
        "required": ["format", *required],
    }
