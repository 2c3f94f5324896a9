"""Amounts of a load as people write them: rates, sizes and shares, in the units of the links."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

_RATES = {
    "bit/s": 1.0,
    "kbit/s": 1e3,
    "Mbit/s": 1e6,
    "Gbit/s": 1e9,
    "bps": 1.0,
    "kbps": 1e3,
    "Mbps": 1e6,
    "Gbps": 1e9,
}
_SIZES = {"": 1.0, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
_SHARES = {"": 1.0, "%": 0.01}
_NUMBER = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*(\S*)\s*")


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
