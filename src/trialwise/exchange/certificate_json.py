"""The JSON form of the certificate of a calibrated path (docs/reference/certificate-json.md)."""

from __future__ import annotations

from trialwise.analysis.likeness.results import Certificate
from trialwise.exchange.plain import Json, formatted, formatted_schema

FORMAT = "trialwise.certificate/1"


def certificate_document(found: Certificate) -> dict[str, Json]:
    """Return a certificate as a JSON document; its key `format` names the format and its version."""
    return formatted(FORMAT, found)


def certificate_schema() -> dict[str, Json]:
    """Return the JSON Schema of a certificate, from its dataclasses."""
    return formatted_schema(FORMAT, Certificate)
