"""The shift of pairs: Hodges and Lehmann's estimate with the interval of Wilcoxon's signed ranks."""

from __future__ import annotations

from functools import lru_cache
from math import floor, sqrt

import numpy as np

from trialwise.late import special
from trialwise.statistics.checks import Array
from trialwise.statistics.comparing.shift import MAX_EXACT, Shift

_MAX_AVERAGES = 2_000
"""Largest number of values used in full; of more, every k-th in order is used, since a million averages suffice."""


def shift_of_pairs(differences: Array, level: float) -> Shift:
    """Estimate the median of all pairwise averages (each value with itself too), with a two-sided interval at a level (a share).

    The interval goes from the c-th smallest to the c-th largest average, where c is the largest number with P(V <= c - 1) <= (1 -
    level) / 2 (Lehmann 1975, section 4.4; `wilcox.test` of R). With ties the coverage is at least the level.
    """
    n = differences.size
    tail = (1 - level) / 2
    exact = n <= MAX_EXACT
    c = _exact_rank(n, tail) if exact else _normal_rank(n, tail)
    averages = _averages(np.sort(differences))
    place = round(c * averages.size / (n * (n + 1) // 2)) if n > _MAX_AVERAGES else c
    return Shift(
        estimate=float(np.median(averages)),
        low=float(averages[place - 1]) if c else None,
        high=float(averages[averages.size - place]) if c else None,
        confidence=100 * level,
        n=(n, n),
        method="exact signed ranks" if exact else "normal signed ranks",
        attained=100 * (_exact_coverage(n, c) if exact else _normal_coverage(n, c)) if c else None,
    )


def _averages(ordered: Array) -> Array:
    step = -(-ordered.size // _MAX_AVERAGES)
    kept = ordered[step // 2 :: step]
    rows, columns = np.triu_indices(kept.size)
    return np.sort((kept[rows] + kept[columns]) / 2)


@lru_cache(maxsize=256)
def _counts(n: int) -> Array:
    """Count how many of the 2^n choices of signs have each sum of positive ranks (Wilcoxon 1945)."""
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1.0
    for rank in range(1, n + 1):
        counts[rank:] = counts[rank:] + counts[:-rank]
    return counts


def _exact_rank(n: int, tail: float) -> int:
    below = np.cumsum(_counts(n)) / 2.0**n
    return int(np.searchsorted(below, tail * (1 + 1e-12), side="right"))


def _exact_coverage(n: int, c: int) -> float:
    return 1 - 2 * float(_counts(n)[:c].sum() / 2.0**n)


def _spread(n: int) -> float:
    return sqrt(n * (n + 1) * (2 * n + 1) / 24)


def _normal_rank(n: int, tail: float) -> int:
    return max(0, floor(n * (n + 1) / 4 + special.ndtri(tail) * _spread(n) + 0.5))


def _normal_coverage(n: int, c: int) -> float:
    return 1 - 2 * float(special.ndtr((c - 0.5 - n * (n + 1) / 4) / _spread(n)))
