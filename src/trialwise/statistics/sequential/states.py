"""Monitoring of a sequential estimate, whatever the estimand: looks, stopping, forecasts."""

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
from trialwise.statistics.sequential.sampling import MOST, Factors, Looks, TrialForecast, forecast_of


@dataclass(frozen=True, slots=True)
class SequentialState:
    """The state of a sequential rule after the trials so far; its result once it has stopped."""

    stopped: bool
    n: int
    """Number of trials."""
    estimate: float
    """NaN before there are enough trials."""
    low: float
    high: float
    """Infinite if there are too few trials for bounds."""
    target: float
    """Desired half-width, in the unit of the values."""
    precision: float
    """As requested; in percent of the estimate if `relative`."""
    relative: bool
    confidence: float
    """Reported, in percent."""
    inner_confidence: float
    """Confidence of the interval that the rule uses and reports, in percent."""
    rule: RuleName
    looks: int
    """Looks so far."""
    next_look: int
    """Trials at the next look."""
    forecast: TrialForecast
    """Total trials, with an interval."""
    estimand: str
    method: str
    warnings: tuple[str, ...]

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    @property
    def fewest(self) -> float:
        """Trials needed even in the best case: the lower bound of the forecast, at the widest target that the interval allows.

        0 if unknown: without both bounds, or with a relative precision and an estimate of 0.
        """
        if not isfinite(self.half_width) or not self.target > 0:
            return 0.0
        widest = max(abs(self.low), abs(self.high)) / abs(self.estimate) if self.relative else 1.0
        return (MOST if self.forecast.low is None else self.forecast.low) / widest**2

    @property
    def remaining(self) -> int | None:
        """Further trials needed by the forecast: 0 once stopped, None without a forecast."""
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
    """The standard error times the square root of n."""
    factors: Factors
    """Range of the true squared deviation relative to this one, for the forecast."""
    estimand: str
    warnings: list[str]
    least: float = 0.0
    """Minimum number of trials for a trustworthy interval, as these indicate; the rule does not stop earlier."""
    method: str = ""
    """How the interval is computed, if the rule does not say all of it."""


_Trial = TypeVar("_Trial")
Measured = Callable[[float], Seen]
"""Computes the interval of the trials so far from its half-width in standard errors."""

_ENDLESS = (
    f"more than {MOST:.0e} trials would be needed: ask for a wider interval, or, where the estimate is about 0, give the "
    "precision in its unit"
)


class Course:
    """Looks, stopping and the forecast, the same for every estimand."""

    def __init__(self, looks: Looks) -> None:
        self.looks = looks
        self._next = looks.start
        self._count = 0
        self._tuned_for = looks.start
        self._result: SequentialState | None = None

    def open(self) -> None:
        """Refuse a trial after the rule stopped, except for a confidence sequence, which may be extended."""
        if self._result is None:
            return
        if not self.looks.rule.goes_on:
            raise StatisticsError(
                f"the rule stopped after {self._result.n} trials, and its interval holds for these; to go on, take the rule "
                "'anytime' from the start"
            )
        self._result = None

    def looked(self, n: int, measured: Measured) -> bool:
        """Return True if the rule stops after the n-th trial; the first look waits until there is a sample."""
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
        """Return the state after n trials."""
        if self._result is not None:
            return self._result
        looks = self.looks
        # Before the first look there may be one trial, or no samples at all, and so no interval.
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
        """Return the fixed number of trials that the first ones forecast; a confidence sequence is tuned for it."""
        looks = self.looks
        fixed = Looks(CCEVAL, looks.precision, looks.relative, looks.confidence, looks.start)
        seen = measured(fixed.reach(looks.start, looks.start))
        if not isfinite(seen.deviation):
            return looks.start
        return fixed.wanted(seen.deviation, fixed.target(seen.estimate), looks.start) or looks.start


def _nothing(n: int) -> Seen:
    return Seen(n, nan, -inf, inf, nan, (1.0, 1.0), "", [])


class Sequential(ABC, Generic[_Trial]):
    """An estimate that adds trials one by one until its interval is narrow enough.

    Subclasses define what they keep of a trial and the interval; rules, looks and forecasts are the same for all.
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
        """Set the options.

        Parameters
        ----------
        precision
            Desired half-width: in percent of the estimate if `relative`, otherwise in the unit of the values.
        relative
            Whether the precision is in percent.
        confidence
            Reported, in percent.
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
        """Add one trial and return True if the rule stops now.

        Raises
        ------
        StatisticsError
            The rule had stopped before, or a value of the trial is not finite.
        """
        self._course.open()
        self._take(trial, f"trial {self._n + 1}")
        self._n += 1
        return self._course.looked(self._n, self._once)

    @property
    def state(self) -> SequentialState:
        """Return the current state: estimate, interval, forecast."""
        return self._course.state(self._n, self._once)

    def until_known(self, trials: Iterable[_Trial]) -> SequentialState:
        """Add trials until the rule stops or they end, and return the state."""
        for trial in trials:
            if self.add(trial):
                break
        return self.state

    def _once(self, reach: float) -> Seen:
        """Return the interval of the trials so far, cached because looks and `state` both need it."""
        if self._last is None or self._last[:2] != (self._n, reach):
            self._last = self._n, reach, self._measured(reach)
        return self._last[2]

    def _empty(self) -> None:
        """Initialise what is kept of trials."""

    @abstractmethod
    def _take(self, trial: _Trial, name: str) -> None:
        """Keep what is needed of a trial; raise StatisticsError, with its name, if it is not finite."""

    @abstractmethod
    def _measured(self, reach: float) -> Seen:
        """Return the interval of the trials so far with this half-width in standard errors."""


class SequentialUnweighted(Sequential[_Trial]):
    """A sequential estimate of trials with equal weights."""

    pools: ClassVar[bool] = True
    """True if it uses all samples of a trial; otherwise it uses one number."""

    @abstractmethod
    def add_samples(self, samples: Array) -> bool:
        """Add the samples of a trial: all of them if it pools, otherwise their mean. Returns and raises as `add`."""
