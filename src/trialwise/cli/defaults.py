"""How the options of all commands are read, and what `--help` says of their defaults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, get_args

from cyclopts import Parameter, Token, convert

BROKEN_PIPE = 141
"""Exit code where nobody reads the results any more: 128 and SIGPIPE."""


def shown(value: object) -> str | None:
    """A default for people; None where there is none, for a flag that is off and for an option that was given no time."""
    if value is None or value is False or value == ():
        return None
    if isinstance(value, tuple):
        return " ".join(map(str, cast("tuple[object, ...]", value)))
    return str(value)


def read(kind: type, tokens: Sequence[Token]) -> object:
    """The value of an option as ever, but for whole numbers: cyclopts would round 1.5 and say nothing.

    Raises
    ------
    ValueError
        A whole number is asked for, and something else was given.
    """
    if int in (kind, *get_args(kind)):
        for token in tokens:
            if "." in token.value:
                raise ValueError(f"{token.value} is no whole number")
    return cast("object", convert(kind, tokens))


def gated(code: int, *, gate: bool) -> int:
    """Return the exit code of a verdict: 1, that something differs, only where a gate was asked for."""
    return 0 if code == 1 and not gate else code


OPTIONS = Parameter(negative=(), show_default=shown, converter=read)
"""There is no `--no-FLAG`."""
