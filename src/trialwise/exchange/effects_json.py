"""The JSON document of an analysis of effects, its schema, and its terms as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise.analysis.effects.paper_results import PaperEffects
from trialwise.analysis.effects.results import EffectsAnalysis
from trialwise.exchange.csv_text import csv_text
from trialwise.exchange.plain import Json, plain, schema_of, with_key, with_text
from trialwise.wording.effects import sentence

COLUMNS = (
    "metric",
    "part",
    "term",
    "df",
    "residual_df",
    "sum_sq",
    "mean_sq",
    "f",
    "p_value",
    "p_adjusted",
    "matters",
    "effect_size",
    "effect_low",
    "effect_high",
    "n",
    "level",
    "reason",
)
PAPER_COLUMNS = ("metric", "part", "term", "df", "sum_sq", "mean_sq", "f", "p_value", "stars", "n", "method")


def effects_document(found: EffectsAnalysis | PaperEffects) -> dict[str, Json]:
    """Return an analysis as a JSON document; its key `format` names the format and its version."""
    content = plain(found)
    if not isinstance(content, dict):
        raise TypeError("a record is an object")
    return with_key(content, "sentence", sentence(found), after="verdict")


def effects_schema() -> dict[str, Json]:
    """Return the JSON Schema of both forms, from their dataclasses: the default's, and that of the paper's method."""
    default, paper = (
        with_text(schema_of(form), "sentence", after="verdict") for form in (EffectsAnalysis, PaperEffects)
    )
    definitions: dict[str, Json] = {}
    for one in (default, paper):
        own = one.pop("$defs")
        if isinstance(own, dict):
            definitions |= own
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "trialwise.effects/1",
        "oneOf": [default, paper],
        "$defs": dict(sorted(definitions.items())),
    }


def effects_csv(found: EffectsAnalysis | PaperEffects) -> str:
    """Return a row for each term of each metric and part."""
    columns = PAPER_COLUMNS if isinstance(found, PaperEffects) else COLUMNS
    return csv_text(columns, _csv_rows(found, columns))


def _csv_rows(found: EffectsAnalysis | PaperEffects, columns: Sequence[str]) -> Iterator[list[Json]]:
    for one in found.results:
        held = " ".join(f"{name}={level}" for name, level in one.part.items())
        for term in one.terms:
            known = {"part": held, "term": term.term}
            yield [
                known[name] if name in known else plain(getattr(term, name, getattr(one, name, None)))
                for name in columns
            ]
