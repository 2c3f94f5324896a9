"""The JSON forms of what was packed, and of a verified artifact."""

from __future__ import annotations

from trialwise.analysis.artifacts import Packed, Verified
from trialwise.exchange.plain import Json, formatted, formatted_schema

PACK, VERIFY = "trialwise.pack/1", "trialwise.verify/1"


def pack_document(found: Packed) -> dict[str, Json]:
    """Return what was packed as a JSON document."""
    return formatted(PACK, found)


def pack_schema() -> dict[str, Json]:
    """Return the JSON Schema of what was packed, from its dataclasses."""
    return formatted_schema(PACK, Packed)


def verify_document(found: Verified) -> dict[str, Json]:
    """Return a verified artifact as a JSON document."""
    return formatted(VERIFY, found)


def verify_schema() -> dict[str, Json]:
    """Return the JSON Schema of a verified artifact, from its dataclasses."""
    return formatted_schema(VERIFY, Verified)
