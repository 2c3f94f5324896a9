"""Anderson and Darling's two-sample test of equal distributions."""

from __future__ import annotations

from functools import lru_cache
from math import exp, pi, sqrt

import numpy as np

from trialwise.late import special
from trialwise.statistics.checks import Array
from trialwise.statistics.pooled.estimates import Pooled
from trialwise.statistics.tests.anderson_ties import tied_tail

FEWEST = 4
"""Smallest pooled sample size with the variance that the test needs."""
_LIMIT_DEVIATION = sqrt(2 * (pi**2 - 9) / 3)
"""Standard deviation of the limit of A², whose mean is 1 (Anderson and Darling 1954)."""


def anderson_darling(first: Array, second: Array) -> tuple[float, float]:
    """Compute A² of two checked samples in the midrank form, and its p-value.

    Scholz and Stephens 1987, equation 7 (ties allowed). Without ties, A² is standardised by its exact standard deviation at these
    sample sizes (their equation 4) and compared with its limiting distribution, which for two samples equals that of the
    one-sample statistic (Pettitt 1976). Ties increase the variance of A²; the p-value is then conditional on them.
    """
    return of_pooled(Pooled.of(first, second))


def of_pooled(pooled: Pooled) -> tuple[float, float]:
    """Compute `anderson_darling` for samples that are already pooled."""
    m, n = pooled.sizes
    total = m + n
    if pooled.counts.size == 1:
        return 0.0, 1.0
    own, times = pooled.own, pooled.counts
    upto = np.cumsum(times) - times / 2
    beyond = total * (np.cumsum(own) - own / 2) - m * upto
    weights = times / (upto * (total - upto) - total * times / 4)
    statistic = float((weights * beyond**2).sum() * (total - 1) / (total * m * n))
    if own.size < total:
        return statistic, tied_tail(pooled, statistic)
    return statistic, limit_tail(1 + (statistic - 1) * _LIMIT_DEVIATION / _deviation(m, n))


@lru_cache(maxsize=1024)
def _deviation(m: int, n: int) -> float:
    """Return the standard deviation of A² under the null hypothesis: Scholz and Stephens 1987, equation 4, for two samples."""
    total, inverse = m + n, 1 / m + 1 / n
    steps = np.arange(1.0, total)
    h = float((1 / steps).sum())
    tails = np.cumsum(1 / steps[:0:-1])[::-1]
    g = float((tails / (total - steps[:-1])).sum())
    a = 4 * g - 6 + (10 - 6 * g) * inverse
    b = 8 * g - 16 + 8 * h + (2 * g - 14 * h - 4) * inverse + 4 * g - 6
    c = 4 * (6 * h + 2 * g - 2) + 2 * (4 * h - 4 * g + 6) + (2 * h - 6) * inverse + 4 * h
    d = 4 * (2 * h + 6) - 8 * h
    variance = (a * total**3 + b * total**2 + c * total + d) / ((total - 1) * (total - 2) * (total - 3))
    return sqrt(variance)


def limit_tail(z: float) -> float:
    """Return P(A² > z) in the limit: Marsaglia and Marsaglia 2004 (accurate to 2e-6), beyond 8 the leading term of the tail.

    A² is the sum of chi-squared variables over j(j + 1); beyond 8 the first (over 2) dominates, times √3, the product of (1 -
    2/(j(j + 1)))^(-1/2) over j > 1 (Zolotarev 1961).
    """
    if z <= 0.01:
        return 1.0
    if z < 2:
        inner = 0.247105 - (0.0649821 - (0.0347962 - (0.011672 - 0.00168691 * z) * z) * z) * z
        return 1 - exp(-1.2337141 / z) / sqrt(z) * (2.00012 + inner * z)
    if z < 8:
        inner = 0.43424 - (0.082433 - (0.008056 - 0.0003146 * z) * z) * z
        return -float(np.expm1(-exp(1.0776 - (2.30695 - inner * z) * z)))
    return float(sqrt(3) * special.erfc(sqrt(z)))
