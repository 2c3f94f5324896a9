"""Claims against the trials: an estimate, an interval, and whether all of it lies where the claim says.

A claim says that a number lies in a range. With the level C of the claim and a = 1 - C, it is supported if the interval at 1 - 2a lies
in the range: for one bound that is a one-sided test at a, for two bounds two one-sided tests (Schuirmann 1987; intersection and union,
Berger 1982). It is contradicted if the interval lies outside; for a range with two bounds this is asked of the interval at 1 - a. So
a claim that is wrong is called supported, and one that is right contradicted, in at most the share a of cases. Claims are judged one
by one, without a correction for their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, inf, isfinite, sqrt

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.claims.identical import judge_identical
from trialwise.analysis.claims.results import ClaimResult, Verdict
from trialwise.analysis.claims.treatments import (
    facts_of,
    in_unit,
    side_of,
    treatment_of,
    treatments_of,
    units_of,
)
from trialwise.analysis.comparison.comparing import CompareOptions, Pair, pair_of
from trialwise.analysis.trial_set import Level, MetricFacts, TrialSet
from trialwise.analysis.unit_words import plural
from trialwise.arrays import Array
from trialwise.errors import AnalysisError, StatisticsError
from trialwise.experiment.claims import (
    Bounded,
    Located,
    StatedBest,
    StatedClaim,
    StatedDifference,
    StatedEquivalence,
    StatedEvery,
    StatedIdentity,
    StatedKpi,
    StatedRanking,
    StatedRatio,
    StatedValue,
)
from trialwise.experiment.placeholders import level_text
from trialwise.late import special
from trialwise.numbers import as_given

_CHANCE = 0.9
"""Chance of a verdict with the units that are said to be missing."""
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class _Range:
    """Where the number lies by the claim."""

    low: float = -inf
    high: float = inf

    def verdict(self, narrow: tuple[float, float], wide: tuple[float, float]) -> Verdict:
        """Judge intervals at 1 - 2a and at 1 - a."""
        if self.low <= narrow[0] and narrow[1] <= self.high:
            return "supported"
        low, high = wide if isfinite(self.low) and isfinite(self.high) else narrow
        return "contradicted" if high < self.low or low > self.high else "undecided"


@dataclass(frozen=True, slots=True)
class _Found:
    """An estimate with its intervals at 1 - 2a and at 1 - a; `reason`: why there is none, or why it says nothing of further trials."""

    subject: str
    unit: str
    estimate: float | None
    narrow: tuple[float, float]
    wide: tuple[float, float]
    n: tuple[int, ...]
    replication: Level
    method: str
    reason: str = ""
    bound_unit: str = ""
    shortage: tuple[str, str] = ("", "")
    """Why there is no lower and no upper bound; told if the claim needs it."""


def judge_claim(trials: TrialSet, claim: StatedClaim, level: float) -> ClaimResult:
    """Judge one claim.

    Parameters
    ----------
    trials
        The trials that it is about.
    claim
        The claim.
    level
        Its level as a share, above 0.5.

    Raises
    ------
    AnalysisError
        The metric or a treatment does not exist, several treatments are meant, no trial has a value, or a bound is in a unit of
        another kind.
    """
    said = claim.said
    if isinstance(said, StatedIdentity):
        return judge_identical(trials, claim, level)
    facts, percent = facts_of(trials, claim.metric), 100 * level
    if isinstance(said, StatedEquivalence):
        return _equivalent(trials, claim, said, facts, percent)
    if isinstance(said, StatedBest | StatedRanking):
        return _ordered(trials, claim, said, facts, percent)
    if isinstance(said, StatedEvery):
        return _every(trials, claim, said, facts, percent)
    if isinstance(said, StatedDifference):
        found = _between(trials, facts, said, percent)
    else:
        found = _of_one(trials, facts, said, percent)
    wanted = _range(said, claim, found.unit)
    verdict: Verdict = "undecided" if found.reason else wanted.verdict(found.narrow, found.wide)
    if verdict != "undecided":
        return _result(claim, percent, found, wanted, verdict)
    reason = found.reason or _shortage(found, wanted)
    return _result(
        claim, percent, found, wanted, verdict, reason, None if reason else _more(found, wanted, level)
    )


def _result(
    claim: StatedClaim,
    percent: float,
    found: _Found,
    wanted: _Range,
    verdict: Verdict,
    reason: str = "",
    more: int | None = None,
) -> ClaimResult:
    low, high = (end if isfinite(end) else None for end in found.narrow)
    return ClaimResult(
        id=claim.id,
        text=claim.text,
        kind=claim.kind,
        data=claim.data or "",
        metric=claim.metric,
        subject=found.subject,
        verdict=verdict,
        unit=found.unit,
        bound_unit=(found.bound_unit or found.unit).strip(),
        at_least=wanted.low if isfinite(wanted.low) else None,
        at_most=wanted.high if isfinite(wanted.high) else None,
        estimate=found.estimate,
        low=low,
        high=high,
        confidence=2 * percent - 100,
        level=percent,
        n=found.n,
        replication=found.replication,
        method=found.method,
        reason=reason,
        more=more,
        tolerance=_tolerance(claim),
        figure=claim.figure or "",
    )


def _tolerance(claim: StatedClaim) -> str:
    extent = claim.tolerance
    return "" if extent is None else f"{as_given(extent.value)}{'%' if extent.relative else ''}"


def _range(said: Bounded, claim: StatedClaim, unit: str) -> _Range:
    low, high = in_unit(said.at_least, unit), in_unit(said.at_most, unit)
    about = in_unit(said.about, unit) if isinstance(said, Located) else None
    if about is None:
        if low is not None and high is not None and low > high:
            raise AnalysisError(
                f"claim {claim.id}: at_least {as_given(low)} is above at_most {as_given(high)}"
            )
        return _Range(-inf if low is None else low, inf if high is None else high)
    if isinstance(said, StatedRatio) and said.magnitude:
        return _Range(about / sqrt(10), about * sqrt(10))
    tolerance = claim.tolerance
    if tolerance is None:
        raise AssertionError("about without a tolerance is refused where the file is read")
    reach = tolerance.value / 100 * abs(about) if tolerance.relative else tolerance.value
    return _Range(about - reach, about + reach)


def _shortage(found: _Found, wanted: _Range) -> str:
    """Return why a bound is missing without which the claim cannot be supported."""
    needed = ((wanted.low, found.shortage[0]), (wanted.high, found.shortage[1]))
    return next((why for end, why in needed if isfinite(end) and why), "")


def _more(found: _Found, wanted: _Range, level: float) -> int | None:
    """Return about how many further units on each side give a verdict with a chance of 90 %, if the estimate stays what it is."""
    half = (found.narrow[1] - found.narrow[0]) / 2
    if found.estimate is None or not isfinite(half):
        return None
    distance = min(abs(found.estimate - end) for end in (wanted.low, wanted.high))
    reach = float(special.ndtri(level))
    if not distance:
        return None
    total = min(found.n) * (half * (reach + float(special.ndtri(_CHANCE))) / reach / distance) ** 2
    return max(1, ceil(total) - min(found.n)) if total < _MOST else None


# One treatment


def _of_one(trials: TrialSet, facts: MetricFacts, said: Bounded, percent: float) -> _Found:
    if not isinstance(said, StatedValue | StatedKpi):
        raise TypeError("not a claim on one treatment")
    name = treatment_of(trials, said.treatment)
    values, unit = units_of(side_of(trials, facts.name, name))
    what = said.percentile if isinstance(said, StatedKpi) else said.measure
    if what == "mean":
        return _mean(facts, name, values, unit, percent)
    if what in ("min", "max"):
        raise AnalysisError(
            f"the {what} of trials is that of these trials alone", hint="claim a percentile, or every = { … }"
        )
    rank = 50.0 if what == "median" else float(what)
    found = _percentile(facts, name, values, unit, rank, percent)
    if isinstance(said, StatedKpi) and not found.reason:
        test = st.independence(values)
        if test.independent is False:
            return replace(found, reason=f"the trials are not independent: {test.reason}")
    return found


def _mean(facts: MetricFacts, name: str, values: Array, unit: Level, percent: float) -> _Found:
    subject = f"{facts.what or 'mean'} of {name}"
    few = _few(values.size, 2, unit) or (
        f"all {values.size} values are equal: they say nothing about their spread"
        if not np.ptp(values)
        else ""
    )
    if few:
        return _Found(
            subject, facts.unit, float(values.mean()), (-inf, inf), (-inf, inf), (values.size,), unit, "", few
        )
    narrow, wide = (st.mean_interval(values, confidence=each) for each in (2 * percent - 100, percent))
    return _Found(
        subject,
        facts.unit,
        narrow.estimate,
        (narrow.low, narrow.high),
        (wide.low, wide.high),
        (values.size,),
        unit,
        narrow.method,
    )


def _percentile(
    facts: MetricFacts, name: str, values: Array, unit: Level, rank: float, percent: float
) -> _Found:
    subject = f"{'median' if rank == 50 else f'p{as_given(rank)}'} of {name}"
    found = [st.percentile_interval(values, rank, each) for each in (2 * percent - 100, percent)]
    sides = [st.percentile_interval(values, rank, percent, bound=side) for side in ("lower", "upper")]
    narrow = (_or(sides[0].low, -inf), _or(sides[1].high, inf))
    wide = (_or(found[1].low, -inf), _or(found[1].high, inf))
    return _Found(
        subject,
        facts.unit,
        float(np.percentile(values, rank)),
        narrow,
        wide,
        (values.size,),
        unit,
        sides[0].method,
        shortage=(_few(values.size, sides[0].needed, unit), _few(values.size, sides[1].needed, unit)),
    )


def _or(value: float | None, other: float) -> float:
    return other if value is None else value


def _few(there: int, needed: int, unit: Level) -> str:
    if there >= needed:
        return ""
    return f"{needed} {plural(unit)} are the fewest that can say it, and there {'is' if there == 1 else 'are'} {there}"


# Two treatments


def _between(trials: TrialSet, facts: MetricFacts, said: StatedDifference, percent: float) -> _Found:
    of, to = (treatment_of(trials, levels) for levels in (said.of, said.to))
    ratio = isinstance(said, StatedRatio)
    subject = f"{of} / {to}" if ratio else f"{of} - {to}"
    pairs = [_pair(trials, facts, of, to, each) for each in (2 * percent - 100, percent)]
    narrow, wide = pairs
    if narrow.difference is None or wide.difference is None:
        n = narrow.units.n
        empty = (-inf, inf)
        return _Found(
            subject, "" if ratio else facts.unit, None, empty, empty, n, narrow.units.level, "", narrow.reason
        )
    sides = [one.ratio if ratio else one.welch for one in (narrow.difference, wide.difference)]
    return _Found(
        subject,
        "" if ratio else facts.unit,
        sides[0].estimate if isfinite(sides[0].estimate) else None,
        (sides[0].low, sides[0].high),
        (sides[1].low, sides[1].high),
        narrow.difference.n,
        narrow.units.level,
        sides[0].method,
        ""
        if isfinite(sides[0].low)
        else f"the mean of {to} may be 0, so a ratio to it has no bounds"
        if ratio
        else "nothing varies, and there are too few trials for a bound",
    )


def _pair(
    trials: TrialSet,
    facts: MetricFacts,
    of: str,
    to: str,
    percent: float,
    options: CompareOptions | None = None,
) -> Pair:
    if of == to:
        raise AnalysisError(f"{of} is compared with itself", hint="name two treatments")
    sides = side_of(trials, facts.name, to), side_of(trials, facts.name, of)
    try:
        return pair_of(of, (facts, facts), sides, options or CompareOptions(confidence=percent))
    except StatisticsError as error:
        raise AnalysisError(f"{of} against {to}: {error.message}", hint=error.hint) from error


def _equivalent(
    trials: TrialSet, claim: StatedClaim, said: StatedEquivalence, facts: MetricFacts, percent: float
) -> ClaimResult:
    """Judge as `compare` does: by Schuirmann's two tests at the level, and contradicted if the interval at the level is outside."""
    of, to = (treatment_of(trials, levels) for levels in (said.of, said.to))
    pair = _pair(trials, facts, of, to, percent, CompareOptions(confidence=percent, margin=said.within))
    narrow = _pair(trials, facts, of, to, 2 * percent - 100)
    one, size = pair.difference, said.within.value
    relative = said.within.relative
    unit, wanted = "%" if relative else facts.unit, _Range(-size, size)
    subject, empty = f"{of} against {to}", (-inf, inf)
    if one is None or narrow.difference is None:
        found = _Found(subject, unit, None, empty, empty, pair.units.n, pair.units.level, "", pair.reason)
        return _result(claim, percent, found, wanted, "undecided", pair.reason)
    shown = narrow.difference.percent if relative else narrow.difference.welch
    ends = (shown.low, shown.high)
    found = _Found(subject, unit, shown.estimate, ends, ends, one.n, pair.units.level, one.method)
    words: dict[str, Verdict] = {"equivalent": "supported", "different": "contradicted"}
    verdict = words.get(one.verdict, "undecided")
    more = one.trials_needed if verdict == "undecided" else None
    return _result(claim, percent, found, wanted, verdict, "", more)


