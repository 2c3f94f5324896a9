"""Conversion of the options of all commands, and the display of their defaults in `--help`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, get_args

from cyclopts import Parameter, Token, convert


def shown(value: object) -> str | None:
    """Format a default for people; None if there is none, for a flag that is off and for a duration that was not given."""
    if value is None or value is False or value == ():
        return None
    if isinstance(value, tuple):
        return " ".join(map(str, cast("tuple[object, ...]", value)))
    return str(value)


def read(kind: type, tokens: Sequence[Token]) -> object:
    """Convert the value of an option, refusing fractions for integers, which cyclopts would silently round.

    Raises
    ------
    ValueError
        An integer is required, and something else was given.
    """
    if int in (kind, *get_args(kind)):
        for token in tokens:
            if "." in token.value:
                raise ValueError(f"{token.value} is not an integer")
    return cast("object", convert(kind, tokens))


def gated(code: int, *, gate: bool) -> int:
    """Return the exit code of a verdict; 1, for a difference, only if a gate was requested."""
    return 0 if code == 1 and not gate else code


OPTIONS = Parameter(negative=(), show_default=shown, converter=read)
"""No `--no-FLAG` options."""
