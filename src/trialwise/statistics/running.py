"""Moments of numbers that come one by one, and what in them makes a sequential rule stop too early."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trialwise.statistics.checks import Array

_SHARE = 0.2
_SKEW = 3.0
_NORMAL = 3.0


@dataclass(slots=True)
class RunningMoments:
    """Number, mean and central sums of powers (Welford 1962; Pébay 2008): constant memory, no cancellation."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    """Sum of the squared deviations from the mean."""
    cubes: float = 0.0
    fourths: float = 0.0
    largest: float = -inf

    @classmethod
    def of(cls, values: Array) -> RunningMoments:
        """Of all of them at once, shape (n,): the same as one by one, to rounding."""
        if not values.size:
            return cls()
        first = float(values[0])
        # So the mean of numbers that are all equal is no other number by rounding.
        from_first = values - first
        mean = float(from_first.mean())
        deviations = from_first - mean
        squared = deviations * deviations
        return cls(
            n=values.size,
            mean=first + mean,
            squares=float(squared.sum()),
            cubes=float((squared * deviations).sum()),
            fourths=float((squared * squared).sum()),
            largest=float(values.max()),
        )

    def add(self, value: float) -> None:
        """Take one number in."""
        before, self.n = self.n, self.n + 1
        delta = value - self.mean
        step = delta / self.n
        new = delta * step * before
        self.mean += step
        self.fourths += (
            new * step * step * (self.n * self.n - 3 * self.n + 3)
            + 6 * step * step * self.squares
            - 4 * step * self.cubes
        )
        self.cubes += new * step * (self.n - 2) - 3 * step * self.squares
        self.squares += new
        self.largest = max(self.largest, value)

    @property
    def deviation(self) -> float:
        """Standard deviation, n - 1 in the denominator; 0 of a single number."""
        return sqrt(self.squares / (self.n - 1)) if self.n > 1 else 0.0

    @property
    def skewness(self) -> float:
        """Third standardised moment; 0 where nothing varies."""
        variance = self.squares / self.n if self.n else 0.0
        return self.cubes / self.n / variance / sqrt(variance) if variance else 0.0

    @property
    def largest_share(self) -> float:
        """What the largest number contributes to the sum of squares."""
        from_mean = self.largest - self.mean
        return from_mean / self.squares * from_mean if self.squares else 0.0

    @property
    def degrees_of_freedom(self) -> float:
        """Of the sample variance: n - 1 for normal values, fewer for heavier tails (Shoemaker 2003)."""
        if self.n < 2 or not self.squares:
            return 1.0
        kurtosis = max(self.n * self.fourths / self.squares / self.squares, _NORMAL)
        return 2 * self.n / (kurtosis - (self.n - 3) / (self.n - 1))


def tail_warnings(moments: RunningMoments) -> list[str]:
    """What in these trials makes a rule that looks at their spread stop too early."""
    if moments.squares == 0:
        return ["these trials are all equal, which stops the rule at once and says nothing about rare ones"]
    if moments.largest_share <= _SHARE and moments.skewness <= _SKEW:
        return []
    share = 100 * moments.largest_share
    return [f"here the largest trial makes {share:.0f} % of the variance (skewness {moments.skewness:.1f})"]
