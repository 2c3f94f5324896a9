"""Many differences judged together, corrected for multiplicity over all of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from trialwise.errors import StatisticsError
from trialwise.statistics.comparing.difference import Difference, reason_of
from trialwise.statistics.comparing.holm import NAMES, Correction, corrected
from trialwise.statistics.comparing.paired import bill
from trialwise.statistics.comparing.verdict import Verdict
from trialwise.statistics.comparing.verdicts import Margin, scaled, verdict_of
from trialwise.statistics.comparing.welch import rejects
from trialwise.statistics.estimates.moments import Pair
from trialwise.statistics.sequential.forecast import trials_to_decide


@dataclass(frozen=True, slots=True)
class FamilyMember:
    """One difference, judged within its family."""

    difference: Difference
    """The difference judged alone."""
    p_adjusted: float
    """Of the claim with the smaller p-value, "different" or "equivalent", corrected over the family."""
    verdict: Verdict
    trials_needed: int | None
    """As for a single difference, at the family's error rate split evenly; 0 if decided."""
    reason: str

    @property
    def bill(self) -> int | None:
        """Return `trials_needed`, or None for an undecided verdict without a margin.

        Without a margin, further trials would only settle the sign of a difference that may not matter.
        """
        return None if self.verdict == "undecided" and self.difference.margin is None else self.trials_needed


@dataclass(frozen=True, slots=True)
class DifferenceFamily:
    """Verdicts that hold jointly: at most 100 - confidence percent of experiments have any wrong verdict.

    By Benjamini and Hochberg's correction, at most that percentage of the claims is wrong on average.
    """

    members: Mapping[Hashable, FamilyMember]
    confidence: float
    """In percent, of all verdicts jointly."""
    n: int
    """Differences in the family."""
    method: str


def difference_family(
    differences: Mapping[Hashable, Difference], correction: Correction = "holm"
) -> DifferenceFamily:
    """Correct the verdicts of many differences, such as schemes times metrics, for multiplicity.

    Holm (1979) over the smaller p-value of each difference, for "it exceeds the margin" or "it is within the margin". Only one of
    these can be true, and step-down tests keep their level when the direction is chosen so (Shaffer 1980). With `correction` "bh",
    Benjamini and Hochberg's (1995), which keeps the false discovery rate where claims have directions (Benjamini and Yekutieli 2005).

    Raises
    ------
    StatisticsError
        There are no differences, or their confidences differ.
    """
    levels = {one.confidence for one in differences.values()}
    if len(levels) != 1:
        raise StatisticsError(f"a family has one confidence; there are {sorted(levels) or 'no differences'}")
    confidence = levels.pop()
    adjusted = corrected([_smaller(one) for one in differences.values()], correction)
    members = {
        key: _member(one, p_adjusted, 1 - confidence / 100, len(differences))
        for (key, one), p_adjusted in zip(differences.items(), adjusted, strict=True)
    }
    n = len(members)
    return DifferenceFamily(
        members, confidence, n, "one difference" if n == 1 else f"{NAMES[correction]} over {n} differences"
    )


def _smaller(one: Difference) -> float:
    return one.p_different if one.p_equivalent is None else min(one.p_different, one.p_equivalent)


def _member(one: Difference, p_adjusted: float, alpha: float, size: int) -> FamilyMember:
    claims = (p_adjusted, None) if _smaller(one) == one.p_different else (1.0, p_adjusted)
    verdict = verdict_of(*claims, alpha)
    needed = 0 if verdict != "undecided" else trials_to_decide_at(one, alpha / size)
    differs = rejects(size * one.p_value, alpha)
    reason = reason_of(verdict, one.margin is not None, differs, bool(one.welch.se), needed)
    if verdict != one.verdict:
        reason += f"; {one.verdict} by itself"
    return FamilyMember(one, p_adjusted, verdict, needed, reason)


def trials_to_decide_at(one: Difference, alpha: float) -> int | None:
    """Return the further trials on each side that decide at a level, even if it is decided now; see `trials_to_decide`."""
    if one.paired:
        n = one.n[0]
        pair = Pair.of_summary(one.n, (0.0, one.welch.estimate), (0.0, one.welch.se * n**0.5))
        return bill(pair, one.margin, alpha, one.judged)
    pair = Pair.of_summary(one.n, one.means, one.standard_deviations)
    margin = None
    if one.margin_percent is not None:
        margin = Margin(one.margin_percent / 100, relative=True)
    elif one.margin is not None:
        margin = scaled(Margin(one.margin, relative=False), pair)
    return trials_to_decide(pair.a, pair.b, margin, alpha, one.judged)
