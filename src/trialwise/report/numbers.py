"""Numbers as reports write them: one rounding for text, HTML and LaTeX, and where each stands in the JSON document."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Literal

Rounding = Literal["nearest", "down", "up"]

_MODES = {"nearest": ROUND_HALF_EVEN, "down": ROUND_FLOOR, "up": ROUND_CEILING}
_DIGITS = 4
ABSENT = "–"


@dataclass(frozen=True, slots=True)
class Basis:
    """What a number rests on: how many trials or series, the confidence (percent), the method."""

    n: int
    level: float
    method: str

    @property
    def text(self) -> str:
        """The basis in words."""
        return f"n = {self.n}, {percent(self.level)}, {self.method}"


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a report.

    `pointer` is its place in the JSON document (RFC 6901). A lower bound is rounded down and an upper bound up, so
    that what is printed holds as well. `macro` is its name in LaTeX, empty where it has none. `power`: what is printed is
    the value times 10 to the power of minus that, in `unit`.
    """

    value: float | None
    pointer: str
    unit: str = ""
    rounding: Rounding = "nearest"
    basis: Basis | None = None
    macro: str = ""
    power: int = 0

    @property
    def text(self) -> str:
        """The number as it is printed, without its unit."""
        return write(self.value, self.rounding, self.power)

    @property
    def with_unit(self) -> str:
        """The number and its unit."""
        return f"{self.text} {self.unit}".strip()

    def scaled(self, unit: str, power: int) -> Number:
        """The same number as it is printed in another unit, which is 10 to the power of `power` of its own."""
        return replace(self, unit=unit, power=power)


def write(value: float | None, rounding: Rounding = "nearest", power: int = 0) -> str:
    """Write a number with four significant digits, all digits of its whole part, and none that it does not have.

    Counts are exact. From 1e9 on and below 1e-4 it is written with an exponent, as 1.234e-07. It is divided by 10 to the
    power of `power` before.
    """
    if value is None or not math.isfinite(value):
        return ABSENT
    if isinstance(value, int) and power == 0:
        return str(value)
    exact = Decimal(f"{value:.12g}").scaleb(-power)
    if exact == 0:
        return "0"
    size = exact.adjusted()
    if size >= 9 or size < -4:
        return _with_exponent(exact, rounding)
    return _plainly(exact, min(size - _DIGITS + 1, 0), rounding)


def _plainly(exact: Decimal, place: int, rounding: Rounding) -> str:
    rounded = exact.quantize(Decimal(1).scaleb(place), rounding=_MODES[rounding])
    shortest = exact.normalize()
    return f"{shortest if rounded == exact else rounded:f}" if rounded else "0"


def _with_exponent(exact: Decimal, rounding: Rounding) -> str:
    place = exact.adjusted() - _DIGITS + 1
    rounded = exact.quantize(Decimal(1).scaleb(place), rounding=_MODES[rounding]).normalize()
    exponent = rounded.adjusted()
    mantissa = f"{rounded.scaleb(-exponent):f}"
    return f"{mantissa}e{exponent:+03d}"


def percent(value: float) -> str:
    """A percentage as people state it: 95 is "95 %", 99.9 is "99.9 %"."""
    return f"{value:.10g} %"


def ordinal(percentile: float) -> str:
    """A percentile in words: "median", "25th percentile", "99.9th percentile"."""
    if percentile == 50:
        return "median"
    text = f"{percentile:.10g}"
    ending = "th" if "." in text or text[-2:] in ("11", "12", "13") else _ENDINGS.get(text[-1], "th")
    return f"{text}{ending} percentile"


_ENDINGS = {"1": "st", "2": "nd", "3": "rd"}


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A count with its noun: "1 trial", "2 trials"."""
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"
