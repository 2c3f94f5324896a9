"""Whether a re-run reproduces a claim: does it hold there, and does its number agree with the original's.

The first question is judged from the re-run alone, as any claim. For the second, D is the re-run's estimate minus the original's, with
s² = s_o² + s_r² and the degrees of freedom of Welch and Satterthwaite: they agree if the interval of D at 1 - 2a lies within the
tolerance (two one-sided tests, Schuirmann 1987), and differ if it lies outside. Ratios are compared on the scale of logarithms, where
a factor that two machines have in common cancels. `spread` is the standard deviation from host to host of what does not cancel:
one host on each side adds twice its square.

What one host shows holds on that machine: more trials on it sharpen its own number, and not that of machines in general.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, isfinite, log1p, sqrt
from typing import Literal

import numpy as np

from trialwise.analysis.claims.results import ClaimResult, Verdict
from trialwise.analysis.claims.telescopes import Telescope, telescope
from trialwise.analysis.claims.treatments import side_of, treatment_of, units_of
from trialwise.analysis.trial_set import TrialSet
from trialwise.arrays import Array
from trialwise.experiment.claims import (
    StatedClaim,
    StatedDifference,
    StatedEquivalence,
    StatedRatio,
    StatedValue,
)
from trialwise.late import special

Agreement = Literal["agrees", "differs", "too few"]
Word = Literal[
    "reproduced",
    "holds, with another size",
    "holds; too few trials to compare sizes",
    "holds; sizes are not compared",
    "too few trials yet",
    "not reproduced",
    "not comparable",
    "not runnable here",
    "recomputed only",
]
NOT_REPRODUCED: Word = "not reproduced"
NOT_RUNNABLE: Word = "not runnable here"
NOT_COMPARABLE: Word = "not comparable"
RECOMPUTED: Word = "recomputed only"
FINE: tuple[Word, ...] = ("reproduced", "holds; sizes are not compared")
"""Verdicts that leave nothing open."""
DECIDED: tuple[Word, ...] = (*FINE, NOT_REPRODUCED, "holds, with another size", "not comparable")
"""Verdicts that further trials on the same machine need not change."""


@dataclass(frozen=True, slots=True)
class Effect:
    """An estimate with its standard error and degrees of freedom, from the mean of one side or of two sides of trials.

    `spread` is the variance of a single unit, summed over the sides, and `n` the units of the smallest side.
    """

    estimate: float
    error: float
    freedom: float
    spread: float
    n: int


def effect_of(sides: Sequence[Array], *, logarithms: bool = False) -> Effect | None:
    """Return the mean of one side, or the mean of the first minus that of the second; None without a standard error.

    With `logarithms`, of the logarithms of the values: then it is the logarithm of a ratio of geometric means.
    """
    if any(side.size < 2 or (logarithms and side.min() <= 0) for side in sides):
        return None
    values = [np.log(side) if logarithms else side for side in sides]
    parts = [float(side.var(ddof=1)) / side.size for side in values]
    total = sum(parts)
    if total <= 0 or not isfinite(total):
        return None
    freedom = total**2 / sum(part**2 / (side.size - 1) for part, side in zip(parts, values, strict=True))
    means = [float(side.mean()) for side in values]
    return Effect(
        estimate=means[0] - sum(means[1:]),
        error=sqrt(total),
        freedom=freedom,
        spread=sum(float(side.var(ddof=1)) for side in values),
        n=min(side.size for side in values),
    )


def difference_interval(
    original: Effect, rerun: Effect, level: float, spread: float = 0.0
) -> tuple[float, float]:
    """Return the interval of the re-run's estimate minus the original's.

    Parameters
    ----------
    level
        Confidence as a share; each bound by itself holds at (1 + level) / 2.
    spread
        Standard deviation from host to host, on the scale of the estimates.
    """
    parts = original.error**2, rerun.error**2
    total = sum(parts)
    freedom = total**2 / (parts[0] ** 2 / original.freedom + parts[1] ** 2 / rerun.freedom)
    half = float(special.stdtrit(freedom, (1 + level) / 2)) * sqrt(total + 2 * spread**2)
    between = rerun.estimate - original.estimate
    return between - half, between + half


def agreement(interval: tuple[float, float], tolerance: float) -> Agreement:
    """Judge the interval of a difference against a tolerance."""
    low, high = interval
    if -tolerance < low and high < tolerance:
        return "agrees"
    return "differs" if high < -tolerance or low > tolerance else "too few"


def prediction_interval(original: Effect, n: int, level: float, spread: float = 0.0) -> tuple[float, float]:
    """Return where the original expects the estimate of a re-run of `n` units on each side, with confidence `level` as a share.

    A poor original predicts everything: inside is never by itself a reproduction.
    """
    variance = original.spread * (1 / original.n + 1 / n) + 2 * spread**2
    half = float(special.stdtrit(original.freedom, (1 + level) / 2)) * sqrt(variance)
    return original.estimate - half, original.estimate + half


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A claim on a re-run: `here` is what the re-run alone says, `word` the verdict, `change` the interval of what changed.

    `change` is the ratio of the re-run's number to the original's for ratios (`is_factor`), else their difference; None where it is
    not compared, and `why` says why. `expected`: whether the original predicts the re-run's number at 95 %. `more`: about how many
    further units on each side of the re-run would decide what is open, if its number stays what it is; None if nothing would.
    `telescope`: of a claim that there is an effect, whether it is too small to have been seen by the original.
    """

    id: str
    word: Word
    here: ClaimResult
    change: tuple[float, float, float] | None
    is_factor: bool
    expected: bool | None
    why: str
    more: int | None = None
    telescope: Telescope | None = None


