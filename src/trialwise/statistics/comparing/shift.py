"""The shift between two samples: Hodges and Lehmann's estimate with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import floor, sqrt

import numpy as np

from trialwise import _core
from trialwise.late import special
from trialwise.statistics.checks import Array

MAX_EXACT = 50
"""Largest sample size for which ranks come from the exact distribution of Mann and Whitney's U."""
_MAX_BUILT = 4_000
"""Differences that are built, all of them."""


@dataclass(frozen=True, slots=True)
class Shift:
    """The shift of the first sample relative to the second (Hodges and Lehmann 1963), in the unit of the values."""

    estimate: float
    """Median of all differences between a value of the first sample and one of the second."""
    low: float | None
    """Lower bound; None if there are too few values for the confidence."""
    high: float | None
    """Upper bound, likewise."""
    confidence: float
    """In percent."""
    n: tuple[int, int]
    """Values of each sample."""
    method: str
    """Where the ranks of the bounds come from."""
    attained: float | None
    """Coverage of the interval, in percent (at least this on tied data); None if there are no bounds."""


def shift_between(first: Array, second: Array, level: float) -> Shift:
    """Estimate the Hodges-Lehmann shift of checked values with a two-sided interval at a level (a share).

    The interval goes from the c-th smallest to the c-th largest difference, where c is the largest number with P(U <= c - 1) <=
    (1 - level) / 2 (Lehmann 1975, section 2.5; `wilcox.test` of R). With ties the coverage is at least the level.
    """
    x, y = np.sort(first), np.sort(second)
    pairs = x.size * y.size
    exact = max(x.size, y.size) <= MAX_EXACT
    few, many = sorted((x.size, y.size))
    c = _exact_rank(few, many, (1 - level) / 2) if exact else _normal_rank(few, many, (1 - level) / 2)
    middle = [(pairs + 1) // 2, pairs // 2 + 1]
    found = _differences(x, y, [*middle, *([c, pairs + 1 - c] if c else [])])
    return Shift(
        estimate=(found[0] + found[1]) / 2,
        low=found[2] if c else None,
        high=found[3] if c else None,
        confidence=100 * level,
        n=(first.size, second.size),
        method="exact ranks" if exact else "normal ranks",
        attained=100 * (_exact_coverage(few, many, c) if exact else _normal_coverage(few, many, c))
        if c
        else None,
    )


def _normal_rank(m: int, n: int, tail: float) -> int:
    return max(0, floor(m * n / 2 + special.ndtri(tail) * sqrt(m * n * (m + n + 1) / 12) + 0.5))


def _normal_coverage(m: int, n: int, c: int) -> float:
    return 1 - 2 * float(special.ndtr((c - 0.5 - m * n / 2) / sqrt(m * n * (m + n + 1) / 12)))


@lru_cache(maxsize=1024)
def _exact_rank(m: int, n: int, tail: float) -> int:
    below = np.cumsum(_rank_sums(m, n))
    return int(np.searchsorted(below / below[-1], tail * (1 + 1e-12), side="right"))


@lru_cache(maxsize=1024)
def _exact_coverage(m: int, n: int, c: int) -> float:
    counts = _rank_sums(m, n)
    return 1 - 2 * float(counts[:c].sum() / counts.sum())


@lru_cache(maxsize=1024)
def _rank_sums(m: int, n: int) -> Array:
    """Count the arrangements of m and n values with each U (Mann and Whitney 1947).

    f(i, j, u) = f(i, j - 1, u) + f(i - 1, j, u - j): the largest value belongs to the second or to the first sample.
    """
    counts = np.zeros((n + 1, m * n + 1))
    counts[:, 0] = 1.0
    for _ in range(m):
        for j in range(1, n + 1):
            counts[j, j:] = counts[j, : m * n + 1 - j]
            counts[j, :j] = 0.0
            counts[j] += counts[j - 1]
    return counts[n]


def _differences(x: Array, y: Array, wanted: list[int]) -> list[float]:
    """Return the differences x - y of these ranks (from 1), both samples sorted, without building all of them if many."""
    if x.size * y.size > _MAX_BUILT:
        return _core.differences_at(x, y, wanted).tolist()
    places = [rank - 1 for rank in wanted]
    made = np.partition(np.subtract.outer(x, y).ravel(), places)
    return [float(made[place]) for place in places]