# Several treatments


def _ordered(
    trials: TrialSet, claim: StatedClaim, said: StatedBest | StatedRanking, facts: MetricFacts, percent: float
) -> ClaimResult:
    """Judge an order by pairs: supported if each pair is shown, at the level; contradicted if one is shown the other way round.

    All pairs must be shown, so that no correction is needed (Berger 1982); for the contradiction the level is shared (Bonferroni).
    The pair that is shown worst is what is printed.
    """
    better = said.better or facts.better
    if better is None:
        raise AnalysisError(
            f"{facts.name} does not say which way is better",
            hint='add better = "higher" or "lower" to the claim',
        )
    facts = replace(facts, better=better)
    names = _in_order(trials, said)
    pairs = (
        list(pairwise(names))
        if isinstance(said, StatedRanking)
        else [(names[0], other) for other in names[1:]]
    )
    shared = 100 - (100 - percent) / len(pairs)
    rows = [_step(trials, facts, pair, percent, shared) for pair in pairs]
    verdict: Verdict = "undecided"
    if all(one[1] == "supported" for one in rows):
        verdict = "supported"
    elif any(one[1] == "contradicted" for one in rows):
        verdict = "contradicted"
    deciding = [one for one in rows if one[1] == verdict] if verdict == "contradicted" else rows
    worst = min(deciding, key=lambda one: one[2])
    found, _, _ = worst
    wanted = _Range(low=0.0) if better == "higher" else _Range(high=0.0)
    more = _more(found, wanted, percent / 100) if verdict == "undecided" and not found.reason else None
    return _result(
        claim, percent, found, wanted, verdict, found.reason if verdict == "undecided" else "", more
    )


