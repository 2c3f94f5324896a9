"""`{factor}` placeholders in the texts of an experiment file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trialwise.experiment.model import Level

_NAME = r"[A-Za-z_][A-Za-z0-9_.\-]*"
_PLACEHOLDER = re.compile(rf"\{{\{{({_NAME})\}}\}}|\{{({_NAME})\}}")
BUILT_IN = ("seed", "series", "round", "position", "trial", "directory")
"""Placeholders in addition to the factors: the trial's seed and position, and a fresh directory."""

COLLECTOR = "collector"
"""In a streams file: the address of the trial's collector."""


def names_in(text: str) -> set[str]:
    """Return the placeholder names in `text`; `{{name}}` is the literal text `{name}`."""
    return {match.group(2) for match in _PLACEHOLDER.finditer(text) if match.group(2)}


def fill(text: str, values: Mapping[str, Level]) -> str:
    """Replace each `{name}` by its value and `{{name}}` by `{name}`; other braces are unchanged.

    Raises
    ------
    KeyError
        A placeholder has no value.
    """

    def replacement(match: re.Match[str]) -> str:
        literal, name = match.groups()
        return f"{{{literal}}}" if literal else level_text(values[name])

    return _PLACEHOLDER.sub(replacement, text)


def level_text(level: Level) -> str:
    """Write a level for commands, identifiers and tables."""
    if isinstance(level, bool):
        return "true" if level else "false"
    return repr(level) if isinstance(level, float) else str(level)


def literal(text: str) -> str:
    """Escape every `{name}` that is not built in, so that `fill` returns the text unchanged."""

    def kept(match: re.Match[str]) -> str:
        name = match.group(2)
        return match.group(0) if name is None or name in BUILT_IN else f"{{{{{name}}}}}"

    return _PLACEHOLDER.sub(kept, text)
