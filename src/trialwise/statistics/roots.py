"""Where a function of one number is zero.

SciPy has this too, but only together with all that it knows of optimisation, whose import takes longer than a comparison.
"""

from __future__ import annotations

from collections.abc import Callable
from math import copysign

from trialwise.errors import StatisticsError

_MOST_STEPS = 200
_RELATIVE = 4 * 2.0**-52


def root_between(
    function: Callable[[float], float],
    low: float,
    high: float,
    *,
    apart: float = 2e-12,
    share: float = _RELATIVE,
) -> float:
    """Return where a continuous function is zero between `low` and `high`, at which its signs differ (Brent 1973, chapter 4).

    The result is within `apart + share * |root|`.

    Raises
    ------
    StatisticsError
        The function has the same sign at both ends, or is not a number.
    """
    before, best = low, high
    at_before, at_best = function(before), function(best)
    if not at_before:
        return before
    if at_best and not at_before * copysign(1.0, at_best) < 0:
        raise StatisticsError(f"no root is known to be between {low:g} and {high:g}")
    # The root is between `best` and `other`; `step` is the last one, and `earlier` the one before it.
    other, at_other = before, at_before
    step = earlier = best - before
    for _ in range(_MOST_STEPS):
        if at_best and copysign(1.0, at_best) == copysign(1.0, at_other):
            other, at_other = before, at_before
            step = earlier = best - before
        if abs(at_other) < abs(at_best):
            before, best, other = best, other, best
            at_before, at_best, at_other = at_best, at_other, at_best
        least = (apart + share * abs(best)) / 2
        half = (other - best) / 2
        if not at_best or abs(half) < least:
            break
        tried = _interpolated((before, at_before), (best, at_best), (other, at_other))
        if (
            abs(earlier) > least
            and tried is not None
            and 2 * abs(tried) < min(abs(earlier), 3 * abs(half) - least)
        ):
            earlier, step = step, tried
        else:
            earlier = step = half
        before, at_before = best, at_best
        best += step if abs(step) > least else copysign(least, half)
        at_best = function(best)
    return best


def _interpolated(
    before: tuple[float, float], best: tuple[float, float], other: tuple[float, float]
) -> float | None:
    """Return the step from `best` to the zero of the line or the inverse parabola through the points; None if that says nothing."""
    (x, f), (x_before, f_before), (x_other, f_other) = best, before, other
    if not abs(f) < abs(f_before):
        return None
    if x_before == x_other:
        return -f * (x - x_before) / (f - f_before)
    slope, across = (f_before - f) / (x_before - x), (f_other - f) / (x_other - x)
    below = across * slope * (f_other - f_before)
    return -f * (f_other * across - f_before * slope) / below if below else None
