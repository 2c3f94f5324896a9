"""Quantities as people write them in an experiment file: durations and percentages."""

from __future__ import annotations

import math
import re

SECONDS = {
    "ps": 1e-12,
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "\u03bcs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "min": 60.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 604800.0,
}
_LONG = {
    "hour": "h",
    "minute": "min",
    "second": "s",
    "day": "d",
    "week": "w",
    "millisecond": "ms",
}
_PART = re.compile(r"\s*\+?((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*([a-zµ\u03bc]+)")

_LONGEST = 200
"""Letters of a duration; the search for its parts takes the square of them."""


def seconds(text: str | float) -> float:
    """Read a duration such as "10s", "1.5h" or "1h 30min"; a bare number is seconds.

    Raises
    ------
    ValueError
        When the text is not a duration, or the duration is negative or not finite.
    """
    try:
        value = float(text) if isinstance(text, int | float) else _sum_of_parts(text)
    except OverflowError:  # whole numbers of TOML have no bound
        value = math.inf
    if not math.isfinite(value) or value < 0:
        raise ValueError("a duration must be finite and not negative")
    return value


def _sum_of_parts(text: str) -> float:
    parts = _PART.findall(text) if len(text) <= _LONGEST else []
    if not parts or _PART.sub("", text).strip():
        raise ValueError('not a duration; write a number and a unit, as in "10s", "500ms", "1h 30min"')
    unknown = [unit for _, unit in parts if unit not in SECONDS]
    if unknown:
        meant = _LONG.get(unknown[0].removesuffix("s"))
        hint = f' did you mean "{meant}"?' if meant else ""
        raise ValueError(f'"{unknown[0]}" is not a unit of time;{hint} allowed: {", ".join(SECONDS)}')
    return sum(float(number) * SECONDS[unit] for number, unit in parts)


def duration_text(value: float) -> str:
    """Write a duration for people: the two largest units that matter, as in "1h 30min", "350ms" or "12.7us"."""
    for unit, below in (("ns", "us"), ("us", "ms"), ("ms", "s")):
        if 0 < value < 0.9995 * SECONDS[below]:
            return f"{value / SECONDS[unit]:.3g}{unit}"
    if not value >= 59.95:
        return f"{value:.3g}s"
    for unit, smaller, above in (("min", "s", "h"), ("h", "min", "d"), ("d", "h", "w"), ("w", "d", None)):
        steps = round(value / SECONDS[smaller])
        if (
            above is None or steps * SECONDS[smaller] < SECONDS[above]
        ):  # what rounds up to an hour is written as one
            whole, rest = divmod(steps, round(SECONDS[unit] / SECONDS[smaller]))
            return f"{whole}{unit} {rest}{smaller}" if rest else f"{whole}{unit}"
    return f"{value:.3g}s"
