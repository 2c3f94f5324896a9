"""Numbers as reports write them: one rounding for text, HTML and LaTeX, and where each stands in the JSON document."""

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
"""What is written: a value to so many digits, one that the user gave as it was given, a count with its thousands apart, a p-value,
seconds as people say them."""


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
    the value times 10 to the power of minus that, in `unit`. `sign` writes a plus before what is above 0.
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
        """The number as it is printed, without its unit."""
        return written(self)

    @property
    def with_unit(self) -> str:
        """The number and its unit; no unit where there is no number."""
        text = self.text
        return text if text == ABSENT else f"{text} {self.unit}".strip()

    def scaled(self, unit: str, power: int) -> Number:
        """The same number as it is printed in another unit, which is 10 to the power of `power` of its own."""
        return replace(self, unit=unit, power=power)


def written(number: Number) -> str:
    """Write a number, without its unit: the one function of documents that makes digits."""
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
    """An estimate with its bounds, which stand in one cell: "+16 % (+0.2 to +35)".

    The numbers have one unit, power and sign. `unbounded` are the words where there are no bounds.
    """

    value: Number
    low: Number
    high: Number
    unbounded: str = "no bounds"

    @property
    def texts(self) -> tuple[str, str, str]:
        """The estimate and its bounds as they are printed, without their unit."""
        shown = self.value
        return with_bounds(shown.value, self.low.value, self.high.value, power=shown.power, sign=shown.sign)

    @property
    def before(self) -> str:
        """The estimate with its unit."""
        value, _, _ = self.texts
        return value if value == ABSENT else f"{value} {self.value.unit}".strip()

    @property
    def inside(self) -> str:
        """The bounds, or why there are none; empty where there is no estimate either."""
        value, low, high = self.texts
        if low == high == ABSENT:
            return "" if value == ABSENT else self.unbounded
        return interval(low, high)

    @property
    def text(self) -> str:
        """The whole cell."""
        return f"{self.before} ({self.inside})" if self.inside else self.before


def p_text(value: float | None, pointer: str = "") -> tuple[str, Number]:
    """A p-value in a sentence, with the sign before it: "p = 0.012", "p < 0.0001"."""
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
    """An estimate with its bounds: the lower one rounds down, the upper one up. `pointers` are the places of the three in JSON."""
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
    """A result that stands at `at` in the JSON document, with its bounds; a dash where there is none."""
    places = (f"{at}/estimate", f"{at}/low", f"{at}/high")
    ends = (None, None, None) if found is None else (found.estimate, found.low, found.high)
    return estimate(*ends, unit, power=power, sign=sign, pointers=places)


def given(value: float, unit: str = "%") -> Number:
    """A number that the user gave, such as a level, as it was given."""
    return Number(value, unit=unit, kind="given")
