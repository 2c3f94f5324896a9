"""Format numbers for people, in this one place: values, bounds, p-values, percentages, counts.

Lower bounds are rounded down, upper bounds and p-values up, so that the printed statement holds as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Literal

Rounding = Literal["nearest", "down", "up"]

_MODES = {"nearest": ROUND_HALF_EVEN, "down": ROUND_FLOOR, "up": ROUND_CEILING}
_DIGITS = 4
_MIN_P = 1e-4
"""Smaller p-values claim more than their model can support."""
_LEVELS = {(digit,) for digit in range(1, 10)} | {(2, 5)}
"""The digits of levels at which p-values are judged; levels are at most a half."""
ABSENT = "–"
_ENDINGS = {"1": "st", "2": "nd", "3": "rd"}


def write(value: float | None, rounding: Rounding = "nearest", power: int = 0, digits: int = _DIGITS) -> str:
    """Write a number with `digits` significant digits, all digits of its whole part, and none that it does not have.

    Counts are exact. From 1e9 and below 1e-4 it is written with an exponent, as 1.234e-07. It is first divided by 10 to the
    power of `power`.
    """
    if value is None or not math.isfinite(value):
        return ABSENT
    if isinstance(value, int) and power == 0:
        return str(value)
    exact = _scaled(value, power)
    if exact == 0:
        return "0"
    size = exact.adjusted()
    if size >= 9 or size < -4:
        return _with_exponent(exact, digits, rounding)
    return _plainly(exact, min(size - digits + 1, 0), rounding)


def signed(value: float | None, rounding: Rounding = "nearest", digits: int = 3, power: int = 0) -> str:
    """Write a change with its sign and `digits` significant digits: "+12.3", "-0.5", "0"."""
    written = write(value, rounding, power, digits)
    return f"+{written}" if written[0].isdigit() and written != "0" else written


def about(value: float | None, rounding: Rounding = "nearest") -> str:
    """Write a number with three significant digits, and all digits of its whole part."""
    return write(value, rounding, digits=3)


def change(estimate: float | None, low: float | None, high: float | None, unit: str = "") -> str:
    """Write a change with its interval, the estimate no finer than its bounds: "+81157 (80521 to 81793)"."""
    finest = min((_place(bound) for bound in (low, high) if bound and math.isfinite(bound)), default=None)
    written = signed(estimate, digits=_DIGITS)
    if finest is not None and estimate is not None and math.isfinite(estimate) and _place(estimate) < finest:
        shown = decimals(estimate, -finest)
        written = "0" if not float(shown) else shown if estimate < 0 else f"+{shown}"
    return f"{written}{unit} ({bounds(low, high)})"


def with_bounds(
    value: float | None, low: float | None, high: float | None, *, power: int = 0, sign: bool = False
) -> tuple[str, str, str]:
    """Write an estimate and its bounds to the same place: that of the second significant digit of half their distance.

    Finer digits are noise. Bounds are rounded outward, and a bound other than 0 is never written as 0, since its sign tells a
    difference from none. Whole parts keep all their digits. All are first divided by 10 to the power of `power`; `sign`
    writes a plus before positive numbers.
    """
    ends = (value, low, high)
    place = _place_of_bounds(*ends, power)
    written = [
        _to_place(each, place, power, rounding, keep=rounding != "nearest")
        for each, rounding in zip(ends, ("nearest", "down", "up"), strict=True)
    ]
    signs = [
        "+" if sign and each is not None and each > 0 and _is_not_0(text) else ""
        for each, text in zip(ends, written, strict=True)
    ]
    one, two, three = (mark + text for mark, text in zip(signs, written, strict=True))
    return one, two, three


def _is_not_0(written: str) -> bool:
    return written != ABSENT and bool(Decimal(written))


def _place_of_bounds(value: float | None, low: float | None, high: float | None, power: int) -> int | None:
    """Return the power of ten to which an estimate is written; None if its bounds give none."""
    ends = [end for end in (low, high) if end is not None and math.isfinite(end)]
    known = [each for each in (value, *ends) if each is not None and math.isfinite(each)]
    if not ends or len(known) < 2:
        return None
    half = _scaled(max(known) - min(known), power) / (2 if len(ends) == 2 else 1)
    largest = max(abs(_scaled(each, power)) for each in known)
    if not half or largest.adjusted() >= 9 or largest.adjusted() < -4:
        return None
    return min(half.adjusted() - 1, 0)


def _to_place(value: float | None, place: int | None, power: int, rounding: Rounding, *, keep: bool) -> str:
    if value is None or not math.isfinite(value) or place is None:
        return write(None if value is None else float(value), rounding, power)
    exact = _scaled(value, power)
    if not exact:
        return "0"
    rounded = exact.quantize(Decimal(1).scaleb(place), rounding=_MODES[rounding])
    if keep and not rounded:
        return write(float(value), rounding, power, digits=1)
    return f"{rounded or abs(rounded):f}"


def _scaled(value: float, power: int) -> Decimal:
    return Decimal(f"{value:.12g}").scaleb(-power)


def _place(value: float) -> int:
    """Return the power of ten of the last digit written."""
    return min(Decimal(f"{value:.12g}").adjusted() - _DIGITS + 1, 0) if value else 0


def decimals(value: float, places: int, rounding: Rounding = "nearest") -> str:
    """Write a number with `places` decimals: 0.8 as "0.80"."""
    if not math.isfinite(value):
        return ABSENT
    rounded = Decimal(f"{value:.12g}").quantize(Decimal(1).scaleb(-places), rounding=_MODES[rounding])
    return f"{rounded or abs(rounded):f}"


def _plainly(exact: Decimal, place: int, rounding: Rounding) -> str:
    rounded = exact.quantize(Decimal(1).scaleb(place), rounding=_MODES[rounding])
    shortest = exact.normalize()
    return f"{shortest if rounded == exact else rounded:f}" if rounded else "0"


def _with_exponent(exact: Decimal, digits: int, rounding: Rounding) -> str:
    place = exact.adjusted() - digits + 1
    rounded = exact.quantize(Decimal(1).scaleb(place), rounding=_MODES[rounding]).normalize()
    exponent = rounded.adjusted()
    mantissa = f"{rounded.scaleb(-exponent):f}"
    return f"{mantissa}e{exponent:+03d}"


def scientific(value: float) -> str:
    """Write a sum of squares as analysis-of-variance tables do: four digits, or three and a power of ten: "0.7675", "2.69e+06"."""
    if not math.isfinite(value) or not value or 0.01 <= abs(value) < 1e4:
        return write(value)
    return f"{value:.2e}"


def as_given(value: float, digits: int = 10) -> str:
    """Write a number that somebody stated as it was stated: 95.0 is "95", 99.9 is "99.9"."""
    return f"{value:.{digits}g}"


def useful(value: float) -> str:
    """Write a percentage or a p-value in a sentence: two significant digits, from 10 on whole."""
    text = f"{value:.2g}" if abs(value) < 10 else f"{value:.0f}"
    return "0" if text == "-0" else text


def useful_change(percent: float) -> str:
    """Write a change in percent as `useful` does, with its sign: "+0.12", "-34"."""
    return f"{percent:+.0f}" if abs(percent) >= 10 else f"{percent:+.2g}"


def significant(value: float, digits: int) -> str:
    """Write a number with this many significant digits, without an exponent below a million."""
    return f"{float(f'{value:.{digits}g}'):g}"


def percent(value: float) -> str:
    """Write a percentage: 95 as "95 %", 99.9 as "99.9 %"."""
    return f"{as_given(value)} %"


def ordinal(percentile: float) -> str:
    """Name a percentile: "median", "25th percentile", "99.9th percentile"."""
    if percentile == 50:
        return "median"
    text = f"{percentile:.10g}"
    ending = "th" if "." in text or text[-2:] in ("11", "12", "13") else _ENDINGS.get(text[-1], "th")
    return f"{text}{ending} percentile"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Write a count with its noun: "1 trial", "2 trials"."""
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"


