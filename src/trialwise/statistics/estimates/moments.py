"""Size, mean and variance of two samples, in a common unit in which squares do not overflow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import frexp

import numpy as np

from trialwise.statistics.checks import Array


@dataclass(frozen=True, slots=True)
class Moments:
    """Moments of one sample, or, as arrays, of many samples of n values each."""

    n: float
    """Number of values; not an integer where an average stands for a sample of degrees of freedom + 1 values."""
    mean: float | Array
    variance: float | Array
    """Of a single value, with n - 1 in the denominator."""

    @classmethod
    def of(cls, values: Array) -> Moments:
        """Compute the moments along the last axis; equal values have a variance of exactly 0."""
        from_first = values - values[..., :1]
        mean = values[..., 0] + from_first.mean(axis=-1)
        return cls(values.shape[-1], mean, from_first.var(axis=-1, ddof=1))


def pair_differences(b: Array, a: Array) -> Array:
    """Return b - a value by value; if these differ by rounding only, return the first for all."""
    differences = b - a
    rounding = 4 * np.finfo(np.float64).eps * max(float(np.abs(a).max()), float(np.abs(b).max()))
    return differences if np.ptp(differences) > rounding else np.full_like(differences, differences[0])


@dataclass(frozen=True, slots=True)
class Pair:
    """Moments of two samples, in units of 2 to the power of `exponent`."""

    a: Moments
    b: Moments
    exponent: int = 0
    shared: bool = False
    """True if both have the pooled variance (`shared_variance`)."""

    @classmethod
    def of(cls, a: Array, b: Array) -> Pair:
        """Compute the moments of two checked samples; if one shows no variance, see `shared_variance`."""
        exponent = exponent_of(a, b)
        first, second = np.ldexp(a, -exponent), np.ldexp(b, -exponent)
        moments = Moments.of(first), Moments.of(second)
        shared = shared_variance(*moments, first, second)
        if shared is not None:
            moments = replace(moments[0], variance=shared), replace(moments[1], variance=shared)
        return cls(*moments, exponent, shared is not None)

    @classmethod
    def of_summary(
        cls, n: tuple[int, int], means: tuple[float, float], deviations: tuple[float, float]
    ) -> Pair:
        """Build a pair from numbers, means and standard deviations."""
        exponent = exponent_of(np.array(means), np.array(deviations))
        scaled = np.ldexp(np.array([means, deviations]), -exponent)
        a, b = (Moments(n[side], float(scaled[0, side]), float(scaled[1, side] ** 2)) for side in (0, 1))
        return cls(a, b, exponent)

    @property
    def n(self) -> tuple[int, int]:
        """Number of values in each sample."""
        return int(self.a.n), int(self.b.n)

    def scaled(self, value: float) -> float:
        """Convert a value to the unit of the moments."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(value, -self.exponent))

    def unscaled(self, value: float | Array) -> float:
        """Convert a value from the unit of the moments to the unit of the values."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(value, self.exponent))


def shared_variance(first: Moments, second: Moments, a: Array, b: Array) -> float | None:
    """Return the pooled variance if the smaller sample is one repeated number that also occurs in the other.

    Equal values may be chance, since the other sample has that number too. If their variance were taken as 0, Welch's test would
    find that ten trials without a failure differ from 200 with 10 % failures, in 35 % of cases where nothing differs.
    """
    for own, other, values in ((first, second, b), (second, first, a)):
        if not own.variance and other.variance and own.n < other.n and bool((values == own.mean).any()):
            return float(other.variance) * (other.n - 1) / (own.n + other.n - 2)
    return None


def exponent_of(*values: Array) -> int:
    """Return the power of 2 by which the largest of all values is below 1."""
    return frexp(max(float(np.abs(part).max()) for part in values))[1]
