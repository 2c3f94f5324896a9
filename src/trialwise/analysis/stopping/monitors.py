"""Intervals monitored while trials arrive: one monitor for each claim, fed trial by trial in plan order.

A monitor keeps what it needs of the trials it has seen, so that a look does not read them all again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, TypedDict

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.estimation.blocks import gain_text
from trialwise.analysis.estimation.control_columns import ControlColumns
from trialwise.analysis.stopping.intervals import FAR, IntervalClaim
from trialwise.analysis.stopping.results import ClaimState
from trialwise.analysis.stopping.sentences import controls_text
from trialwise.analysis.stopping.values import Array, Round, RoundValues, Units
from trialwise.design.few_samples import wants_enough_samples
from trialwise.experiment.model import Design
from trialwise.experiment.simulation import SOBOL_BLOCK
from trialwise.experiment.stopping import Goal
from trialwise.rules import MIN_BLOCKS, RULES, RuleName
from trialwise.statistics.sequential.states import SequentialUnweighted

_Plain = SequentialUnweighted[Any]
_Weighted = st.SequentialImportance | st.SequentialBatches


class ClaimMonitor:
    """The monitor of one claim: the state of the rule after the trials so far.

    Once the rule has stopped, its result is final, whatever else runs for other claims.
    """

    def __init__(
        self,
        claim: IntervalClaim,
        design: Design,
        columns: Callable[[], ControlColumns | None] | None = None,
        *,
        tilted: bool = False,
        sobol: bool = False,
    ) -> None:
        """Take the claim; `columns` builds its control variates, if any, when the first trial has arrived."""
        self._tilted, self._sobol = tilted, sobol
        self.claim = claim
        self._make_columns = columns
        self._columns: ControlColumns | None = None
        rule = RULES[design.looks]
        self._rule: RuleName = rule.name
        self._start = design.pilot if rule.starts_at_pilot else None
        self._begin(0)

    def _begin(self, revision: int) -> None:
        self._revision = revision
        self._sequence: _Plain | _Weighted | st.SequentialControlled | st.SequentialBlocks = (
            _weighted(self.claim.goal, self._rule, self._start)
            if self._tilted
            else _of_blocks(self.claim.goal, self._rule)
            if self._sobol
            else self._with_controls(_sequence(self.claim.goal, self._rule, self._start))
        )
        self._fed = 0
        self._samples = 0
        self._seen = self._sequence.state
        self._told: ClaimState | None = None

    def _with_controls(self, plain: _Plain) -> _Plain | st.SequentialControlled:
        columns, confidence = self._columns, self.claim.goal.stop.confidence
        if columns is None:
            return plain
        return st.SequentialControlled(
            plain, lambda trials, x, precision: columns.fitted(trials, x, confidence, precision)
        )

    def after(self, values: RoundValues, rounds: Sequence[Round]) -> ClaimState:
        """Return the state after these rounds, the first ones of the plan; trials already added are not read again."""
        units = values.in_order(self.claim.goal.metric, self.claim.treatment, rounds)
        if self._make_columns is not None and units.number:
            self._columns, self._make_columns = self._make_columns(), None
            self._begin(units.revision)
        # A repeated trial belongs in the middle, and a boot that continues changes its mean.
        if units.revision != self._revision or values.level != "trial":
            self._begin(units.revision)
        while not self._seen.stopped and self._fed < units.number:
            self._feed(units, self._fed)
        # From the first look on, the state is that of the last look until the next one.
        if self._told is None or not self._seen.looks:
            self._told = self._said(values.level)
        return self._told

    def is_far_beyond(self, most: int) -> bool:
        """Return True if by the last look even the best case takes far more than `most` trials.

        Return False while requested controls may still reduce the number.
        """
        seen, sequence = self._seen, self._sequence
        waits = isinstance(sequence, st.SequentialControlled) and sequence.found is None
        return bool(seen.looks) and not seen.stopped and not waits and seen.fewest > FAR * most

    def _feed(self, units: Units, place: int) -> None:
        unit, samples = units.at(place)
        self._fed += 1
        self._samples += samples
        if isinstance(unit, st.WeightedTrial):
            self._feed_weighted(unit)
        elif isinstance(self._sequence, st.SequentialBlocks):
            series, number = units.rounds[place]
            self._sequence.add((series, (number - 1) // SOBOL_BLOCK), unit)
        elif isinstance(self._sequence, st.SequentialControlled):
            self._sequence.add(unit, self._controls_of(units, place))
        elif isinstance(self._sequence, SequentialUnweighted):
            self._sequence.add_samples(np.atleast_1d(np.asarray(unit)))
        # A pooled statistic of trials without samples does not exist: the first look waits for one.
        has_value = self._samples or self.claim.goal.metric.estimand == "per_trial"
        if self._fed >= self._seen.next_look and has_value:
            self._seen, self._told = self._sequence.state, None

    def _feed_weighted(self, trial: st.WeightedTrial) -> None:
        if isinstance(self._sequence, (st.SequentialImportance, st.SequentialBatches)):
            self._sequence.add(trial)

    def _controls_of(self, units: Units, place: int) -> Array | None:
        """Return the controls of a trial; None if an earlier trial gave no values, since the rest is then not a random sample."""
        if self._columns is None or not units.follows(place):
            return None
        return self._columns.of_rounds([units.rounds[place]])[0]

    def _said(self, level: str) -> ClaimState:
        seen, goal = self._seen, self.claim.goal
        claim = replace(
            self.claim.unjudged(level, seen.n if seen.looks else self._fed, None),
            convention=goal.metric.convention if goal.metric.percentile is not None else "",
            looks=seen.looks,
            method=seen.method,
        )
        if not seen.looks:
            return replace(claim, note=f"the first look is at {seen.next_look} {level}s")
        refusal = self._refusal()
        bounded = isfinite(seen.low) and isfinite(seen.high)
        notes = [text for text in (refusal, *seen.warnings) if text and text != RULES[self._rule].warning]
        found = replace(
            claim,
            state="open" if not seen.stopped else "undecided" if refusal else "decided",
            estimate=_finite(seen.estimate),
            low=_finite(seen.low),
            high=_finite(seen.high),
            width=seen.half_width if bounded else None,
            target=_finite(seen.target),
            wanted=seen.n if seen.stopped else seen.forecast.trials,
            wanted_low=None if seen.stopped else seen.forecast.low,
            wanted_high=None if seen.stopped else seen.forecast.high,
            **self._beside(),
        )
        if found.controls:
            notes.insert(0, controls_text(found))
        if isinstance(self._sequence, st.SequentialBlocks):
            notes.insert(0, gain_text(self._sequence.blocks, self._sequence.gain))
        return replace(found, note="; ".join(dict.fromkeys(notes)))

    def _beside(self) -> _Beside:
        """Return both intervals, if there are control variates at this look."""
        found = self._sequence.found if isinstance(self._sequence, st.SequentialControlled) else None
        if found is None or self._columns is None:
            return {}
        return {
            "controls": self._columns.kind,
            "gain": found.gain if isfinite(found.gain) else None,
            "plain_low": _finite(found.plain.low),
            "plain_high": _finite(found.plain.high),
            "controlled_low": _finite(found.controlled.low),
            "controlled_high": _finite(found.controlled.high),
        }

    def _refusal(self) -> str:
        """Say why trials like these have no usable percentile of their own; empty if they have, or if it does not matter."""
        metric = self.claim.goal.metric
        if metric.percentile is None or not wants_enough_samples(metric) or not self._fed:
            return ""
        return st.quantile_refusal(self._samples / self._fed, metric.percentile)


class _Beside(TypedDict, total=False):
    """The part of a claim's state on its control variates."""

    controls: str
    gain: float | None
    plain_low: float | None
    plain_high: float | None
    controlled_low: float | None
    controlled_high: float | None


