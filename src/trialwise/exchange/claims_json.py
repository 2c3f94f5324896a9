"""The JSON form of checked claims: each with its verdict and the numbers that it rests on."""

from __future__ import annotations

from trialwise.analysis.claims.results import ClaimsCheck
from trialwise.exchange.plain import Json, formatted, formatted_schema

FORMAT = "trialwise.claims/1"


def claims_document(found: ClaimsCheck) -> dict[str, Json]:
    """Return checked claims as a JSON document."""
    return formatted(FORMAT, found)


def claims_check_schema() -> dict[str, Json]:
    """Return the JSON Schema of checked claims, from their dataclasses."""
    return formatted_schema(FORMAT, ClaimsCheck)
