"""Small telescopes: whether an effect is too small to have been seen by the original design (Simonsohn 2015).

A re-run that finds no effect may have been too small to find it. So it is asked whether it rejects d33, the standardised effect
at which the original design, a two-sided t test at 5 %, had a chance of 1/3. A re-run of the same size rejects it in about half
of all cases even where there is no effect at all, one of two and a half times the size in about four fifths.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from trialwise.arrays import Array
from trialwise.late import special

_SIZE, _POWER, _CHANCE = 0.05, 1 / 3, 0.8
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Telescope:
    """A re-run against the design of the original: `d` is its standardised effect in the claimed direction, `d33` that of the design.

    `is_too_small`: the re-run rejects d33 at 5 %. `enough` is the number of units on each side with which a re-run without any effect
    rejects it with a chance of 80 %.
    """

    d: float
    d33: float
    is_too_small: bool
    enough: int


def d33_of(n: tuple[int, int]) -> float:
    """Return the standardised effect that a two-sided t test at 5 % of two sides of `n` units finds with a chance of 1/3.

    The chance is that of the right tail, by the non-central t distribution.
    """
    from scipy.optimize import brentq
    from scipy.stats import nct  # its upper tail is more exact than 1 - nctdtr

    freedom, root = sum(n) - 2, _root(n)
    critical = float(special.stdtrit(freedom, 1 - _SIZE / 2))
    return float(brentq(lambda d: nct.sf(critical, freedom, d * root) - _POWER, 1e-9, 20.0))


def telescope(sides: tuple[Array, Array], n: tuple[int, int]) -> Telescope | None:
    """Judge a re-run against d33 of an original of `n` units; None if nothing varies.

    Parameters
    ----------
    sides
        The values of the re-run; by the claim, those of the first side are larger.
    """
    one, other = sides
    freedom = one.size + other.size - 2
    pooled = sqrt(((one.size - 1) * one.var(ddof=1) + (other.size - 1) * other.var(ddof=1)) / freedom)
    if not pooled:
        return None
    d, d33 = float(np.mean(one) - np.mean(other)) / pooled, d33_of(n)
    root = _root((one.size, other.size))
    chance = float(special.nctdtr(freedom, d33 * root, d * root))
    return Telescope(d, d33, chance <= _SIZE, _enough(d33))


def rejects(d33: float, n: int) -> float:
    """Return the chance that a re-run of `n` units on each side rejects d33 at 5 % where there is no effect."""
    from scipy.stats import nct

    freedom, root = 2 * n - 2, _root((n, n))
    return float(special.stdtr(freedom, nct.ppf(_SIZE, freedom, d33 * root)))


def _enough(d33: float) -> int:
    """Return the smallest size with that chance, from about the size by the normal distribution on."""
    low, high = 2, max(8, 4 * ceil(16 / d33**2))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if rejects(d33, middle) >= _CHANCE else (middle, high)
    return min(high, _MOST)


def _root(n: tuple[int, int]) -> float:
    return sqrt(1 / (1 / n[0] + 1 / n[1]))
