"""The turning-point test of independence."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from trialwise.statistics.checks import Array, as_values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class TurningPoints:
    """How often a series turns, against how often independent values would."""

    count: int
    """Values above both neighbours, or below both."""
    expected: float
    """2(n - 2)/3."""
    variance: float
    """(16 n - 29)/90."""
    z: float
    """(count - expected)/√variance: below 0 where neighbours are alike."""
    p_value: float
    """Two-sided, by the normal distribution."""
    ties: int
    """Neighbours that are equal: with many of them independent values too turn less often than expected."""
    n: int
    method: str


def turning_points(values: ArrayLike) -> TurningPoints:
    """Test whether a series turns as often as independent values of one distribution do.

    Bienaymé (1874); Kendall and Stuart, "The Advanced Theory of Statistics", vol. 3, section 45.18: among three independent
    values of a continuous distribution the middle one is an extreme with probability 2/3. As in the R package spgs a value
    that equals a neighbour is no turning point, and n is not reduced; `ties` says how many there are.

    Raises
    ------
    ValueError
        Fewer than three values, or values that are not finite.
    """
    array = as_values(values, minimum=3)
    rises: Array = np.sign(np.diff(array))
    count = int(np.count_nonzero(rises[1:] * rises[:-1] < 0))
    n = array.size
    expected, variance = 2 * (n - 2) / 3, (16 * n - 29) / 90
    z = (count - expected) / sqrt(variance)
    return TurningPoints(
        count=count,
        expected=expected,
        variance=variance,
        z=z,
        p_value=2 * float(ndtr(-abs(z))),
        ties=int(np.count_nonzero(rises == 0)),
        n=n,
        method="turning points, normal approximation",
    )
