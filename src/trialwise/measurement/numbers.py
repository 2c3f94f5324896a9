"""Convert reported text to numbers, and reject what is not one."""

from __future__ import annotations

import difflib
import math
import re
from typing import TYPE_CHECKING

from trialwise.errors import TrialError

if TYPE_CHECKING:
    from collections.abc import Iterable

NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*", re.ASCII)
HINT = "report plain numbers with a decimal point, such as 12.5 or 1.25e1"


def number(text: str, place: str) -> float:
    """Read one finite number.

    Raises
    ------
    TrialError
        `text`, found at `place`, is not a number, or not one that a float64 can hold.
    """
    if NUMBER.fullmatch(text):
        return finite(float(text), text, place)
    raise TrialError(f"{place} holds {quote(text)}, which is not a finite number", hint=HINT)


def finite(value: float, text: str, place: str) -> float:
    """Return `value`; raise `TrialError` if it is NaN, infinite, or too large for a float64."""
    if math.isfinite(value):
        return value
    raise TrialError(
        f"{place} holds {quote(text)}, which is {value} as a float64: not a finite number",
        hint="check why the program reports it; a trial without a result should exit with a code over 0",
    )


def quote(text: str, most: int = 60) -> str:
    """Quote `text` for a message, shortened."""
    return repr(text) if len(text) <= most else f"{text[:most]!r}… ({len(text):,} characters)"


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggest the `known` name nearest to `name`, or list them all."""
    names = list(dict.fromkeys(known))
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]!r}?"
    shown = ", ".join(repr(known) for known in names[:10]) + (", …" if len(names) > 10 else "")
    return f"there are {shown}" if names else "there is none at all"
