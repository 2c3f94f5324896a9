"""The energy distance between two samples, and what of it is noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trialwise.statistics.checks import as_values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from trialwise.statistics.checks import Array


def energy_distance(a: ArrayLike, b: ArrayLike) -> float:
    """Return 2 E|A - B| - E|A - A'| - E|B - B'| of two samples, in their unit; 0 if they are the same.

    Source: Székely and Rizzo, "Energy statistics", J. Stat. Plan. Inference 143 (2013), equation 2.5, as a V-statistic.

    Raises
    ------
    StatisticsError
        A sample is empty, or has a value that is not finite.
    """
    first, second = as_values(a, "a"), as_values(b, "b")
    return 2 * _apart(first, second) - _apart(first, first) - _apart(second, second)


def _apart(a: Array, b: Array) -> float:
    return float(np.abs(a[:, None] - b[None, :]).mean())


def null_distance(values: ArrayLike, other: int) -> float:
    """Return the mean energy distance of a sample to another one of `other` values of its distribution.

    The mean of the V-statistic under the null is E|A - A'| (1 / n + 1 / m). E|A - A'| is estimated over all pairs of the sample, which
    is what the distances of all its splits in halves average to.

    Raises
    ------
    StatisticsError
        There are fewer than two values, or one is not finite.
    """
    checked = as_values(values, "values", minimum=2)
    pairs = _apart(checked, checked) * checked.size / (checked.size - 1)
    return pairs * (1 / checked.size + 1 / other)
