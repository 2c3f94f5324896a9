"""The null distribution of Anderson and Darling's A² with tied values, conditional on the ties."""

from __future__ import annotations

from math import comb, copysign, log, log1p, pi, sqrt

import numpy as np

from trialwise.late import special
from trialwise.statistics.checks import Array
from trialwise.statistics.pooled.estimates import Pooled
from trialwise.statistics.roots import root_between

_MAX_STEPS = 6000
"""Affordable number of steps of the exact distribution, some ten microseconds each."""
_GRID = 1024
"""Largest number of partial sums kept exactly; if there are more, each is rounded up to a multiple of A² over this."""
_MAX_CATEGORIES = 128
"""Largest number of categories for the eigenvalues of the approximate distribution; beyond, neighbouring values are merged."""
_NEAR_MEAN = 1e-3


def tied_tail(pooled: Pooled, statistic: float) -> float:
    """Return P(A² ≥ statistic) under the null hypothesis, conditional on the number of occurrences of each value.

    Exact where affordable: all allocations of the pooled values to the samples are equally likely. Otherwise A² is a quadratic
    form in the sums of the first sample, which are taken as normal.
    """
    if _affordable(pooled):
        return _exact_tail(pooled, statistic)
    return _normal_tail(_eigenvalues(pooled), statistic)


def _affordable(pooled: Pooled) -> bool:
    """Return True if the exact distribution takes few enough steps from one sum of the smaller sample to the next."""
    m, left, steps = min(pooled.sizes), sum(pooled.sizes), 0
    for count in map(int, pooled.counts.tolist()):
        sums = np.arange(max(0, m - left), min(sum(pooled.sizes) - left, m) + 1)
        left -= count
        steps += int((np.minimum(count, m - sums) - np.maximum(0, m - sums - left) + 1).sum())
        if steps > _MAX_STEPS:
            return False
    return True


def _exact_tail(pooled: Pooled, statistic: float) -> float:
    """Compute the exact tail by a Markov chain: sums of the smaller sample up to each value, along which the parts of A² add up.

    A partial sum that reaches the statistic is counted with all its continuations. Partial sums are kept exactly up to a limit,
    then rounded up, so that the result may be too large by the probability within values / 1024 of the statistic, but never too
    small.
    """
    m, total = min(pooled.sizes), sum(pooled.sizes)
    counts = [int(count) for count in pooled.counts.tolist()]
    limit = statistic * (1 - 1e-9)
    if limit <= 0:
        return 1.0
    ways_beyond, left, upto = 0.0, total, 0.0
    sums: dict[int, tuple[Array, Array]] = {0: (np.zeros(1), np.ones(1))}
    for count in counts:
        left -= count
        middle = upto + count / 2
        weight = count / (middle * (total - middle) - total * count / 4)
        weight *= (total - 1) / (total * m * (total - m))
        upto += count
        reached: dict[int, list[tuple[Array, Array]]] = {}
        for own, (parts, ways) in sums.items():
            for more in range(max(0, m - own - left), min(count, m - own) + 1):
                part = weight * (total * (own + more / 2) - m * middle) ** 2
                below = parts < limit - part
                times = float(comb(count, more))
                ways_beyond += times * float(ways[~below].sum()) * comb(left, m - own - more)
                if below.any():
                    reached.setdefault(own + more, []).append((parts[below] + part, times * ways[below]))
        sums = {own: _gathered(found, limit / _GRID) for own, found in reached.items()}
    return min(1.0, ways_beyond / comb(total, m))


def _gathered(found: list[tuple[Array, Array]], step: float) -> tuple[Array, Array]:
    """Merge partial sums and their numbers of ways; if there are many, round up to multiples of `step`."""
    parts = np.concatenate([part for part, _ in found])
    ways = np.concatenate([way for _, way in found])
    if parts.size <= _GRID:
        return parts, ways
    places = np.ceil(parts / step - 1e-9).astype(np.int64)
    summed = np.bincount(places, ways).astype(np.float64)
    kept = np.flatnonzero(summed)
    return step * kept.astype(np.float64), summed[kept]


def _eigenvalues(pooled: Pooled) -> Array:
    """Return the eigenvalues of A², which sum to 1, from the exact covariance of the first sample's sums given the ties."""
    counts, total = pooled.counts, sum(pooled.sizes)
    if counts.size > _MAX_CATEGORIES:
        middle = (np.cumsum(counts) - counts / 2) / total
        together = (middle * _MAX_CATEGORIES).astype(np.int64)
        counts = np.bincount(together, counts)
        counts = counts[counts > 0]
    upto = np.cumsum(counts) - counts / 2
    own = upto * (total - upto) - total * counts / 4
    covariance = np.minimum.outer(upto, upto) * (total - np.maximum.outer(upto, upto))
    np.fill_diagonal(covariance, own)
    scale = np.sqrt(counts / (total * own))
    found: Array = np.linalg.eigvalsh(covariance * np.multiply.outer(scale, scale))
    return found[found > 1e-12]


def _normal_tail(eigenvalues: Array, statistic: float) -> float:
    """Return P(weighted sum of chi-squared variables > statistic) by Kuonen's saddlepoint approximation (1999)."""
    mean = float(eigenvalues.sum())
    if statistic <= 0:
        return 1.0
    if abs(statistic - mean) < _NEAR_MEAN * mean:
        second, third = (float((eigenvalues**power).sum()) * times for power, times in ((2, 2), (3, 8)))
        return 0.5 - (statistic - mean) / sqrt(2 * pi * second) - third / (6 * sqrt(2 * pi) * second**1.5)
    most = 1 / (2 * float(eigenvalues.max()))

    def slope(at: float) -> float:
        return float((eigenvalues / (1 - 2 * at * eigenvalues)).sum()) - statistic

    # Each term is at most 1/(-2 at), so the slope is below the statistic to the left of this.
    point = root_between(slope, -eigenvalues.size / statistic, most * (1 - 1e-13))
    height = -0.5 * sum(log1p(-2 * point * one) for one in eigenvalues.tolist())
    second = float((2 * (eigenvalues / (1 - 2 * point * eigenvalues)) ** 2).sum())
    root = copysign(sqrt(max(2 * (point * statistic - height), 0.0)), point)
    return float(special.ndtr(-(root + log(point * sqrt(second) / root) / root)))
