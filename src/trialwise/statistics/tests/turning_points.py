"""The turning-point test of independence."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from trialwise.late import special
from trialwise.statistics.checks import Array, Method, as_method, as_values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_EVERY_ORDER = 7
_SHUFFLED = 100
_SHUFFLES = 9999
_SEED = 18_740_405
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class TurningPoints:
    """Number of turning points of a series, compared with that of independent values."""

    count: int
    """Values above both neighbours, or below both."""
    expected: float
    """2(n - 2)/3; with ties, over the orders of these values."""
    variance: float
    """(16 n - 29)/90; with ties, over the orders likewise."""
    z: float
    """(count - expected)/√variance: negative if neighbours are similar; 0 if the variance is 0."""
    p_value: float
    """Two-sided."""
    ties: int
    """Number of equal neighbours."""
    n: int
    method: str


def turning_points(values: ArrayLike, *, method: Method = "default") -> TurningPoints:
    """Test whether a series turns as often as independent values of one distribution.

    Bienaymé (1874); Kendall and Stuart, "The Advanced Theory of Statistics", vol. 3, section 45.18: among three independent
    values of a continuous distribution the middle one is an extreme with probability 2/3. A value that equals a neighbour is not
    a turning point, so that series with ties turn less often. Their null distribution is over all orders of the values:
    enumerated up to 7 values, by 9,999 seeded shuffles up to 100, and beyond that normal, with the expectation over all orders
    and a variance with a relative error of order 1/n.

    Parameters
    ----------
    values
        In time order.
    method
        "paper" treats values as continuous despite ties, as the R package spgs does.

    Raises
    ------
    StatisticsError
        Fewer than three values, values that are not finite, or an unknown method.
    """
    paper, array = as_method(method), as_values(values, minimum=3)
    n, count = array.size, int(_turns(array[None, :])[0])
    times = np.unique(array, return_counts=True)[1].astype(np.float64)
    if paper or times.size == n:
        expected, variance = 2 * (n - 2) / 3, (16 * n - 29) / 90
        p_value, law = _normal(count, expected, variance), "normal approximation"
    elif n <= _SHUFFLED:
        expected = (n - 2) * _share_of_extremes(times)
        p_value, variance, law = _by_orders(array, count, expected)
    else:
        expected, variance = (n - 2) * _share_of_extremes(times), n * _variance_of_one(times / n)
        p_value, law = _normal(count, expected, variance), "normal approximation given the ties"
    return TurningPoints(
        count=count,
        expected=expected,
        variance=variance,
        z=(count - expected) / sqrt(variance) if variance > 0 else 0.0,
        p_value=p_value,
        ties=int(np.count_nonzero(np.diff(array) == 0)),
        n=n,
        method=f"turning points, {law}",
    )


def _turns(rows: Array) -> NDArray[np.int64]:
    """Count the turning points of each row."""
    rises = np.sign(np.diff(rows, axis=1))
    return np.count_nonzero(rises[:, 1:] * rises[:, :-1] < 0, axis=1)


def _normal(count: int, expected: float, variance: float) -> float:
    return 2 * float(special.ndtr(-abs(count - expected) / sqrt(variance))) if variance > 0 else 1.0


def _by_orders(array: Array, count: int, expected: float) -> tuple[float, float, str]:
    """Return p-value and variance over all orders, or over seeded ones, and which was done."""
    codes = np.unique(array, return_inverse=True)[1].astype(np.float64)
    if every := array.size <= _EVERY_ORDER:
        orders = np.array(list(permutations(codes.tolist())))
    else:
        random = np.random.Generator(np.random.PCG64DXSM(_SEED))
        orders = random.permuted(np.tile(np.sort(codes), (_SHUFFLES, 1)), axis=1)
    apart = np.abs(_turns(orders) - expected)
    beyond = int((apart >= abs(count - expected) - _ROUNDING).sum())
    p_value = beyond / apart.size if every else (beyond + 1) / (apart.size + 1)
    law = f"{'all' if every else f'{apart.size:,} seeded'} orders"
    return p_value, float((apart**2).mean()), law


def _share_of_extremes(times: Array) -> float:
    """Return the probability, over all orders, that the middle one of three values is above or below both others."""
    n, below = float(times.sum()), np.cumsum(times) - times
    above = n - below - times
    ways = times @ (below * (below - 1) + above * (above - 1))
    return float(ways) / (n * (n - 1) * (n - 2))


def _variance_of_one(shares: Array) -> float:
    """Return the variance of the number of turning points over all orders, per value, in the limit of many values.

    It is the variance for independent values with these shares, minus the part due to the frequencies of the values, which all
    orders share: 9 Var E[h | one value] (Hájek's projection), with h = 1 if the middle one of three values is an extreme.
    """
    below = np.cumsum(shares) - shares
    above = np.maximum(1 - below - shares, 0.0)
    middle = below**2 + above**2
    lower_ways, upper_ways = shares * below, shares * above
    # As a neighbour: the middle value is above it and above the third, or below both.
    side = (lower_ways.sum() - np.cumsum(lower_ways)) + (np.cumsum(upper_ways) - upper_ways)
    mean = float(shares @ middle)
    # Of four values both middle ones turn: the first up and the second down, or vice versa.
    next_to = 2 * float((shares * above) @ (lower_ways.sum() - np.cumsum(lower_ways)))
    beyond = float(shares @ side**2)
    projected = middle + 2 * side
    common = float(shares @ projected**2) - (3 * mean) ** 2
    return max(0.0, mean + 2 * next_to + 2 * beyond - 5 * mean**2 - common)
