"""Amounts of a load as people write them: rates, sizes and shares, in the units of the links."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_RATES = {prefix + unit: factor for unit in ("bit/s", "bps", "b/s") for prefix, factor in _PREFIXES.items()}
_SIZES = {
    "": 1.0,
    **{f"{prefix}B": factor for prefix, factor in _PREFIXES.items()},
    **{f"{prefix}iB": 1024.0**power for power, prefix in enumerate("KMGT", start=1)},
}
_SHARES = {"": 1.0, "%": 0.01}
_NUMBER = re.compile(r"\s*\+?((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S*)\s*")


def bits_per_second(text: str) -> int:
    """A rate such as ``5Mbit/s`` in whole bit/s, above 0; ValueError where it is none."""
    return _whole(_amount(text, _RATES, "a rate", "5Mbit/s"))


def whole_bytes(text: str) -> int:
    """A size such as ``10MB`` in whole bytes, above 0; ValueError where it is none."""
    return _whole(_amount(text, _SIZES, "a size", "10MB"))


def share(text: str) -> float:
    """A share such as ``50%`` or ``0.5``, above 0; ValueError where it is none."""
    return _amount(text, _SHARES, "a share", "50%")


def number(text: str) -> float:
    """A bare number above 0; ValueError where it is none."""
    return _amount(text, {"": 1.0}, "a number", "1.5")


def _amount(text: str, units: Mapping[str, float], what: str, example: str) -> float:
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not {what}; write one like {example}")
    digits, unit = found.groups()
    if unit not in units:
        known = ", ".join(name for name in units if name)
        said = f"{unit!r} is no unit of {what}" if unit else "the unit is missing"
        raise ValueError(f"{text!r}: {said}" + (f" (units: {known})" if known else ""))
    value = float(digits) * units[unit]
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"{text!r} must be above 0")
    return value


def _whole(value: float) -> int:
    return max(1, round(value))