def reproduce(
    claim: StatedClaim, original: TrialSet, rerun: TrialSet, here: ClaimResult, *, same_kind: bool
) -> Reproduced:
    """Judge one claim on a re-run.

    Parameters
    ----------
    here
        The claim as the trials of the re-run alone give it.
    same_kind
        Whether both ran on machines of one kind; elsewhere numbers with a unit cannot be compared.

    Raises
    ------
    AnalysisError
        A treatment does not exist.
    """
    theirs, ours = size_of(claim, original), size_of(claim, rerun)
    elsewhere = claim.machine is not None and not same_kind
    if theirs is None or ours is None:
        word: Word = _by_claim(here.verdict) or "holds; sizes are not compared"
        word, why = (NOT_COMPARABLE, _ANOTHER_KIND) if elsewhere else (word, _NO_SIZE)
        return Reproduced(claim.id, word, here, None, is_factor=False, expected=None, why=why, more=here.more)
    (before, is_factor), (now, _) = theirs, ours
    spread = claim.host_spread.value / 100 if claim.host_spread and is_factor else 0.0
    low, high = difference_interval(before, now, here.level / 50 - 1, spread)
    expected = prediction_interval(before, now.n, 0.95, spread)
    between = now.estimate - before.estimate
    tolerance = tolerance_of(claim, before, is_factor=is_factor)
    change = tuple(map(exp, (between, low, high))) if is_factor else (between, low, high)
    is_comparable = same_kind or (is_factor and not elsewhere)
    word, why = _word(claim, here, before, (low, high), is_factor=is_factor)
    if not is_comparable:
        word, why = NOT_COMPARABLE, _ANOTHER_KIND if elsewhere else _WITH_A_UNIT
    more = here.more
    if word == "holds; too few trials to compare sizes":
        more = _further(now, before, between, tolerance, here.level / 100)
        why = "" if more is not None else _NEVER
    return Reproduced(
        claim.id,
        word,
        here,
        (change[0], change[1], change[2]),
        is_factor=is_factor,
        expected=expected[0] <= now.estimate <= expected[1],
        why=why,
        more=more,
        telescope=_telescope(claim, original, rerun),
    )


def _telescope(claim: StatedClaim, original: TrialSet, rerun: TrialSet) -> Telescope | None:
    """Return what small telescopes say of a claim whose only bound is that there is no effect; None for other claims."""
    said = claim.said
    nothing = 1.0 if isinstance(said, StatedRatio) else 0.0
    if not isinstance(said, StatedDifference) or said.about is not None:
        return None
    up, down = (end is not None and end.value == nothing for end in (said.at_least, said.at_most))
    if up == down:
        return None
    levels = (said.of, said.to) if up else (said.to, said.of)
    sides = [
        [units_of(side_of(trials, claim.metric, treatment_of(trials, each)))[0] for each in levels]
        for trials in (original, rerun)
    ]
    before, now = ([np.log(side) for side in each] if nothing else each for each in sides)
    return telescope((now[0], now[1]), (before[0].size, before[1].size))


