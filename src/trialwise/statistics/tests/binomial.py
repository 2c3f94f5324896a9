"""Exact binomial probabilities of ranks: Thompson (1936), TriScale Eq. (1)-(3).

Of n independent values, the number below the p-quantile Q of their distribution is Bin(n, p). The interval from the l-th to the
u-th smallest value therefore covers Q with probability P(l <= Bin(n, p) <= u - 1), or more if the distribution has ties. Rank 0
means minus infinity, rank n + 1 infinity.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from trialwise.late import special

# Doubles cannot decide if a probability and its requirement differ by a smaller relative amount than this.
_DOUBT = 1e-9
# Up to this n, doubtful cases are decided in integers; beyond it, in doubles with a tolerance. The one equality
# that occurs at any n, 1/2 against 1/2 for the median of an odd number, is exact in doubles too.
_EXACT_UP_TO = 4096
_LARGE_N_TOLERANCE = 1e-12


def miss(n: int, low: int, high: int, p: Fraction) -> float:
    """Compute the probability that the interval between two ranks of n values misses their p-quantile."""
    below = float(special.betainc(n - low + 1, low, float(1 - p))) if low > 0 else 0.0
    above = float(special.betainc(high, n - high + 1, float(p))) if high <= n else 0.0
    return below + above


def covers(n: int, low: int, high: int, p: Fraction, level: Fraction) -> bool:
    """Decide exactly whether the interval between two ranks covers the p-quantile with probability `level`."""
    allowed = 1 - level
    expected, found = float(allowed), miss(n, low, high, p)
    if abs(found - expected) > _DOUBT * expected:
        return found < expected
    if n > _EXACT_UP_TO:
        return found <= expected * (1 + _LARGE_N_TOLERANCE)
    return _exact_miss(n, low, high, p) <= allowed


def _exact_miss(n: int, low: int, high: int, p: Fraction) -> Fraction:
    return _exact_at_most(n, low - 1, p) + _exact_at_most(n, n - high, 1 - p)


def _exact_at_most(n: int, k: int, p: Fraction) -> Fraction:
    """Return P(Bin(n, p) <= k), computing each term from the previous one in integers."""
    if k < 0:
        return Fraction(0)
    if 2 * k > n:
        return 1 - _exact_at_most(n, n - k - 1, 1 - p)
    success, failure = p.numerator, p.denominator - p.numerator
    total = term = failure**n
    for j in range(k):
        term = term * ((n - j) * success) // ((j + 1) * failure)
        total += term
    return Fraction(total, p.denominator**n)


@lru_cache(maxsize=1 << 14)
def lower_rank(n: int, p: Fraction, level: Fraction) -> int | None:
    """Find the largest rank whose value is a lower bound of the p-quantile; None if there is none."""
    if not covers(n, 1, n + 1, p, level):
        return None
    low, high = 1, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if covers(n, middle, n + 1, p, level) else (low, middle)
    return low


def upper_rank(n: int, p: Fraction, level: Fraction) -> int | None:
    """Find the smallest rank whose value is an upper bound of the p-quantile (Eq. 3); None if there is none."""
    mirrored = lower_rank(n, 1 - p, level)
    return None if mirrored is None else n + 1 - mirrored