def _finite(bound: float) -> float | None:
    return bound if isfinite(bound) else None


def _sequence(goal: Goal, rule: RuleName, start: int | None) -> _Plain:
    stop, metric = goal.stop, goal.metric
    precision, relative, confidence = stop.precision.value, stop.precision.relative, stop.confidence
    if metric.estimand == "per_trial":
        return st.SequentialMean(precision, relative=relative, confidence=confidence, rule=rule, start=start)
    if metric.percentile is None:
        return st.SequentialPooledMean(
            precision, relative=relative, confidence=confidence, rule=rule, start=start
        )
    return st.SequentialQuantile(
        metric.percentile,
        precision,
        relative=relative,
        confidence=confidence,
        rule=rule,
        start=start,
        convention=metric.convention,
    )


def _of_blocks(goal: Goal, rule: RuleName) -> st.SequentialBlocks:
    """Build the same estimate for Sobol samples, from complete blocks."""
    percentile = goal.metric.percentile if goal.metric.estimand == "pooled" else None
    return st.SequentialBlocks(_sequence(goal, rule, MIN_BLOCKS), SOBOL_BLOCK, percentile)


def _weighted(goal: Goal, rule: RuleName, start: int | None) -> _Weighted:
    """Build the estimate for tilted trials: over all of them together, or by CCEval's batches."""
    stop, metric = goal.stop, goal.metric
    precision, relative, confidence = stop.precision.value, stop.precision.relative, stop.confidence
    percentile = metric.percentile or 0.0
    if metric.estimand == "pooled":
        return st.SequentialImportance(percentile, precision, relative=relative, confidence=confidence)
    return st.SequentialBatches(
        percentile, precision, relative=relative, confidence=confidence, rule=rule, start=start
    )
