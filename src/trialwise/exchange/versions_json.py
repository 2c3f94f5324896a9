"""The JSON form of a comparison of two versions (docs/how-to/gate-a-change.md)."""

from __future__ import annotations

from dataclasses import replace

from trialwise.analysis.versions.results import SuiteResult, VersionsResult
from trialwise.exchange.comparison_json import comparison_csv
from trialwise.exchange.plain import Json, formatted, formatted_schema

FORMAT = "trialwise.ab/1"
SUITE_FORMAT = "trialwise.ab-suite/1"


def versions_document(found: VersionsResult) -> dict[str, Json]:
    """Return a comparison as a JSON document; its key `format` names the format and its version."""
    return formatted(FORMAT, found)


def versions_schema() -> dict[str, Json]:
    """Return the JSON Schema of a comparison, from its dataclasses."""
    return formatted_schema(FORMAT, VersionsResult)


def suite_document(found: SuiteResult) -> dict[str, Json]:
    """Return a comparison by a suite as a JSON document."""
    return formatted(SUITE_FORMAT, found)


def suite_schema() -> dict[str, Json]:
    """Return the JSON Schema of a comparison by a suite, from its dataclasses."""
    return formatted_schema(SUITE_FORMAT, SuiteResult)


def versions_csv(found: VersionsResult | SuiteResult) -> str:
    """Return a row for each version and metric; the column `treatment` has the command where versions have one.

    Raises
    ------
    ValueError
        Nothing was compared.
    """
    comparison = found.comparison
    if comparison is None or not comparison.rows:
        raise ValueError("nothing was compared")
    if isinstance(found, VersionsResult) and found.commands:
        names = dict(zip(found.versions, found.commands, strict=True))
        rows = (
            replace(row, treatment=names.get(row.treatment, found.commands[-1])) for row in comparison.rows
        )
        comparison = replace(comparison, rows=tuple(rows))
    return comparison_csv(comparison)
