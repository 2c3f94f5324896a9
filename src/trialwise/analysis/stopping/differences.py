"""Comparisons to decide: the forecast from a pilot, and the verdicts of their family at either kind of look."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.estimation.trial_values import MIN_BEYOND
from trialwise.analysis.stopping.intervals import Forecast, units_wanted
from trialwise.analysis.stopping.results import ClaimState
from trialwise.analysis.stopping.values import Array, Round, RoundValues
from trialwise.design.stopping import FIRST_LOOK, MIN_FRESH, extent_text
from trialwise.errors import StatisticsError
from trialwise.experiment.estimands import estimand_text
from trialwise.experiment.model import Extent, Metric
from trialwise.statistics.comparing.difference_family import trials_to_decide_at

CONFIDENCE = 95.0
"""Of all verdicts jointly, in percent; the same default as `compare`."""


@dataclass(frozen=True, slots=True)
class DifferenceClaim:
    """A metric of one treatment compared with another: b against a. `same_flows`: their trials of one round meet the same flows."""

    metric: Metric
    margin: Extent
    a: str
    b: str
    same_flows: bool = False

    @property
    def _is_pooled(self) -> bool:
        return self.metric.estimand == "pooled"

    def vectors(self, values: RoundValues, rounds: Sequence[Round]) -> tuple[Array, Array, bool]:
        """Return the values of both sides; if they are compared in pairs, of the units that both have, and True.

        For pooled metrics these are the contributions of trials.

        Raises
        ------
        StatisticsError
            Nothing can be pooled yet.
        """
        a, b = (
            values.influences(self.metric, side, rounds)
            if self._is_pooled
            else values.units(self.metric.name, side, rounds)
            for side in (self.a, self.b)
        )
        if (values.level == "boot" or self.same_flows) and a.keys() & b.keys():
            return *_shared(a, b), True
        return _array(list(a.values())), _array(list(b.values())), False

    def numbers(self, values: RoundValues, rounds: Sequence[Round]) -> tuple[int, int]:
        """Return the number of units of each side in these rounds."""
        if values.level == "boot":
            a, b, _ = self.vectors(values, rounds)
            return a.size, b.size
        name = self.metric.name
        return values.number(name, self.a, rounds), values.number(name, self.b, rounds)

    def fewest_fresh(self, values: RoundValues, pilot: Sequence[Round]) -> int:
        """Return the minimum number of units on each side for a verdict: enough samples beyond a pooled quantile for its slope."""
        if not self._is_pooled or self.metric.percentile is None:
            return MIN_FRESH
        share = min(self.metric.percentile, 100 - self.metric.percentile) / 100
        each = min(values.samples_of_each(self.metric.name, side, pilot) for side in (self.a, self.b))
        return max(ceil(MIN_BEYOND / (share * each)), MIN_FRESH) if each else MIN_FRESH

    def pairs(self, values: RoundValues, rounds: Sequence[Round]) -> tuple[Array, Array]:
        """Return both sides unit by unit: rounds, or boots that have both."""
        a, b = (values.units(self.metric.name, side, rounds) for side in (self.a, self.b))
        if a.keys() & b.keys():
            return _shared(a, b)
        short = min(len(a), len(b))
        return _array(list(a.values())[:short]), _array(list(b.values())[:short])

    def unjudged(self, level: str, n: tuple[int, int], wanted: int | None, note: str = "") -> ClaimState:
        """Return the state before the claim is judged."""
        metric = self.metric
        what = estimand_text(metric, metric.estimand)
        return ClaimState(
            kind="difference",
            metric=metric.name,
            unit=metric.unit,
            subject=f"{self.b} against {self.a}",
            what=f"difference of {what}" if what else "difference",
            asked=f"margin {extent_text(self.margin, metric.unit)}",
            state="open",
            verdict=None,
            estimate=None,
            low=None,
            high=None,
            width=None,
            target=None,
            n=n,
            wanted=wanted,
            level=level,
            confidence=CONFIDENCE,
            method="",
            note=note,
            estimand=metric.estimand,
            convention=metric.convention if what and metric.percentile is not None else "",
        )


def _shared(a: dict[str, float], b: dict[str, float]) -> tuple[Array, Array]:
    both = [unit for unit in a if unit in b]
    return _array([a[unit] for unit in both]), _array([b[unit] for unit in both])


def _array(values: list[float]) -> Array:
    return np.array(values, dtype=np.float64)


# Two stages


def forecasts(
    claims: Sequence[DifferenceClaim], values: RoundValues, pilot: Sequence[Round], family: int
) -> list[Forecast]:
    """Forecast the fresh units on each side that give each comparison a chance of 90 %, at its share of the level of `family`."""
    alpha = (1 - CONFIDENCE / 100) / max(family, 1)
    found: list[Forecast] = []
    for claim in claims:
        try:
            needed = trials_to_decide_at(_difference(claim, values, pilot), alpha)
        except StatisticsError as error:
            found.append(Forecast(None, str(error)))
            continue
        fewest = claim.fewest_fresh(values, pilot)
        note = "no number up to 10,000 gives a chance of 90 %: the difference is about the margin"
        found.append(Forecast(None, note) if needed is None else Forecast(max(needed, fewest)))
    return found


def judged(
    claims: Sequence[DifferenceClaim],
    values: RoundValues,
    fresh: Sequence[Round],
    wanted: Sequence[int | None],
) -> tuple[list[ClaimState], str]:
    """Judge fresh trials, once, with Holm's correction over the family; return the verdicts and the correction in words."""
    found: dict[Hashable, st.Difference] = {}
    errors: dict[int, str] = {}
    for place, claim in enumerate(claims):
        try:
            found[place] = _difference(claim, values, fresh)
        except StatisticsError as error:
            errors[place] = str(error)
    family = st.difference_family(found) if found else None
    states: list[ClaimState] = []
    for place, claim in enumerate(claims):
        numbers = claim.numbers(values, fresh)
        empty = claim.unjudged(values.level, numbers, wanted[place], errors.get(place, ""))
        if family is None or place in errors:
            states.append(replace(empty, state="undecided"))
        else:
            states.append(_of_member(empty, family.members[place]))
    return states, family.method if family else "none: nothing could be compared"


