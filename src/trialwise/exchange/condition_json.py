"""The JSON forms of a profile and of a runtime (docs/reference/profile-json.md, docs/reference/runtime-json.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialwise.exchange.plain import Json, plain

if TYPE_CHECKING:
    from trialwise.analysis.profile import Profile
    from trialwise.analysis.runtime import RuntimeAdvice


def condition_document(found: Profile | RuntimeAdvice) -> dict[str, Json]:
    """A profile or a runtime as a JSON document; its key `format` names the format and its version."""
    content = plain(found)
    if not isinstance(content, dict):
        raise TypeError("a record is an object")
    return content