def _step(
    trials: TrialSet, facts: MetricFacts, pair: tuple[str, str], percent: float, shared: float
) -> tuple[_Found, Verdict, float]:
    """Return the difference of the better one and the other, its verdict, and how many half widths it is on the right side."""
    better, other = pair
    narrow = _pair(trials, facts, better, other, 2 * percent - 100)
    wide = _pair(trials, facts, better, other, 2 * shared - 100)
    subject, empty = f"{better} - {other}", (-inf, inf)
    if narrow.difference is None or wide.difference is None:
        return (
            _Found(
                subject, facts.unit, None, empty, empty, narrow.units.n, narrow.units.level, "", narrow.reason
            ),
            "undecided",
            -inf,
        )
    one, two = narrow.difference.welch, wide.difference.welch
    found = _Found(
        subject,
        facts.unit,
        one.estimate,
        (one.low, one.high),
        (two.low, two.high),
        one.n,
        narrow.units.level,
        f"{one.method} for each pair",
    )
    sign = 1 if facts.better == "higher" else -1
    low, high = sorted((sign * one.low, sign * one.high))
    verdict: Verdict = (
        "supported"
        if low > 0
        else "contradicted"
        if max(sign * two.low, sign * two.high) < 0
        else "undecided"
    )
    half = (high - low) / 2
    return found, verdict, sign * one.estimate / half if half else sign * inf


