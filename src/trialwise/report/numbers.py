"""Numbers as reports write them: one rounding for text, HTML and LaTeX, and where each stands in the JSON document."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    write,
)

__all__ = [
    "ABSENT", "Basis", "Number", "Rounding", "about", "bounds", "change", "counted", "decimals", "interval", "ordinal", "p_equals",
    "p_value", "percent", "signed", "write",
]  # fmt: skip


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
