"""The shift between two samples: Hodges and Lehmann's estimate with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import floor, sqrt

import numpy as np
from scipy.special import ndtr, ndtri

from trialwise import _core
from trialwise.statistics.checks import Array

MAX_EXACT = 50
"""Largest sample size for which ranks come from the exact distribution of Mann and Whitney's U."""
_MAX_CANDIDATES = 4_000
_SKETCH = 24
"""Number of values of each sample that represent all of them for an initial guess."""


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
    return max(0, floor(m * n / 2 + ndtri(tail) * sqrt(m * n * (m + n + 1) / 12) + 0.5))


def _normal_coverage(m: int, n: int, c: int) -> float:
    return 1 - 2 * float(ndtr((c - 0.5 - m * n / 2) / sqrt(m * n * (m + n + 1) / 12)))


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
    if x.size * y.size <= _MAX_CANDIDATES:
        places = [rank - 1 for rank in wanted]
        made = np.partition(np.subtract.outer(x, y).ravel(), places)
        return [float(made[place]) for place in places]
    found: dict[int, float] = {}
    sketch = np.sort(np.subtract.outer(_thinned(x), _thinned(y)).ravel())
    for rank in wanted:
        if rank not in found:
            # The middle ranks are neighbours: a bracket found for one mostly contains the other.
            ranks = [rank, *([rank + 1] if rank + 1 in wanted else [])]
            found |= _found(x, y, ranks, float(sketch[(rank - 1) * sketch.size // (x.size * y.size)]))
    return [found[rank] for rank in wanted]


def _thinned(ordered: Array) -> Array:
    step = -(-ordered.size // _SKETCH)
    return ordered[step // 2 :: step]


def _found(x: Array, y: Array, ranks: list[int], guess: float) -> dict[int, float]:
    """Return the difference of the first rank, and those of the other ranks in the same bracket.

    Narrow a bracket of values, by alternating interpolation and bisection, until few differences lie in it; select among these.
    """
    low, high = float(x[0] - y[-1]), float(x[-1] - y[0])
    if low == high:
        return dict.fromkeys(ranks, low)
    # The bracket is open below, so start well below: rounding must not exclude the smallest difference.
    low -= high - low
    rank, below, upto, turn = ranks[0], 0, x.size * y.size, 0
    while upto - below > _MAX_CANDIDATES:
        middle = guess if low < guess < high else low + (high - low) / 2
        if not low < middle < high:
            return {rank: high}
        count = _count(x, y, middle)
        if count >= rank:
            high, upto = middle, count
        else:
            low, below = middle, count
        turn += 1
        guess = _interpolated(low, high, below, upto, rank) if turn % 3 else low + (high - low) / 2
    inside = [other for other in ranks if other <= upto]
    picked = _within(x, y, low, high, [other - below for other in inside])
    return dict(zip(inside, picked, strict=True))


def _interpolated(low: float, high: float, below: int, upto: int, rank: int) -> float:
    """Return a value just beyond the rank, on the side with more differences, so that the next bracket is small."""
    beyond = _MAX_CANDIDATES // 3
    aim = rank - below + (beyond if upto - rank > rank - below else -beyond)
    return low + (high - low) * aim / (upto - below)


def _count(x: Array, y: Array, bound: float) -> int:
    """Count the differences up to a bound; search and selection compare the same sums."""
    return _core.differences_up_to(x, y, bound)


def _within(x: Array, y: Array, low: float, high: float, ranks: list[int]) -> list[float]:
    begin = np.searchsorted(y, x - high, side="left")
    end = np.searchsorted(y, x - low, side="left")
    lengths = end - begin
    owners = np.repeat(np.arange(x.size), lengths)
    offsets = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    places = [rank - 1 for rank in ranks]
    made = np.partition(x[owners] - y[begin[owners] + offsets], places)
    return [float(made[place]) for place in places]
