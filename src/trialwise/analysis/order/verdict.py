"""Error rates of an analysis of order: p-values of families, and the overall verdict of the experiment."""

from __future__ import annotations

from collections.abc import Sequence

from trialwise.analysis.order.results import (
    Correction,
    GroupCarryOver,
    LastingEffect,
    PairEffect,
    TreatmentOrder,
    Verdict,
)
from trialwise.statistics.comparing.holm import holm


def corrected_together(
    columns: Sequence[Sequence[float | None]], families: Sequence[str | None], correction: Correction
) -> list[list[float | None]]:
    """Correct the p-values of several tests of the same treatments, all tests of a family together.

    A family then keeps its level whichever of its tests rejects. `families` has one name per treatment, None for one without tests.
    """
    corrected: list[list[float | None]] = [[None] * len(families) for _ in columns]
    places: dict[str, list[tuple[int, int, float]]] = {}
    for test, column in enumerate(columns):
        for place, (family, p_value) in enumerate(zip(families, column, strict=True)):
            if family is not None and p_value is not None:
                places.setdefault(family, []).append((test, place, p_value))
    for found in places.values():
        p_values = adjusted([p_value for _, _, p_value in found], correction)
        for (test, place, _), p_value in zip(found, p_values, strict=True):
            corrected[test][place] = p_value
    return corrected


def adjusted(p_values: Sequence[float], correction: Correction) -> list[float]:
    """Correct the p-values of one family for multiplicity."""
    if correction == "holm":
        return holm(p_values)
    times = len(p_values) if correction == "bonferroni" else 1
    return [min(1.0, times * p_value) for p_value in p_values]


def experiment_verdict(
    treatments: Sequence[TreatmentOrder],
    carried: Sequence[GroupCarryOver],
    *,
    alpha: float,
    margin: float,
    across: bool,
) -> Verdict:
    """Return the verdict, which is wrong in at most `alpha` of all experiments in which order has no effect.

    Each family of treatments and each carry-over analysis keeps its own level. Order matters if the smallest of their corrected
    p-values is still significant after another correction (Bonferroni) for their number; if `across` is false, every difference of a
    family counts.
    """
    asked = questions(treatments, carried)
    p_values = [
        *(p_value for one in treatments if (p_value := _decisive(one)) is not None),
        *(
            pair.p_value
            for group in carried
            for pair in (*group.pairs, *group.lasting)
            if _matters(pair, margin)
        ),
    ]
    if p_values and (not across or min(p_values) * asked < alpha):
        return "order matters"
    if p_values or any(group.pairs or group.lasting for group in carried):
        return "undecided"
    changes = {one.change for one in treatments}
    return "order does not matter" if changes and changes <= {"same", "small"} else "undecided"


def questions(treatments: Sequence[TreatmentOrder], carried: Sequence[GroupCarryOver]) -> int:
    """Count the families of treatments and analyses of carry-over, each with its own level."""
    families = {one.family for one in treatments if one.p_value is not None}
    return len(families) + sum(group.tested > 0 for group in carried)


def _decisive(one: TreatmentOrder) -> float | None:
    """Return the corrected p-value that shows an effect of order on a treatment; None if there is none."""
    if one.change not in ("location", "distribution"):
        return None
    p_values = (one.p_corrected, one.p_distribution_corrected)
    return min(p_value for p_value in p_values if p_value is not None)


def _matters(found: PairEffect | LastingEffect, margin: float) -> bool:
    """Return True if the interval of a pair's effect extends beyond the margin."""
    low, high = found.percent_low, found.percent_high
    return low is None or high is None or max(-low, high) > margin
