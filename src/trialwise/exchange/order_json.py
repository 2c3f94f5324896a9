"""The JSON and CSV forms of an analysis of order (docs/reference/order-json.md)."""

from __future__ import annotations

from trialwise.analysis.order.results import OrderAnalysis
from trialwise.exchange.csv_text import csv_text
from trialwise.exchange.plain import Json, plain, schema_of

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
    content = plain(found)
    if not isinstance(content, dict):
        raise TypeError("a record is an object")
    return content


def order_schema() -> dict[str, Json]:
    """Return the JSON Schema of an analysis of order, from its dataclasses."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "trialwise.order/1",
        **schema_of(OrderAnalysis),
    }


def order_csv(found: OrderAnalysis) -> str:
    """Return a row for each treatment, with the numbers of the JSON document."""
    return csv_text(COLUMNS, ([plain(getattr(one, name)) for name in COLUMNS] for one in found.treatments))