_NEVER = "the authors' own trials, or the difference from them, leave no room in the tolerance: more trials here would not decide it"


def _further(
    now: Effect, before: Effect, between: float, tolerance: float | None, level: float
) -> int | None:
    """Return the further units on each side that show agreement with a chance of 90 %, if the difference stays what it is."""
    distance = (tolerance or 0.0) - abs(between)
    error = distance / float(special.stdtrit(now.freedom, level) + special.stdtrit(now.freedom, _CHANCE))
    if error <= before.error:
        return None
    total = now.spread / (error**2 - before.error**2)
    return max(1, ceil(total) - now.n) if total < _MOST else None


_CHANCE = 0.9
_MOST = 10_000


def confirmed(
    found: Sequence[Reproduced], number: int, contradicts: Callable[[Reproduced, float], bool]
) -> tuple[Reproduced, ...]:
    """Return verdicts of which those that contradict hold for all claims together (Holm 1979): one of many is not refuted by luck.

    Parameters
    ----------
    number
        Of the claims that are judged together.
    contradicts
        Whether a claim is still contradicted at this share of its error.
    """
    open_ones = {one.id: one for one in found if one.word == NOT_REPRODUCED}
    left = max(number, len(open_ones))
    while firm := [name for name, one in open_ones.items() if contradicts(one, 1 / left)]:
        left -= len(firm)
        for name in firm:
            del open_ones[name]
    return tuple(
        replace(one, word="too few trials yet", why=_NOT_BESIDE) if one.id in open_ones else one
        for one in found
    )


_NOT_BESIDE = (
    "contradicted by itself, but not beside the other claims: one of several may fail by luck (Holm)"
)
_ANOTHER_KIND = "its authors state it for machines of one kind, and this one is of another"
_WITH_A_UNIT = "numbers with a unit are not compared between machines of different kinds"
_NO_SIZE = "claims of this kind are judged on the re-run alone"


def _by_claim(verdict: Verdict) -> Word | None:
    """Return the verdict where the claim itself does not hold."""
    if verdict == "contradicted":
        return NOT_REPRODUCED
    return "too few trials yet" if verdict == "undecided" else None


def _word(
    claim: StatedClaim,
    here: ClaimResult,
    before: Effect,
    interval: tuple[float, float],
    *,
    is_factor: bool,
) -> tuple[Word, str]:
    if (word := _by_claim(here.verdict)) is not None:
        return word, ""
    reach = tolerance_of(claim, before, is_factor=is_factor)
    if reach is None:
        return (
            "holds; sizes are not compared",
            "the claim states no tolerance that its number can be compared by",
        )
    found = agreement(interval, reach)
    words: dict[Agreement, Word] = {
        "agrees": "reproduced",
        "differs": "holds, with another size",
        "too few": "holds; too few trials to compare sizes",
    }
    return words[found], ""


def tolerance_of(claim: StatedClaim, before: Effect, *, is_factor: bool) -> float | None:
    """Return the tolerance on the scale of the estimates; None if there is none, or it is one of another scale."""
    stated = claim.tolerance
    if stated is None:
        return None
    if is_factor:
        return log1p(stated.value / 100) if stated.relative else None
    return stated.value / 100 * abs(before.estimate) if stated.relative else stated.value


def size_of(claim: StatedClaim, trials: TrialSet) -> tuple[Effect, bool] | None:
    """Return the effect that a claim is about and whether it is the logarithm of a ratio; None for claims without one such number.

    Raises
    ------
    AnalysisError
        A treatment does not exist.
    """
    said = claim.said
    if isinstance(said, StatedRatio | StatedEquivalence):
        levels, logarithms = (said.of, said.to), True
    elif isinstance(said, StatedDifference):
        levels, logarithms = (said.of, said.to), False
    elif isinstance(said, StatedValue) and said.measure == "mean":
        levels, logarithms = (said.treatment,), False
    else:
        return None
    sides = [units_of(side_of(trials, claim.metric, treatment_of(trials, each)))[0] for each in levels]
    found = effect_of(sides, logarithms=logarithms)
    return None if found is None else (found, logarithms)
