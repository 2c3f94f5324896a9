"""Looks at a re-run: when claims are judged while it grows, and how much of a claim's error each look may spend.

The number of rounds of a re-run is planned before it begins. A claim is judged at most three times: after the smallest re-run (a fifth
of its error), at half of the planned rounds or where the run was stopped (a fifth), and at all of them (what is left). The first look
that decides is the verdict. By the union bound, all looks together decide wrongly no more often than one look at the claim's level,
however the looks depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, log, log1p

from trialwise.analysis.claims.identical import same_numbers
from trialwise.analysis.claims.judging import judge_claim
from trialwise.analysis.claims.reproduction import (
    DECIDED,
    Effect,
    Reproduced,
    reproduce,
    size_of,
    tolerance_of,
)
from trialwise.analysis.claims.results import ClaimResult
from trialwise.analysis.trial_set import TrialSet
from trialwise.experiment.claims import StatedClaim, StatedRanking
from trialwise.experiment.placeholders import level_text
from trialwise.late import pl, special

FIRST_SHARE = 0.2
"""Share of the error that each look before the last one may spend."""
MOST_EARLY = 2
"""Looks before the last one."""
KICK_ROUNDS = 7
"""Rounds of the smallest re-run: with seven trials a median has a bound at 99 %, the level of the first look at a claim at 95 %."""
_CHANCE = 0.9
_MOST = 10_000
_STUDENT = 2
"""Units by which Student's t needs more than the normal distribution."""


@dataclass(frozen=True, slots=True)
class Look:
    """A claim was judged after `rounds` complete rounds, at `share` of its error."""

    claim: str
    rounds: int
    share: float


def level_of(level: float, share: float) -> float:
    """Return the level at which a look judges that may spend a share of the error of a claim; levels as shares."""
    return 1 - share * (1 - level)


def next_share(taken: Sequence[Look], rounds: int, planned: int) -> float:
    """Return what a look after so many rounds may spend, given the earlier looks at the claim; 0 if it has to wait for all rounds."""
    if taken and taken[-1].rounds >= min(rounds, planned):
        return 0.0
    if rounds >= planned:
        return 1 - sum(look.share for look in taken)
    return FIRST_SHARE if len(taken) < MOST_EARLY else 0.0


def stages(planned: int) -> tuple[int, int]:
    """Return the rounds after which a claim is judged: half of the planned ones, and all."""
    return ceil(planned / 2), planned


def rounds_for(claim: StatedClaim, original: TrialSet, theirs: ClaimResult) -> int | None:
    """Return the rounds with which a re-run decides with a chance of 90 % if it measures what the authors did.

    One unit of each side is measured in each round. None: the claim has no size, or more than 10,000 rounds are needed; also where the
    authors' own number is too uncertain for its tolerance, so that no re-run can agree with it.

    Parameters
    ----------
    theirs
        The claim as the trials of the original give it.
    """
    found = size_of(claim, original)
    return None if found is None else rounds_for_effect(claim, found[0], theirs, is_factor=found[1])


def rounds_for_effect(
    claim: StatedClaim, effect: Effect, theirs: ClaimResult, *, is_factor: bool
) -> int | None:
    """Return what `rounds_for` does, where the effect that the original has is known; `is_factor`: it is the logarithm of a ratio."""
    reach = float(special.ndtri(level_of(theirs.level / 100, 1 - FIRST_SHARE)))
    distances = [abs(effect.estimate - end) for end in _bounds(claim, theirs, is_factor=is_factor)]
    if not all(distances):
        return None
    errors = [distance / (reach + float(special.ndtri(_CHANCE))) for distance in distances]
    needed = [effect.spread / error**2 for error in errors]
    tolerance = tolerance_of(claim, effect, is_factor=is_factor)
    if tolerance is not None:
        error = tolerance / (reach + float(special.ndtri((1 + _CHANCE) / 2)))
        if error <= effect.error:
            return None
        needed.append(effect.spread / (error**2 - effect.error**2))
    rounds = ceil(max(needed, default=0.0)) + _STUDENT
    return rounds if rounds <= _MOST else None


def _bounds(claim: StatedClaim, theirs: ClaimResult, *, is_factor: bool) -> list[float]:
    """Return the bounds of a claim on the scale of its effect."""
    ends = [end for end in (theirs.at_least, theirs.at_most) if end is not None]
    if not is_factor:
        return ends
    if claim.equivalent is not None:
        return [log1p(end / 100) for end in ends] if claim.equivalent.within.relative else []
    return [log(end) for end in ends if end > 0]


def at_looks(
    claim: StatedClaim,
    original: TrialSet,
    rerun: TrialSet,
    looks: Sequence[Look],
    level: float,
    *,
    same_kind: bool,
) -> tuple[Reproduced, Look] | None:
    """Return the verdict on a claim with the look that gave it: the first that decides, else the last one; None without a look.

    Parameters
    ----------
    level
        Confidence of the claim, as a share.

    Raises
    ------
    AnalysisError
        As `judge_claim`: the rounds of a look lack a treatment.
    """
    last = None
    for look in looks:
        last = at_look(claim, original, rerun, look, level, same_kind=same_kind), look
        if last[0].word in DECIDED:
            break
    return last


def at_look(
    claim: StatedClaim, original: TrialSet, rerun: TrialSet, look: Look, level: float, *, same_kind: bool
) -> Reproduced:
    """Return the verdict of one look, on the rounds that it was taken at; raises as `at_looks`."""
    part = _until(rerun, look.rounds)
    if claim.identical is not None:
        return same_numbers(claim, original, part, level)
    narrow = _narrowed(claim, part)
    here = judge_claim(part, narrow, level_of(level, look.share))
    return reproduce(narrow, original, part, here, same_kind=same_kind)


def _until(trials: TrialSet, rounds: int) -> TrialSet:
    """Return the trials of the first rounds."""
    number = pl.col("round").str.split(".").list.last().cast(pl.Int64)
    contents = None if trials.contents is None else trials.contents.filter(number <= rounds)
    return replace(trials, table=trials.table.filter(number <= rounds), contents=contents)


def _narrowed(claim: StatedClaim, trials: TrialSet) -> StatedClaim:
    """Return a ranking of the levels that were measured, where the smallest re-run leaves some out."""
    said = claim.ranking
    if not isinstance(said, StatedRanking):
        return claim
    there = {level_text(levels[said.over]) for levels in trials.treatments.values() if said.over in levels}
    order = tuple(level for level in said.order if level_text(level) in there)
    return replace(claim, ranking=replace(said, order=order)) if 1 < len(order) < len(said.order) else claim
