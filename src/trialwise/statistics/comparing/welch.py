"""Welch's test and interval of b - slope a - offset for two samples of unequal variance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trialwise.late import special
from trialwise.statistics.checks import Array
from trialwise.statistics.estimates.moments import Moments, Pair


@dataclass(frozen=True, slots=True)
class WelchDifference:
    """Mean of the second sample minus mean of the first, in the unit of the values."""

    estimate: float
    low: float
    """Infinite, like `high`, if no value differs from another and there are too few for the confidence."""
    high: float
    se: float
    df: float
    """Welch and Satterthwaite's degrees of freedom; NaN if no value of either sample differs from another."""
    confidence: float
    """In percent."""
    n: tuple[int, int]
    method: str


@dataclass(frozen=True, slots=True)
class Contrast:
    """The estimate of mean(b) - slope mean(a) - offset with its standard error; each may be an array."""

    estimate: float | Array
    se: float | Array
    df: float | Array
    """(vb + va)² / (vb² / (nb - 1) + va² / (na - 1)), with the variances v of both terms (Welch 1947)."""
    least: float
    """Smallest one-sided p-value of ranks, used if nothing varies and only they remain: of Mann and Whitney's U, 1 / (na + nb choose
    na), or of the sign test of pairs."""

    def above(self) -> Array:
        """Return the one-sided p-value against "it is not above 0"."""
        return self._tail(np.asarray(self.estimate, dtype=np.float64))

    def below(self) -> Array:
        """Return the one-sided p-value against "it is not below 0"."""
        return self._tail(-np.asarray(self.estimate, dtype=np.float64))

    def _tail(self, estimate: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            varying = special.stdtr(self.df, -estimate / self.se)
        return np.where(self.se == 0, np.where(estimate > 0, self.least, 1.0), varying)


def contrast(
    a: Moments,
    b: Moments,
    slope: float | Array = 1.0,
    offset: float | Array = 0.0,
    *,
    paired: bool = False,
) -> Contrast:
    """Estimate mean(b) - slope mean(a) - offset (Welch 1947; Satterthwaite 1946).

    With `paired`, `b` are differences of pairs, and `a` is the constant 0 as often.
    """
    of_a, of_b = slope**2 * a.variance / a.n, b.variance / b.n
    both = of_a + of_b
    with np.errstate(divide="ignore", invalid="ignore"):
        # Shares, because their squares do not underflow.
        df = 1 / (np.square(np.divide(of_a, both)) / (a.n - 1) + np.square(np.divide(of_b, both)) / (b.n - 1))
    least = least_paired_p_value(b.n) if paired else least_p_value(a.n, b.n)
    return Contrast(b.mean - slope * a.mean - offset, np.sqrt(both), df, least)


def least_p_value(m: float, n: float) -> float:
    """Return the smallest one-sided p-value that Mann and Whitney's U of m and n values can have."""
    return float(1 / special.binom(m + n, m))


def least_paired_p_value(n: float) -> float:
    """Return the smallest one-sided p-value that the sign test of n pairs can have."""
    return float(0.5**n)


def rejects(p_value: float, alpha: float) -> bool:
    """Return True if a p-value is at most alpha, up to rounding."""
    return p_value <= alpha * (1 + 1e-12)


def two_sided(found: Contrast) -> Array:
    """Return the two-sided p-value against "it is 0"."""
    return np.minimum(1.0, 2 * np.minimum(found.above(), found.below()))


def interval(found: Contrast, tail: float) -> tuple[float, float]:
    """Return the bounds; each of them misses the truth with the probability `tail`."""
    if found.se == 0:
        reach = 0.0 if rejects(found.least, tail) else float("inf")
    else:
        reach = -float(special.stdtrit(found.df, tail)) * float(found.se)
    return float(found.estimate) - reach, float(found.estimate) + reach


def welch_difference(pair: Pair, level: float, least: float | None = None) -> WelchDifference:
    """Compute Welch's interval of the difference at a level (a share).

    If no value of either sample differs from another, there is no standard error. The interval is then the difference itself if
    complete separation of this many values is rare enough (`least`, by default of Mann and Whitney's U), and infinite otherwise.
    """
    found = contrast(pair.a, pair.b)
    found = found if least is None else replace(found, least=least)
    low, high = interval(found, (1 - level) / 2)
    return WelchDifference(
        estimate=pair.unscaled(found.estimate),
        low=pair.unscaled(low),
        high=pair.unscaled(high),
        se=pair.unscaled(found.se),
        df=float(found.df),
        confidence=100 * level,
        n=pair.n,
        method="Welch" if found.se else "ranks: nothing varies",
    )
