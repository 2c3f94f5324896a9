"""Quantities as written in an experiment file: durations and percentages."""

from __future__ import annotations

import math

from trialwise._core import parse_quantity

_SECONDS = {
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 604800.0,
}


def seconds(text: str | float) -> float:
    """Read a duration such as "10s", "1.5h" or "1h 30min"; a bare number is seconds.

    Raises
    ------
    ValueError
        The text is not a duration, or the duration is negative or not finite.
    """
    if isinstance(text, str):
        return parse_quantity(text, "time")
    try:
        value = float(text)
    except OverflowError:  # whole numbers of TOML have no bound
        value = math.inf
    if not math.isfinite(value) or value < 0:
        raise ValueError("a duration must be finite and not negative")
    return value


def size_text(size: int) -> str:
    """Write a size in bytes in the largest unit that divides it: "16MiB", "10MB", "1500B"."""
    units = {"GiB": 2**30, "GB": 10**9, "MiB": 2**20, "MB": 10**6, "KiB": 2**10, "kB": 10**3, "B": 1}
    name, unit = next((name, unit) for name, unit in units.items() if size % unit == 0)
    return f"{size // unit}{name}"


def duration_text(value: float) -> str:
    """Write a duration in its two largest relevant units, as in "1h 30min", "350ms" or "12.7us"."""
    for unit, below in (("ns", "us"), ("us", "ms"), ("ms", "s")):
        if 0 < value < 0.9995 * _SECONDS[below]:
            return f"{value / _SECONDS[unit]:.3g}{unit}"
    if not value >= 59.95:
        return f"{value:.3g}s"
    for unit, smaller, above in (("min", "s", "h"), ("h", "min", "d"), ("d", "h", "w"), ("w", "d", None)):
        steps = round(value / _SECONDS[smaller])
        if (
            above is None or steps * _SECONDS[smaller] < _SECONDS[above]
        ):  # what rounds up to an hour is written as one
            whole, rest = divmod(steps, round(_SECONDS[unit] / _SECONDS[smaller]))
            return f"{whole}{unit} {rest}{smaller}" if rest else f"{whole}{unit}"
    return f"{value:.3g}s"
