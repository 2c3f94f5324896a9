"""The JSON and CSV forms of an analysis of order (docs/reference/order-json.md)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from trialwise.analysis.order.results import (
    LastingEffect,
    OrderAnalysis,
    PairConclusion,
    PairEffect,
    TreatmentOrder,
    WorkerDifference,
    WorkerSpread,
)
from trialwise.exchange.csv_text import csv_text
from trialwise.exchange.plain import Json, plain, schema_of, with_key, with_text
from trialwise.wording import order as say

_KEYS = tuple(field.name for field in fields(OrderAnalysis) if field.name not in ("blocked", "unvaried"))
"""All but the codes that sentences are made of."""
_TOLD = (TreatmentOrder, PairConclusion, PairEffect, LastingEffect, WorkerDifference, WorkerSpread)
"""Records that have a sentence in JSON."""

COLUMNS = (
    "metric",
    "group",
    "treatment",
    "family",
    "n_fixed",
    "n_random",
    "change",
    "h",
    "p_value",
    "p_corrected",
    "significant",
    "eta_squared",
    "epsilon_squared",
    "percent_difference",
    "shift_percent",
    "shift_percent_low",
    "shift_percent_high",
    "p_distribution",
    "p_distribution_corrected",
    "spread_ratio",
    "case",
    "case_strict",
    "shapiro_fixed",
    "shapiro_random",
    "further_rounds",
)


def order_document(found: OrderAnalysis) -> dict[str, Json]:
    """Return an analysis of order as a JSON document; its key `format` names the format and its version."""
    content: dict[str, Any] = {name: plain(getattr(found, name)) for name in _KEYS}
    told = {
        "treatments": [say.treatment(one, found.method) for one in found.treatments],
        "conclusions": map(say.conclusion, found.conclusions),
        "worker_spread": map(say.spread, found.worker_spread),
        "worker_differences": map(say.worker, found.worker_differences),
    }
    content |= {name: _told(content[name], sentences) for name, sentences in told.items()}
    for group, entry in zip(found.carry_over, content["carry_over"], strict=True):
        entry["pairs"] = _told(entry["pairs"], map(say.pair, group.pairs))
        entry["lasting"] = _told(entry["lasting"], map(say.lasting, group.lasting))
    steps: list[Json] = list(say.next_steps(found))
    content = with_key(content, "sentence", say.sentence(found), after="verdict")
    return with_key(content, "next_steps", steps, after="worker_differences")


def _told(entries: list[dict[str, Json]], sentences: Iterable[str]) -> list[dict[str, Json]]:
    return [{**entry, "sentence": text} for entry, text in zip(entries, sentences, strict=True)]


def order_schema() -> dict[str, Json]:
    """Return the JSON Schema of an analysis of order, from its dataclasses."""
    schema: dict[str, Any] = schema_of(OrderAnalysis)
    schema["properties"] = {name: schema["properties"][name] for name in _KEYS}
    schema["required"] = list(_KEYS)
    for record in _TOLD:
        own = schema["$defs"][record.__name__]
        schema["$defs"][record.__name__] = with_text(own, "sentence", after=own["required"][-1])
    schema = with_text(schema, "sentence", after="verdict")
    steps: dict[str, Json] = {"type": "array", "items": {"type": "string"}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "trialwise.order/1",
        **with_text(schema, "next_steps", after="worker_differences", text=steps),
    }


def order_csv(found: OrderAnalysis) -> str:
    """Return a row for each treatment, with the numbers of the JSON document."""
    return csv_text(COLUMNS, ([plain(getattr(one, name)) for name in COLUMNS] for one in found.treatments))
