"""Values of one sample beyond all values of another: a test of spread that assumes no distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.statistics.checks import as_values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from trialwise.statistics.checks import Array


def values_beyond(a: ArrayLike, b: ArrayLike, margin: float = 0.0) -> int:
    """Return how many values of `a` lie below the least or above the largest value of `b` by more than `margin` (in their unit).

    Raises
    ------
    StatisticsError
        A sample is empty, or has a value that is not finite.
    """
    first, second = as_values(a, "a"), as_values(b, "b")
    return int(np.sum((first < second.min() - margin) | (first > second.max() + margin)))


def exceedance_p(beyond: int, n: int, m: int) -> float:
    """Return the probability that `beyond` or more of n values lie beyond all m values of another sample of one distribution.

    It is exact for any continuous distribution, and an upper bound for others. Of C(n + m, m) orders, (r + 1) C(n + m - r - 2, m - 2)
    put r of the n outside. Source: Rosenbaum, "Tables for a nonparametric test of dispersion", Ann. Math. Statist. 24 (1953).

    Raises
    ------
    StatisticsError
        `m` is below 2, or `beyond` is not between 0 and n.
    """
    if m < 2 or not 0 <= beyond <= n:
        raise StatisticsError(
            f"{beyond} of {n} values beyond {m} others: there are none such", hint="give m >= 2"
        )
    if not beyond:
        return 1.0
    r = np.arange(beyond, n + 1)
    logs = np.log(r + 1) + _log_comb(n + m - r - 2, m - 2) - _log_comb(n + m, m)
    return min(float(np.exp(logs).sum()), 1.0)


def _log_comb(n: ArrayLike, k: int) -> Array:
    whole = np.asarray(n, dtype=np.float64)
    return special.gammaln(whole + 1) - special.gammaln(k + 1) - special.gammaln(whole - k + 1)
