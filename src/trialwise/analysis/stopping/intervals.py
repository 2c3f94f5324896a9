"""Intervals with a precision goal: the forecast from a pilot, and the verdicts at either kind of look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.stopping.results import ClaimState
from trialwise.analysis.stopping.values import Array, Round, RoundValues
from trialwise.design.stopping import extent_text, what_of
from trialwise.errors import StatisticsError
from trialwise.experiment.stopping import Goal
from trialwise.statistics.sequential.sampling import chi_square_factors
from trialwise.statistics.sequential.two_stage import TooManyTrialsError

_MOST = 10**9
FAR = 10
"""A claim that needs over this factor times the available trials is out of reach: all of them leave it three times too wide."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Fresh units that a pilot requires (None if no number suffices), the reason, and the `fewest` by the lower variance bound."""

    size: int | None
    note: str = ""
    fewest: float = 0.0

    def is_far_beyond(self, most: int) -> bool:
        """Return True if it needs far more than `most` units, even in the best case."""
        return self.fewest > FAR * most


@dataclass(frozen=True, slots=True)
class IntervalClaim:
    """The interval of one treatment that a goal requires."""

    goal: Goal
    treatment: str

    def vector(self, values: RoundValues, rounds: Sequence[Round]) -> Array:
        """Return the values of its units in these rounds."""
        metric, kpi = self.goal.metric, self.goal.kpi
        if self.goal.kind == "variability" and kpi is not None:
            return values.kpis(metric, kpi, self.treatment, rounds)
        return np.array(list(values.units(metric.name, self.treatment, rounds).values()), dtype=np.float64)

    def number(self, values: RoundValues, rounds: Sequence[Round]) -> int:
        """Return the number of units in these rounds."""
        if self.goal.kind == "variability":
            return self.vector(values, rounds).size
        return values.number(self.goal.metric.name, self.treatment, rounds)

    def forecast(self, pilot: Array) -> Forecast:
        """Forecast the number of fresh units from a pilot."""
        stop = self.goal.stop
        try:
            found = st.two_stage_size(
                pilot,
                stop.precision.value,
                relative=stop.precision.relative,
                confidence=stop.confidence,
                estimand=stop.of,
            )
        except StatisticsError as error:
            return Forecast(None, str(error), inf if isinstance(error, TooManyTrialsError) else 0.0)
        return Forecast(found.size, found.note, found.size * chi_square_factors(pilot.size - 1)[0])

    def unjudged(self, level: str, n: int, wanted: int | None, note: str = "") -> ClaimState:
        """Return the state before the claim is judged."""
        metric, stop = self.goal.metric, self.goal.stop
        return ClaimState(
            kind=self.goal.kind,
            metric=metric.name,
            unit=metric.unit,
            subject=self.treatment,
            what=what_of(self.goal).removeprefix("the "),
            asked=f"±{extent_text(stop.precision, metric.unit)}",
            state="open",
            verdict=None,
            estimate=None,
            low=None,
            high=None,
            width=None,
            target=None,
            n=(n,),
            wanted=wanted,
            level="series" if self.goal.kind == "variability" else level,
            confidence=stop.confidence,
            method="",
            note=note,
            estimand=metric.estimand,
        )

    def judged(self, fresh: Array, level: str, wanted: int | None) -> ClaimState:
        """Judge fresh units, once."""
        stop = self.goal.stop
        claim = self.unjudged(level, fresh.size, wanted)
        try:
            found = st.two_stage_interval(
                fresh,
                stop.precision.value,
                relative=stop.precision.relative,
                confidence=stop.confidence,
                estimand=stop.of,
            )
        except StatisticsError as error:
            return replace(claim, state="undecided", method="two stages", note=str(error))
        return replace(
            claim,
            state="decided" if found.reached else "undecided",
            estimate=found.estimate,
            low=found.low,
            high=found.high,
            width=found.half_width,
            target=found.target,
            method=f"two stages: {found.method}",
            note="" if found.reached else "wider than asked for; the width that was got is reported as it is",
        )

    def at_any_time(self, values: Array, level: str) -> ClaimState:
        """Judge a percentile over trials, by bounds that hold at all looks jointly; raise ValueError for a mean."""
        stop = self.goal.stop
        if stop.of == "mean":
            raise ValueError("a mean has a separate monitor")
        claim = self.unjudged(level, values.size, None)
        if not values.size:
            return claim
        found = st.median_confidence_sequence(values, percentile=stop.of, confidence=stop.confidence)
        low, high = float(found.low[-1]), float(found.high[-1])
        estimate = float(st.measure_of(values, stop.of))
        precision = stop.precision
        target = precision.value / 100 * abs(estimate) if precision.relative else precision.value
        width = (high - low) / 2
        bounded = isfinite(width)
        return replace(
            claim,
            state="decided" if bounded and width <= target and target > 0 else "open",
            estimate=estimate,
            low=low if low > -inf else None,
            high=high if high < inf else None,
            width=width if bounded else None,
            target=target,
            wanted=units_wanted(values.size, width, target),
            method=f"at any time: {found.method}",
            note=_zero(estimate, relative=precision.relative) or ("" if bounded else found.note),
        )


def units_wanted(n: int, width: float, target: float) -> int | None:
    """Return about how many units narrow an interval of n units to a target: its width falls with their square root."""
    if not 0 < target < inf or not isfinite(width):
        return None
    wanted = n * max(1.0, width / target) ** 2
    return ceil(wanted) if wanted < _MOST else None


def _zero(estimate: float, *, relative: bool) -> str:
    return (
        "the estimate is 0, so a percentage of it is undefined: give the precision in its unit"
        if relative and estimate == 0
        else ""
    )
