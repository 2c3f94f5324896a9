"""The course of a sequential estimate, whatever it estimates: looks, the moment to stop, what is forecast meanwhile."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite, nan
from typing import ClassVar, Generic, TypeVar

from trialwise.arrays import Array
from trialwise.errors import StatisticsError
from trialwise.rules import CCEVAL, RuleName
from trialwise.statistics.pooled.clusters import MIN_TRIALS, NoSamplesError
from trialwise.statistics.sequential.looking import MOST, Factors, Looks, TrialForecast, forecast_of


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
    rule: RuleName
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
    def fewest(self) -> float:
        """Trials that even the best case takes: the lower bound of the forecast, at the widest target that the interval allows.

        0 where nothing can be said: without both bounds, or at an estimate of 0, of which a precision in percent makes nothing.
        """
        if not isfinite(self.half_width) or not self.target > 0:
            return 0.0
        widest = max(abs(self.low), abs(self.high)) / abs(self.estimate) if self.relative else 1.0
        return (MOST if self.forecast.low is None else self.forecast.low) / widest**2

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
    factors: Factors
    """How far the square of that deviation may be from the true one, for the forecast."""
    estimand: str
    warnings: list[str]
    least: float = 0.0
    """Trials before which the interval is not to be trusted, by what these tell: the rule does not stop before."""
    method: str = ""
    """How the interval is made, in words, where the rule does not say all of it."""


_Trial = TypeVar("_Trial")
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
        if not self.looks.rule.goes_on:
            raise StatisticsError(
                f"the rule stopped after {self._result.n} trials, and its interval holds for these; to go on, take the rule "
                "'anytime' from the start"
            )
        self._result = None

    def looked(self, n: int, measured: Measured) -> bool:
        """After the n-th trial: whether the rule stops. It waits with its first look for a sample."""
        if n < self._next:
            return False
        try:
            if self._count == 0 and self.looks.is_tuned:
                self._tuned_for = self._fixed_number(measured)
            seen = measured(self.looks.reach(n, self._tuned_for))
        except NoSamplesError:
            return False
        self._count += 1
        self._next = self.looks.after(n)
        target = self.looks.target(seen.estimate)
        narrow = n >= seen.least and target > 0 and (seen.high - seen.low) / 2 <= target
        self._result = replace(self.state(n, measured), stopped=True) if narrow else None
        return narrow

    def state(self, n: int, measured: Measured) -> SequentialState:
        """What is known after n trials."""
        if self._result is not None:
            return self._result
        looks = self.looks
        # Before the first look there may be one trial, or no sample at all: no interval.
        seen = measured(looks.reach(n, self._tuned_for)) if n >= MIN_TRIALS else _nothing(n)
        if looks.is_tuned and n < looks.start:
            seen = replace(seen, low=-inf, high=inf)
        target = looks.target(seen.estimate) if isfinite(seen.estimate) else nan
        known = isfinite(seen.deviation)
        forecast = (
            forecast_of(looks, seen.deviation, target, seen.factors, self._tuned_for).at_least(
                ceil(seen.least)
            )
            if known
            else TrialForecast(None, None, None)
        )
        warnings = list(seen.warnings)
        if looks.rule.warning:
            warnings.insert(0, looks.rule.warning)
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
            rule=looks.rule.name,
            looks=self._count,
            next_look=self._next,
            forecast=forecast,
            estimand=seen.estimand,
            method=", ".join(filter(None, (seen.method, looks.method))),
            warnings=tuple(warnings),
        )

    def _fixed_number(self, measured: Measured) -> int:
        """A confidence sequence is about the narrowest where a fixed number of trials would do, by the first ones' forecast."""
        looks = self.looks
        fixed = Looks(CCEVAL, looks.precision, looks.relative, looks.confidence, looks.start)
        seen = measured(fixed.reach(looks.start, looks.start))
        if not isfinite(seen.deviation):
            return looks.start
        return fixed.wanted(seen.deviation, fixed.target(seen.estimate), looks.start) or looks.start


def _nothing(n: int) -> Seen:
    return Seen(n, nan, -inf, inf, nan, (1.0, 1.0), "", [])


class Sequential(ABC, Generic[_Trial]):
    """An estimate that takes trials one by one until its interval is narrow enough.

    Subclasses say what they keep of a trial and what interval that makes; rules, looks and forecasts are the same for all.
    """

    def __init__(
        self,
        precision: float,
        *,
        relative: bool = True,
        confidence: float = 95,
        rule: RuleName = "geometric",
        start: int | None = None,
    ) -> None:
        """State what is wanted.

        Parameters
        ----------
        precision
            Half of the interval's width: in percent of the estimate if `relative`, otherwise in the unit of the values.
        relative
            Whether the precision is in percent.
        confidence
            In percent, as reported.
        rule
            "geometric", "cceval" or "anytime".
        start
            Trials before the first look; the rule's own number if None.

        Raises
        ------
        StatisticsError
            An option is out of range.
        """
        self._looks = Looks.of(rule, precision, relative=relative, confidence=confidence, start=start)
        self._course = Course(self._looks)
        self._n = 0
        self._last: tuple[int, float, Seen] | None = None
        self._empty()

    def add(self, trial: _Trial) -> bool:
        """Take one trial in; whether the rule stops now.

        Raises
        ------
        StatisticsError
            The rule had stopped before, or something of the trial is not finite.
        """
        self._course.open()
        self._take(trial, f"trial {self._n + 1}")
        self._n += 1
        return self._course.looked(self._n, self._once)

    @property
    def state(self) -> SequentialState:
        """What is known now: estimate, interval, forecast."""
        return self._course.state(self._n, self._once)

    def until_known(self, trials: Iterable[_Trial]) -> SequentialState:
        """Take trials in until the rule stops or they end; what is known then."""
        for trial in trials:
            if self.add(trial):
                break
        return self.state

    def _once(self, reach: float) -> Seen:
        """The interval of the trials so far; it is asked for when the rule looks, and again by who asks what is known."""
        if self._last is None or self._last[:2] != (self._n, reach):
            self._last = self._n, reach, self._measured(reach)
        return self._last[2]

    def _empty(self) -> None:
        """Prepare to keep what is needed of trials."""

    @abstractmethod
    def _take(self, trial: _Trial, name: str) -> None:
        """Keep what is needed of a trial; StatisticsError, with its name, where it is not finite."""

    @abstractmethod
    def _measured(self, reach: float) -> Seen:
        """The interval of the trials so far that reaches so many standard errors."""


class SequentialUnweighted(Sequential[_Trial]):
    """A sequential estimate of trials that all weigh the same."""

    pools: ClassVar[bool] = True
    """Whether it takes all samples of a trial; otherwise it takes one number."""

    @abstractmethod
    def add_samples(self, samples: Array) -> bool:
        """Take in the samples of a trial: all of them if it pools, otherwise their mean; return and raise as `add`."""
