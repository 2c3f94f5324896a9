"""The course of a sequential estimate, whatever it estimates: looks, the moment to stop, what is forecast meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, isfinite, nan

from trialwise.statistics.clusters import FEWEST_TRIALS
from trialwise.statistics.looking import MOST, Looks, Rule, TrialForecast, forecast_of
from trialwise.statistics.relative_margin import WARNING


@dataclass(frozen=True, slots=True)
class SequentialState:
    """What a sequential rule knows after the trials so far; its result once it has stopped."""

    stopped: bool
    n: int
    """Trials."""
    estimate: float
    """NaN before there are enough for any."""
    low: float
    high: float
    """Infinite where there are too few trials for bounds."""
    target: float
    """Half of the width wanted, in the unit of the values."""
    precision: float
    """As asked for: in percent of the estimate where `relative`."""
    relative: bool
    confidence: float
    """In percent, as reported."""
    inner_confidence: float
    """In percent: that of the interval which the rule looks at, and which is given."""
    rule: Rule
    looks: int
    """Looks so far."""
    next_look: int
    """Trials at the next look."""
    forecast: TrialForecast
    """Trials in all, with an interval."""
    estimand: str
    method: str
    warnings: tuple[str, ...]

    @property
    def half_width(self) -> float:
        """Half of the width of the interval."""
        return (self.high - self.low) / 2

    @property
    def remaining(self) -> int | None:
        """Trials still needed by the forecast: 0 once stopped, None where there is no forecast."""
        if self.stopped:
            return 0
        return None if self.forecast.trials is None else max(self.forecast.trials, self.next_look) - self.n


@dataclass(frozen=True, slots=True)
class Seen:
    """An interval of the trials so far."""

    n: int
    estimate: float
    low: float
    high: float
    deviation: float
    """The standard error times the root of n."""
    degrees_of_freedom: float
    """Of the variance."""
    estimand: str
    warnings: list[str]


Measured = Callable[[float], Seen]
"""The interval that reaches so many standard errors."""

_ENDLESS = (
    f"more than {MOST:.0e} trials would be needed: ask for a wider interval, or, where the estimate is about 0, give the "
    "precision in its unit"
)


class Course:
    """Looks, the moment to stop and the forecast: the same for every estimand."""

    def __init__(self, looks: Looks) -> None:
        self.looks = looks
        self._next = looks.start
        self._count = 0
        self._tuned_for = looks.start
        self._result: SequentialState | None = None

    def open(self) -> None:
        """Refuse a trial after the end; only a confidence sequence may be extended."""
        if self._result is None:
            return
        if self.looks.rule != "anytime":
            raise ValueError(
                f"the rule stopped after {self._result.n} trials, and its interval holds for these; to go on, take the rule "
                "'anytime' from the start"
            )
        self._result = None

    def looked(self, n: int, measured: Measured) -> bool:
        """After the n-th trial: whether the rule stops."""
        if n < self._next:
            return False
        if self._count == 0 and self.looks.rule == "anytime":
            self._tuned_for = self._fixed_number(measured)
        self._count += 1
        self._next = self.looks.after(n)
        seen = measured(self.looks.reach(n, self._tuned_for))
        target = self.looks.target(seen.estimate)
        narrow = target > 0 and (seen.high - seen.low) / 2 <= target
        self._result = replace(self.state(n, measured), stopped=True) if narrow else None
        return narrow

    def state(self, n: int, measured: Measured) -> SequentialState:
        """What is known after n trials."""
        if self._result is not None:
            return self._result
        looks = self.looks
        # Before the first look there may be one trial, or no sample at all: no interval.
        seen = measured(looks.reach(n, self._tuned_for)) if n >= FEWEST_TRIALS else _nothing(n)
        if looks.rule == "anytime" and n < looks.start:
            seen = replace(seen, low=-inf, high=inf)
        target = looks.target(seen.estimate) if isfinite(seen.estimate) else nan
        known = isfinite(seen.deviation)
        forecast = (
            forecast_of(looks, seen.deviation, target, seen.degrees_of_freedom, self._tuned_for)
            if known
            else TrialForecast(None, None, None)
        )
        warnings = list(seen.warnings)
        if looks.rule == "cceval":
            warnings.insert(0, WARNING)
        if known and forecast.trials is None:
            warnings.append(_ENDLESS)
        return SequentialState(
            stopped=False,
            n=n,
            estimate=seen.estimate,
            low=seen.low,
            high=seen.high,
            target=target,
            precision=looks.precision,
            relative=looks.relative,
            confidence=looks.confidence,
            inner_confidence=looks.inner,
            rule=looks.rule,
            looks=self._count,
            next_look=self._next,
            forecast=forecast,
            estimand=seen.estimand,
            method=looks.method,
            warnings=tuple(warnings),
        )

    def _fixed_number(self, measured: Measured) -> int:
        """A confidence sequence is about the narrowest where a fixed number of trials would do, by the first ones' forecast."""
        looks = self.looks
        fixed = Looks("cceval", looks.precision, looks.relative, looks.confidence, looks.start)
        seen = measured(fixed.reach(looks.start, looks.start))
        if not isfinite(seen.deviation):
            return looks.start
        return fixed.wanted(seen.deviation, fixed.target(seen.estimate), looks.start) or looks.start


def _nothing(n: int) -> Seen:
    return Seen(n, nan, -inf, inf, nan, 1.0, "", [])
