"""Online moments of a sequence of numbers, and features that make a sequential rule stop too early."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf, sqrt
from typing import TYPE_CHECKING

from trialwise.late import special
from trialwise.statistics.tails import FEWEST

if TYPE_CHECKING:
    from trialwise.statistics.checks import Array

_SHARE = 0.2
_SKEW = 3.0
_BY_CHANCE = 0.01
"""Maximum probability of reporting a heavy tail for normal values."""
_NORMAL = 3.0


@dataclass(slots=True)
class RunningMoments:
    """Count, mean and central power sums (Welford 1962; Pébay 2008): constant memory, no cancellation."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    """Sum of squared deviations from the mean."""
    cubes: float = 0.0
    fourths: float = 0.0
    largest: float = -inf
    smallest: float = inf

    @classmethod
    def of(cls, values: Array) -> RunningMoments:
        """Compute the moments of all values at once, shape (n,); equal to adding them one by one, up to rounding."""
        if not values.size:
            return cls()
        first = float(values[0])
        # Keeps the mean of equal numbers exact.
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
            smallest=float(values.min()),
        )

    def add(self, value: float) -> None:
        """Add one number."""
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
        self.smallest = min(self.smallest, value)

    @property
    def deviation(self) -> float:
        """Standard deviation, with n - 1 in the denominator; 0 for a single number."""
        return sqrt(self.squares / (self.n - 1)) if self.n > 1 else 0.0

    @property
    def skewness(self) -> float:
        """Third standardised moment; 0 if nothing varies."""
        variance = self.squares / self.n if self.n else 0.0
        return self.cubes / self.n / variance / sqrt(variance) if variance else 0.0

    @property
    def farthest_share(self) -> float:
        """Share of the sum of squares due to the number farthest from the mean."""
        from_mean = max(self.largest - self.mean, self.mean - self.smallest)
        return from_mean / self.squares * from_mean if self.squares else 0.0

    @property
    def degrees_of_freedom(self) -> float:
        """Degrees of freedom of the sample variance: n - 1 for normal values, fewer for heavier tails (Shoemaker 2003)."""
        if self.n < 2 or not self.squares:
            return 1.0
        kurtosis = max(self.n * self.fourths / self.squares / self.squares, _NORMAL)
        return 2 * self.n / (kurtosis - (self.n - 3) / (self.n - 1))


def tail_warnings(moments: RunningMoments) -> list[str]:
    """List the features of these trials that make a rule based on their spread stop too early."""
    if moments.squares == 0:
        return ["these trials are all equal, which stops the rule at once and says nothing about rare ones"]
    tail = heavy_tail(moments)
    return [f"here {tail}"] if tail else []


def heavy_tail(moments: RunningMoments, what: str = "trial", most_skewed: float = _SKEW) -> str:
    """Say if one trial dominates the variance, or if trials are skewed; empty if neither is the case.

    Student's interval undercovers for such trials, because its width and its centre are correlated. A trial dominates with more than
    20 % of the variance, if such a share is rare by chance; among few normal values one always has a large share. `what` names the
    unit of observation, in the singular; `most_skewed` is infinite if skewness does no harm.
    """
    skewness, share = moments.skewness, moments.farthest_share
    if moments.n < FEWEST or (
        share <= max(_SHARE, _share_by_chance(moments.n)) and abs(skewness) <= most_skewed
    ):
        return ""
    above = moments.largest - moments.mean >= moments.mean - moments.smallest
    which = "largest" if above else "smallest"
    return f"the {which} {what} makes {100 * share:.0f} % of the variance (skewness {skewness:.1f})"


@lru_cache(maxsize=1024)
def _share_by_chance(n: int) -> float:
    """Return the share of the sum of squares that the farthest of n normal values exceeds in 1 % of cases (Grubbs 1950, two-sided)."""
    t_squared = float(special.stdtrit(n - 2, 1 - _BY_CHANCE / (2 * n))) ** 2
    return (n - 1) / n * t_squared / (n - 2 + t_squared)