def _difference(claim: DifferenceClaim, values: RoundValues, rounds: Sequence[Round]) -> st.Difference:
    a, b, paired = claim.vectors(values, rounds)
    judge = st.paired_difference if paired else st.difference
    margin = claim.margin
    return judge(a, b, confidence=CONFIDENCE, margin=margin.value, relative=margin.relative)


def _of_member(empty: ClaimState, member: st.FamilyMember) -> ClaimState:
    welch = member.difference.welch
    return replace(
        empty,
        state="undecided" if member.verdict == "undecided" else "decided",
        verdict=member.verdict,
        n=welch.n,
        estimate=welch.estimate,
        low=welch.low,
        high=welch.high,
        width=(welch.high - welch.low) / 2,
        target=member.difference.margin,
        method=f"two stages: {member.difference.method}",
        note=member.reason,
    )


# At any time


def at_any_time(
    claims: Sequence[DifferenceClaim], values: RoundValues, rounds: Sequence[Round], family: int
) -> tuple[list[ClaimState], str]:
    """Judge by bounds that hold at all looks jointly, with the level split evenly over a `family` of so many (Bonferroni)."""
    confidence = 100 - (100 - CONFIDENCE) / max(family, 1)
    states = [
        _at_any_time(claim, *claim.pairs(values, rounds), level=values.level, confidence=confidence)
        for claim in claims
    ]
    return states, f"Bonferroni over {family} differences"


def _at_any_time(claim: DifferenceClaim, a: Array, b: Array, *, level: str, confidence: float) -> ClaimState:
    empty = claim.unjudged(level, (a.size, b.size), None)
    if not a.size:
        return empty
    verdict = verdict_at_any_time(a, b, claim.margin, confidence=confidence)
    low, high = _bounds(b - a, confidence)
    bounded = low > -inf and high < inf
    size, estimate = claim.margin.value, float((b - a).mean())
    margin = size / 100 * abs(float(a.mean())) if claim.margin.relative else size
    return replace(
        empty,
        state="open" if verdict == "undecided" else "decided",
        verdict=verdict,
        estimate=estimate,
        low=low if bounded else None,
        high=high if bounded else None,
        width=(high - low) / 2 if bounded else None,
        target=margin,
        wanted=units_wanted(a.size, (high - low) / 2, abs(abs(estimate) - margin)),
        confidence=confidence,
        method="at any time: asymptotic confidence sequence of the difference, round by round",
        note="" if bounded else f"there are no bounds before {FIRST_LOOK} rounds",
    )


def verdict_at_any_time(a: Array, b: Array, margin: Extent, *, confidence: float) -> st.Verdict:
    """Decide about mean(b) - mean(a) and a margin, valid for a look after every pair.

    Asymptotic confidence sequences (`st.mean_confidence_sequence`) of b - (1 ± δ) a, or b - a ± δ: "different" if both lie on the
    same side of 0, "equivalent" if the first lies below and the second above. A wrong verdict requires a one-sided error of one of
    the two sequences, so both together keep the level. Differences are taken round by round, which removes drift common to both
    sides and makes differences of equal distributions symmetric.
    """
    if margin.relative and a.mean() < 0:
        a, b = -a, -b
    share, size = (margin.value / 100, 0.0) if margin.relative else (0.0, margin.value)
    upper = _bounds(b - (1 + share) * a - size, confidence)
    lower = _bounds(b - (1 - share) * a + size, confidence)
    if min(upper[0], lower[0]) > 0 or max(upper[1], lower[1]) < 0:
        return "different"
    return "equivalent" if upper[1] < 0 < lower[0] else "undecided"


def _bounds(values: Array, confidence: float) -> tuple[float, float]:
    found = st.mean_confidence_sequence(values, confidence=confidence)
    return float(found.low[-1]), float(found.high[-1])
