"""Intervals that are looked at again and again while trials come: one course for each claim, fed trial by trial in plan order.

A course keeps what it needs of the trials that it has seen, so that a look costs no second reading of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.stopping.intervals import IntervalClaim
from trialwise.analysis.stopping.results import ClaimState
from trialwise.analysis.stopping.values import Array, Round, RoundValues
from trialwise.design.few_samples import wants_enough_samples
from trialwise.experiment.model import Design
from trialwise.experiment.stopping import Goal
from trialwise.statistics.looking import Rule
from trialwise.statistics.relative_margin import WARNING

_Sequence = st.SequentialMean | st.SequentialPooledMean | st.SequentialQuantile


class ClaimCourse:
    """The way of one claim to its end: what the rule says of the trials so far.

    Once the rule has stopped, what it said then stays, whatever more runs for other claims.
    """

    def __init__(self, claim: IntervalClaim, design: Design) -> None:
        self.claim = claim
        self._rule: Rule = _rule_of(design)
        self._start = design.pilot if self._rule == "cceval" else None
        self._begin(0)

    def _begin(self, revision: int) -> None:
        self._revision = revision
        self._sequence = _sequence(self.claim.goal, self._rule, self._start)
        self._fed = 0
        self._samples = 0
        self._seen = self._sequence.state
        self._told: ClaimState | None = None

    def after(self, values: RoundValues, rounds: Sequence[Round]) -> ClaimState:
        """What is known after these rounds, the first ones of the plan; trials that were fed before are not read again."""
        units = values.in_order(self.claim.goal.metric, self.claim.treatment, rounds)
        # A trial that was tried again stands in the middle; and a boot that goes on changes its mean.
        if units.revision != self._revision or values.level != "trial":
            self._begin(units.revision)
        while not self._seen.stopped and self._fed < units.number:
            self._feed(*units.at(self._fed))
        # From the first look on, what is told is of the last look, and stays until the next one.
        if self._told is None or not self._seen.looks:
            self._told = self._said(values.level)
        return self._told

    def _feed(self, unit: float | Array, samples: int) -> None:
        self._fed += 1
        self._samples += samples
        if isinstance(self._sequence, st.SequentialMean):
            self._sequence.add(float(unit))
        else:
            self._sequence.add(np.asarray(unit))
        if self._fed >= self._seen.next_look:
            self._seen, self._told = self._sequence.state, None

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
        notes = [text for text in (refusal, *seen.warnings) if text and text != WARNING]
        return replace(
            claim,
            state="open" if not seen.stopped else "undecided" if refusal else "decided",
            estimate=seen.estimate,
            low=seen.low if isfinite(seen.low) else None,
            high=seen.high if isfinite(seen.high) else None,
            width=seen.half_width if bounded else None,
            target=seen.target,
            wanted=seen.n if seen.stopped else seen.forecast.trials,
            wanted_low=None if seen.stopped else seen.forecast.low,
            wanted_high=None if seen.stopped else seen.forecast.high,
            note="; ".join(dict.fromkeys(notes)),
        )

    def _refusal(self) -> str:
        """Why trials like these have no such percentile of their own; empty where they have, or it does not matter."""
        metric = self.claim.goal.metric
        if metric.percentile is None or not wants_enough_samples(metric) or not self._fed:
            return ""
        return st.quantile_refusal(self._samples / self._fed, metric.percentile)


def _rule_of(design: Design) -> Rule:
    if design.looks == "two-stage":
        raise ValueError("two stages are judged once")
    return design.looks


def _sequence(goal: Goal, rule: Rule, start: int | None) -> _Sequence:
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
