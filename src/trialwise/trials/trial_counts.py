"""Amounts of a load as users write them: rates, sizes and shares, in the units of the links."""

from __future__ import annotations

import math
from typing import Literal

from trialwise._core import parse_quantity


def bits_per_second(text: str) -> int:
    """Parse a rate such as ``5Mbit/s`` to integer bit/s above 0; raise ValueError if it is invalid."""
    return _whole(_amount(text, "rate"))


def whole_bytes(text: str) -> int:
    """Parse a size such as ``10MB`` to integer bytes above 0; raise ValueError if it is invalid."""
    return _whole(_amount(text, "size"))


def share(text: str) -> float:
    """Parse a share such as ``50%`` or ``0.5``, above 0; raise ValueError if it is invalid."""
    return _amount(text, "share")


def number(text: str) -> float:
    """Parse a bare number above 0; raise ValueError if it is invalid."""
    return _amount(text, "number")


def _amount(text: str, dimension: Literal["rate", "size", "share", "number"]) -> float:
    try:
        value = parse_quantity(text, dimension)
    except ValueError as error:
        raise ValueError(f"{text!r} is {error}") from error
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"{text!r} must be above 0")
    return value


def _whole(value: float) -> int:
    return max(1, round(value))
