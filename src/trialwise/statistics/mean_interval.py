"""The mean of a few values with Student's interval."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from trialwise.statistics.checks import as_percent, as_values

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


def mean_interval(values: ArrayLike, *, confidence: float = 95) -> MeanInterval:
    """The mean of independent values with Student's t interval (Student 1908).

    Raises
    ------
    StatisticsError
        Fewer than two values, values that are not finite, or a confidence that is no percentage.
    """
    level = float(as_percent(confidence, "confidence"))
    checked = as_values(values, minimum=2)
    mean = float(checked.mean())
    spread = float(checked.std(ddof=1)) if np.ptp(checked) else 0.0
    reach = float(stdtrit(checked.size - 1, (1 + level) / 2)) * spread / sqrt(checked.size)
    return MeanInterval(
        mean, mean - reach, mean + reach, checked.size, float(confidence), "Student's t interval of the mean"
    )
