"""Tolerance intervals: where most of a distribution lies, from a sample of it."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from trialwise.late import special
from trialwise.statistics.checks import as_percent, as_values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def tolerance_factor(n: int, content: float, confidence: float) -> float:
    """Return how many standard deviations around the mean of n normal values hold `content` percent of them, with confidence.

    Source: Howe, "Two-sided tolerance limits for normal populations", JASA 64 (1969), as in the NIST/SEMATECH handbook, 7.2.6.3.
    """
    reach = float(special.ndtri((1 + content / 100) / 2))
    return reach * sqrt((n - 1) * (1 + 1 / n) / float(special.chdtri(n - 1, confidence / 100)))


def tolerance_interval(
    values: ArrayLike, *, content: float = 90, confidence: float = 95
) -> tuple[float, float]:
    """Return the interval that holds `content` percent of a normal distribution with `confidence` percent, from a sample.

    Raises
    ------
    StatisticsError
        Fewer than two values, values that are not finite, or a percentage out of range.
    """
    share, level = (
        100 * float(as_percent(each, name))
        for each, name in ((content, "content"), (confidence, "confidence"))
    )
    checked = as_values(values, "values", minimum=2)
    reach = tolerance_factor(checked.size, share, level) * float(checked.std(ddof=1))
    return float(checked.mean()) - reach, float(checked.mean()) + reach
