"""The JSON forms of profiles and of a runtime (docs/reference/condition-json.md)."""

from __future__ import annotations

from trialwise.analysis.conditions.path import PathProfile
from trialwise.analysis.conditions.profile import Profile
from trialwise.analysis.runtime.results import RuntimeAdvice
from trialwise.exchange.plain import Json, plain, schema_of


def condition_document(found: Profile | PathProfile | RuntimeAdvice) -> dict[str, Json]:
    """Return a profile of data or of a path, or a runtime, as a JSON document; its key `format` names the format and its version."""
    content = plain(found)
    if not isinstance(content, dict):
        raise TypeError("a record is an object")
    return content


def profile_schema() -> dict[str, Json]:
    """Return the JSON Schema of a profile, from its dataclasses."""
    return _schema(Profile, "trialwise.profile/1")


def path_profile_schema() -> dict[str, Json]:
    """Return the JSON Schema of the profile of a path, from its dataclasses."""
    return _schema(PathProfile, "trialwise.path-profile/1")


def runtime_schema() -> dict[str, Json]:
    """Return the JSON Schema of a runtime, from its dataclasses."""
    return _schema(RuntimeAdvice, "trialwise.runtime/1")


def _schema(record: type, title: str) -> dict[str, Json]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **schema_of(record),
    }
