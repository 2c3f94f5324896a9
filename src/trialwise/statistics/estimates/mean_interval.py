"""The mean of a few values with Student's interval."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from trialwise.late import special
from trialwise.statistics.checks import Array, as_percent, as_values
from trialwise.statistics.online_moments import RunningMoments, heavy_tail
from trialwise.statistics.tests.proportions import proportion

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean and the bounds of its two-sided interval, in the unit of the values."""

    estimate: float
    low: float
    high: float
    n: int
    confidence: float
    """In percent."""
    method: str


METHOD = "Student's t interval of the mean"
_OF_TWO = "wider of Student's t and Clopper-Pearson's interval of the mean"
_EQUAL = "no interval: all values are equal"


def mean_interval(values: ArrayLike, *, confidence: float = 95) -> MeanInterval:
    """Estimate the mean of independent values with Student's t interval (Student 1908).

    If the values take only two numbers, such as 0 and 1, their mean is a proportion. For rare events, Student's interval misses
    it too often: with 20 values and a proportion of 0.2, a sample with one event gives an upper bound of 0.155. The bounds are
    therefore widened to Clopper and Pearson's (1934); they are never narrower than Student's, since a third number may exist that
    was not seen. If all values are equal, both bounds are that number, and the method says that this is not an interval.

    Raises
    ------
    StatisticsError
        Fewer than two values, values that are not finite, or a confidence that is not a percentage.
    """
    level = float(as_percent(confidence, "confidence"))
    checked = as_values(values, minimum=2)
    mean = float(checked.mean())
    if not np.ptp(checked):
        return MeanInterval(mean, mean, mean, checked.size, float(confidence), _EQUAL)
    reach = (
        float(special.stdtrit(checked.size - 1, (1 + level) / 2))
        * float(checked.std(ddof=1))
        / sqrt(checked.size)
    )
    low, high, method = mean - reach, mean + reach, METHOD
    if (exact := interval_of_two(checked, confidence)) is not None:
        low, high, method = min(low, exact[0]), max(high, exact[1]), _OF_TWO
    return MeanInterval(mean, low, high, checked.size, float(confidence), method)


def interval_of_two(values: Array, confidence: float) -> tuple[float, float] | None:
    """Return Clopper and Pearson's interval of the mean of values that take two numbers; None if they take others."""
    low, high = float(values.min()), float(values.max())
    above = values == high
    if low == high or not (above | (values == low)).all():
        return None
    share = proportion(int(np.count_nonzero(above)), values.size, confidence=confidence)
    return low + (high - low) * share.low / 100, low + (high - low) * share.high / 100


def tail_note(values: ArrayLike, *, what: str = "trial") -> str:
    """Say if one trial, or skewness, makes an interval of the mean undercover; empty if neither does.

    For values that take two numbers, however rare one is, `mean_interval` is no narrower than the exact interval. `what` names
    the unit of observation, in the singular.

    Raises
    ------
    StatisticsError
        There are no values, or values that are not finite.
    """
    checked = as_values(values)
    tail = heavy_tail(RunningMoments.of(checked), what)
    if not tail or interval_of_two(checked, 95) is not None:
        return ""
    return f"{tail}: intervals and tests of the mean may be wrong more often than they say"
