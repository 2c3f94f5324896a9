"""Units with SI prefixes: readable small and large values, with one prefix for everything listed together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from trialwise.report.numbers import Basis, Number, Rounding, write

_POWERS = {"p": -12, "n": -9, "µ": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12}
_SPELLINGS = {"u": "µ", "μ": "µ"}
"""Other spellings of micro: a plain letter, and the Greek one."""
_BASES = ("bit/s", "B/s", "bit", "Hz", "s", "B")
_WHOLE = ("bit/s", "B/s", "bit", "B")
"""Units that have no thousandths."""
_LEAST, _MOST = 0.1, 1e5
"""Between these, the given unit reads well and stays."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How numbers that are listed together are shown: divided by 10 to the power of `power`, in `unit`."""

    unit: str
    power: int = 0

    @property
    def factor(self) -> float:
        """Factor by which a value is multiplied."""
        return 10.0**-self.power

    @property
    def heading(self) -> str:
        """The unit as it follows the name of a column or an axis: " [µs]", empty if there is none."""
        return f" [{self.unit}]" if self.unit else ""

    def number(
        self, value: float | None, pointer: str, rounding: Rounding = "nearest", basis: Basis | None = None
    ) -> Number:
        """Return a number of a table whose heading has the unit."""
        return Number(value, pointer, "", rounding, basis, power=self.power)

    def write(self, value: float | None, rounding: Rounding = "nearest") -> str:
        """Write a value with four significant digits, without its unit."""
        return write(value, rounding, self.power)

    def with_unit(self, value: float | None, rounding: Rounding = "nearest") -> str:
        """Write a value with four significant digits and its unit."""
        return f"{self.write(value, rounding)} {self.unit}".strip()


def scale(values: Iterable[float | None], unit: str) -> Scale:
    """Choose the prefix of `unit` that gives the largest value one to three digits before its point.

    If the largest value is from 0.1 to 100 000, the given unit stays; so do units that take no prefix, such as %.
    """
    finite = [abs(value) for value in values if value is not None and math.isfinite(value)]
    largest, parts = max(finite, default=0.0), _parts(unit)
    if parts is None or largest == 0 or _LEAST <= largest < _MOST:
        return Scale(unit)
    prefix, base = parts
    size = Decimal(largest).adjusted() + _POWERS[prefix]
    lowest = 0 if base in _WHOLE else min(_POWERS.values())
    highest = 0 if base == "s" else max(_POWERS.values())
    wanted = min(max(3 * (size // 3), lowest), highest)
    chosen = next(name for name, power in _POWERS.items() if power == wanted)
    return Scale(chosen + base, wanted - _POWERS[prefix])


def _parts(unit: str) -> tuple[str, str] | None:
    """Split a unit into prefix and base; None if it takes no prefix."""
    for base in _BASES:
        prefix = unit.removesuffix(base)
        known = _SPELLINGS.get(prefix, prefix)
        if prefix != unit and known in _POWERS:
            return known, base
    return None


def standing_alone(number: Number) -> Number:
    """Give a number in a sentence the prefix that suits it."""
    own = scale([number.value], number.unit)
    return number.scaled(own.unit, own.power)
