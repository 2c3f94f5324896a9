"""Numbers in reports: one rounding for text, HTML and LaTeX, and each number's place in the JSON document."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from typing import Literal, Protocol

from trialwise.experiment.quantity import duration_text
from trialwise.numbers import (
    ABSENT,
    Rounding,
    about,
    bounds,
    change,
    counted,
    decimals,
    interval,
    ordinal,
    p_equals,
    p_value,
    percent,
    signed,
    with_bounds,
    write,
)

__all__ = [
    "ABSENT", "Basis", "Estimate", "Kind", "Number", "Rounding", "about", "bounds", "change", "counted", "decimals", "estimate",
    "estimate_of", "given", "interval", "ordinal", "p_equals", "p_text", "p_value", "percent", "signed", "write", "written",
]  # fmt: skip

Kind = Literal["number", "given", "count", "p_value", "duration"]
"""How a number is written: a value to some digits, one as the user gave it, a count with thousands separated, a p-value, or seconds
as
people say them.
"""


@dataclass(frozen=True, slots=True)
class Basis:
    """What a number rests on: the number of trials or series, the confidence (percent), the method."""

    n: int
    level: float
    method: str

    @property
    def text(self) -> str:
        """Describe the basis."""
        return f"n = {self.n}, {percent(self.level)}, {self.method}"


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a report.

    `pointer` is its place in the JSON document (RFC 6901). A lower bound is rounded down and an upper bound up, so
    that the printed statement holds as well. `macro` is its name in LaTeX, empty if it has none. `power`: the printed number is
    the value divided by 10 to this power, in `unit`. `sign` writes a plus before positive numbers.
    """

    value: float | None
    pointer: str = ""
    unit: str = ""
    rounding: Rounding = "nearest"
    basis: Basis | None = None
    macro: str = ""
    power: int = 0
    kind: Kind = "number"
    sign: bool = False
    digits: int = 4

    @property
    def text(self) -> str:
        """Return the number as printed, without its unit."""
        return written(self)

    @property
    def with_unit(self) -> str:
        """Return the number and its unit; no unit if there is no number."""
        text = self.text
        return text if text == ABSENT else f"{text} {self.unit}".strip()

    def scaled(self, unit: str, power: int) -> Number:
        """Return the same number in another unit, which is 10 to the power of `power` of its own."""
        return replace(self, unit=unit, power=power)


def written(number: Number) -> str:
    """Write a number, without its unit; the only function of documents that makes digits."""
    value = number.value
    if value is None or not isfinite(value):
        return ABSENT
    match number.kind:
        case "p_value":
            return p_value(value)
        case "given":
            return f"{value:.10g}"
        case "count":
            return f"{value:,.0f}"
        case "duration":
            return duration_text(value)
        case "number":
            write_one = partial(signed if number.sign else write, value, number.rounding)
            return write_one(digits=number.digits, power=number.power)


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate with its bounds, in one cell: "+16 % (+0.2 to +35)".

    The numbers have one unit, power and sign. `unbounded` is printed if there are no bounds.
    """

    value: Number
    low: Number
    high: Number
    unbounded: str = "no bounds"

    @property
    def texts(self) -> tuple[str, str, str]:
        """Return the estimate and its bounds as printed, without their unit."""
        shown = self.value
        return with_bounds(shown.value, self.low.value, self.high.value, power=shown.power, sign=shown.sign)

    @property
    def before(self) -> str:
        """Return the estimate with its unit."""
        value, _, _ = self.texts
        return value if value == ABSENT else f"{value} {self.value.unit}".strip()

    @property
    def inside(self) -> str:
        """Return the bounds, or why there are none; empty if there is no estimate either."""
        value, low, high = self.texts
        if low == high == ABSENT:
            return "" if value == ABSENT else self.unbounded
        return interval(low, high)

    @property
    def text(self) -> str:
        """Return the whole cell."""
        return f"{self.before} ({self.inside})" if self.inside else self.before


def p_text(value: float | None, pointer: str = "") -> tuple[str, Number]:
    """Write a p-value in a sentence, with the sign before it: "p = 0.012", "p < 0.0001"."""
    number = Number(value, pointer, kind="p_value")
    return ("p " if number.text.startswith("<") else "p = ", number)


def estimate(
    value: float | None,
    low: float | None,
    high: float | None,
    unit: str = "",
    *,
    power: int = 0,
    sign: bool = False,
    pointers: tuple[str, str, str] = ("", "", ""),
    unbounded: str = "no bounds",
) -> Estimate:
    """Make an estimate whose lower bound rounds down and whose upper bound rounds up. `pointers` locate the three in the JSON."""
    one, two, three = (
        Number(each, pointer, unit, rounding, power=power, sign=sign)
        for each, pointer, rounding in zip(
            (value, low, high), pointers, ("nearest", "down", "up"), strict=True
        )
    )
    return Estimate(one, two, three, unbounded)


class Bounded(Protocol):
    """A result that has an estimate and bounds."""

    @property
    def estimate(self) -> float | None:
        """The estimate."""
        ...

    @property
    def low(self) -> float | None:
        """The lower bound."""
        ...

    @property
    def high(self) -> float | None:
        """The upper bound."""
        ...


def estimate_of(
    found: Bounded | None, at: str, unit: str = "", *, power: int = 0, sign: bool = False
) -> Estimate:
    """Convert a result at `at` in the JSON document, with its bounds; a dash if there is none."""
    places = (f"{at}/estimate", f"{at}/low", f"{at}/high")
    ends = (None, None, None) if found is None else (found.estimate, found.low, found.high)
    return estimate(*ends, unit, power=power, sign=sign, pointers=places)


def given(value: float, unit: str = "%") -> Number:
    """Make a number that is printed as the user gave it, such as a level."""
    return Number(value, unit=unit, kind="given")