def _in_order(trials: TrialSet, said: StatedBest | StatedRanking) -> list[str]:
    """Return the treatments: the claimed best before the others, or all in the claimed order."""
    if isinstance(said, StatedRanking):
        return [treatment_of(trials, {**said.where, said.over: level}) for level in said.order]
    best = treatment_of(trials, {**said.where, **said.treatment})
    own = trials.treatments[best]
    if said.over not in own:
        raise AnalysisError(f"{best} has no factor {said.over}", hint=f"it has: {', '.join(own) or 'none'}")
    others = [
        name
        for name in treatments_of(trials, said.where)
        if name != best
        and all(
            level_text(level) == level_text(trials.treatments[name].get(factor, ""))
            for factor, level in own.items()
            if factor != said.over
        )
    ]
    if not others:
        raise AnalysisError(
            f"there is nothing that {best} could be better than", hint=f"{said.over} has one level there"
        )
    return [best, *others]


# Every trial


def _every(
    trials: TrialSet, claim: StatedClaim, said: StatedEvery, facts: MetricFacts, percent: float
) -> ClaimResult:
    """Count trials outside of the bounds; the interval is that of their share in further trials (Clopper and Pearson 1934)."""
    names: Sequence[str] = treatments_of(trials, said.where)
    values = np.concatenate([trials.of(facts.name, name)["value"].drop_nulls().to_numpy() for name in names])
    if not values.size:
        raise AnalysisError(f"{trials.name}: no trial of these has a value of {facts.name}")
    wanted = _range(said, claim, facts.unit)
    outside = int(np.count_nonzero((values < wanted.low) | (values > wanted.high)))
    share = st.proportion(outside, int(values.size), confidence=2 * percent - 100)
    found = _Found(
        "trials outside of the bounds",
        "%",
        share.percent,
        (share.low, share.high),
        (share.low, share.high),
        (share.n,),
        "trial",
        share.method,
        bound_unit=facts.unit or " ",
    )
    return _result(claim, percent, found, wanted, "contradicted" if outside else "supported")
