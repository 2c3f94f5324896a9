"""Looks: when a sequential rule looks, the width of its interval, and the number of trials it will take."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, inf, sqrt
from typing import TypeAlias

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.rules import GEOMETRIC, RULES, SEQUENTIAL, Rule
from trialwise.statistics.checks import as_percent, one_of, percent
from trialwise.statistics.sequential.confidence_sequences import asymptotic_reach

MOST = 10**9
"""Largest number of trials that is forecast."""
INNER = GEOMETRIC.share
"""The geometric rule uses intervals with this share of the reported error probability."""
_FORECAST_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Looks:
    """A stopping rule: when it looks, and the half-width of its interval in standard errors."""

    rule: Rule
    precision: float
    """Desired half-width, in the unit of the values or, if `relative`, in percent of the estimate."""
    relative: bool
    confidence: float
    """Reported, in percent."""
    start: int
    """Trials before the first look."""

    @classmethod
    def of(
        cls, rule: str, precision: float, *, relative: bool, confidence: float, start: int | None
    ) -> Looks:
        """Check the options and build the rule.

        Raises
        ------
        StatisticsError
            The rule is unknown, the precision is not above 0, the confidence is not a percentage, or `start` is below 2.
        """
        one_of(rule, "rule", SEQUENTIAL)
        as_percent(confidence, "confidence")
        if not 0 < precision < inf:
            raise StatisticsError(f"the precision is {precision!r}; expected a number above 0")
        known = RULES[rule]
        first = known.start if start is None else start
        if first < 2 or first != int(first):
            raise StatisticsError(f"start is {start!r}; expected an integer ≥ 2")
        return cls(known, float(precision), relative, float(confidence), int(first))

    @property
    def is_tuned(self) -> bool:
        """Return True if the interval is tuned for a number of trials known at the first look, and holds from there on."""
        return self.rule.interval == "sequence"

    @property
    def inner(self) -> float:
        """Return the confidence that the rule itself uses, in percent: 96 for 95 by the geometric rule."""
        return 100 - self.rule.share * (100 - self.confidence)

    def after(self, n: int) -> int:
        """Return the number of trials at the next look after a look at n."""
        return max(n + 1, ceil(n * self.rule.growth), self.start)

    def reach(self, n: float, tuned_for: int) -> float:
        """Return the half-width of the interval from n trials, in standard errors."""
        miss = 1 - self.inner / 100
        match self.rule.interval:
            case "sequence":
                return float(asymptotic_reach(np.array([n]), miss, tuned_for)[0] * sqrt(n))
            case "normal":
                return float(special.ndtri(1 - miss / 2))
            case _:
                return float(special.stdtrit(n - 1, 1 - miss / 2))

    def target(self, estimate: float) -> float:
        """Return the desired half-width at this estimate, in its unit."""
        return self.precision / 100 * abs(estimate) if self.relative else self.precision

    def wanted(self, deviation: float, target: float, tuned_for: int) -> int | None:
        """Return the fewest trials with a narrow enough interval at this standard deviation (CCEval Eq. 3); None beyond a billion."""
        if target <= 0:
            return None

        def narrow(n: int) -> bool:
            return self.reach(n, tuned_for) * deviation <= target * sqrt(n)

        if narrow(self.start):
            return self.start
        short, ample = self.start, 2 * self.start
        while not narrow(ample):
            short, ample = ample, 2 * ample
            if ample > 2 * MOST:
                return None
        while ample - short > 1:
            middle = (short + ample) // 2
            short, ample = (short, middle) if narrow(middle) else (middle, ample)
        return ample if ample <= MOST else None

    @property
    def method(self) -> str:
        """Describe the rule in words."""
        level, inner = percent(self.confidence / 100), percent(self.inner / 100)
        return self.rule.method.format(level=level, inner=inner, start=self.start)


Factors: TypeAlias = tuple[float, float]
"""Factors of a variance: the true one lies between the estimate times the first and times the second, at 95 %."""


@dataclass(frozen=True, slots=True)
class TrialForecast:
    """Total number of trials that a rule is expected to need."""

    trials: int | None
    """None if it exceeds a billion, or if the estimate is 0 and the precision relative."""
    low: int | None
    high: int | None
    factors: Factors = (1.0, 1.0)
    """Of the variance behind the forecast: `low` and `high` follow from it times these."""

    def at_least(self, fewest: int) -> TrialForecast:
        """Return the forecast for a rule that does not stop before `fewest` trials."""
        trials, low, high = (one and max(one, fewest) for one in (self.trials, self.low, self.high))
        return TrialForecast(trials, low, high, self.factors)


def chi_square_factors(degrees_of_freedom: float) -> Factors:
    """Return the factors of a variance; heavy tails make the degrees of freedom fewer than n - 1."""
    tail = (1 - _FORECAST_LEVEL) / 2
    low, high = (degrees_of_freedom / float(special.chdtri(degrees_of_freedom, q)) for q in (tail, 1 - tail))
    return low, high


def lognormal_factors(spread: float) -> Factors:
    """Return the factors of a variance whose logarithm has this standard deviation."""
    factor = exp(float(special.ndtri((1 + _FORECAST_LEVEL) / 2)) * spread)
    return 1 / factor, factor


def forecast_of(
    looks: Looks, deviation: float, target: float, factors: Factors, tuned_for: int
) -> TrialForecast:
    """Forecast by CCEval's Eq. 3 for any rule, with a 95 % interval from the interval of the variance."""
    low, high = (looks.wanted(deviation * sqrt(factor), target, tuned_for) for factor in factors)
    return TrialForecast(looks.wanted(deviation, target, tuned_for), low, high, factors)
