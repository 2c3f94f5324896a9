"""How the options of all commands are read, and what `--help` says of their defaults."""

from __future__ import annotations

from typing import cast

from cyclopts import Parameter


def shown(value: object) -> str | None:
    """A default for people; None where there is none, for a flag that is off and for an option that was given no time."""
    if value is None or value is False or value == ():
        return None
    if isinstance(value, tuple):
        return " ".join(map(str, cast("tuple[object, ...]", value)))
    return str(value)


OPTIONS = Parameter(negative=(), show_default=shown)
"""There is no `--no-FLAG`."""