def first_of(names: Sequence[str], most: int) -> str:
    """List names, of more than `most` only the first, and count the others: "a, b and 3 more"."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def ranges_text(numbers: Iterable[int]) -> str:
    """Write whole numbers in ascending order, neighbours as a range: "1, 3 to 5"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{first}" if first == last else f"{first} to {last}" for first, last in runs)


def bounds(low: float | None, high: float | None) -> str:
    """Write an interval, rounded outward: "0.2534 to 34.62"; "no bounds", "at least 3", "at most 5" if it is open."""
    return interval(write(low, "down"), write(high, "up"))


def interval(low: str, high: str) -> str:
    """Write an interval from formatted bounds, either of which may be absent."""
    if low == high == ABSENT:
        return "no bounds"
    if low == ABSENT:
        return f"at most {high}"
    return f"at least {low}" if high == ABSENT else f"{low} to {high}"


def p_value(value: float | None) -> str:
    """Write a p-value with two significant digits, rounded up, and "< 0.0001" below that.

    Where this would reach a usual level (0.05, 0.01, 0.025) that the value is below, more digits are written: 0.0496, not 0.05.
    """
    if value is None or math.isnan(value):
        return ABSENT
    if value < _MIN_P:
        return "< 0.0001"
    exact = Decimal(f"{value:.12g}")
    for place in range(1, 12):
        shown = exact.quantize(
            Decimal(1).scaleb(exact.adjusted() - place), rounding=ROUND_CEILING
        ).normalize()
        if shown == exact or shown > 0.5 or shown.as_tuple().digits not in _LEVELS:
            return f"{shown:f}"
    return f"{exact.normalize():f}"


def p_equals(value: float | None) -> str:
    """Write a p-value in a sentence: "p = 0.012", "p < 0.0001"."""
    written = p_value(value)
    return f"p {written}" if written.startswith("<") else f"p = {written}"
