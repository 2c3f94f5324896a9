"""The JSON form of a calibration (docs/reference/calibration-json.md)."""

from __future__ import annotations

from trialwise.analysis.calibration.results import Calibration
from trialwise.exchange.plain import Json, formatted, formatted_schema

FORMAT = "trialwise.calibration/1"


def calibration_document(found: Calibration) -> dict[str, Json]:
    """Return a calibration as a JSON document; its key `format` names the format and its version."""
    return formatted(FORMAT, found)


def calibration_schema() -> dict[str, Json]:
    """Return the JSON Schema of a calibration, from its dataclasses."""
    return formatted_schema(FORMAT, Calibration)
