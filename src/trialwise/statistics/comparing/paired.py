"""The difference between two sides measured in the same units: hosts, boots, processes."""

from __future__ import annotations

from math import inf, nan, sqrt
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.statistics.checks import Array, as_values, one_of
from trialwise.statistics.comparing.difference import Difference, reason_of
from trialwise.statistics.comparing.fieller import Ratio
from trialwise.statistics.comparing.signed_ranks import shift_of_pairs
from trialwise.statistics.comparing.verdicts import Claims, Margin, as_confidence, as_margin, verdict_of
from trialwise.statistics.comparing.welch import (
    Contrast,
    contrast,
    least_paired_p_value,
    rejects,
    two_sided,
    welch_difference,
)
from trialwise.statistics.estimates.moments import Moments, Pair, exponent_of, pair_differences
from trialwise.statistics.sequential.forecast import Judged, trials_to_decide

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def paired_difference(
    a: ArrayLike,
    b: ArrayLike,
    *,
    confidence: float = 95,
    margin: float | None = None,
    relative: bool = False,
    judged: Judged = "fresh",
) -> Difference:
    """Compare two sides unit by unit, so that variation between units cancels.

    Student's t of the differences b - a replaces Welch's (of b - (1 ± δ) a if the margin is relative), signed ranks (Hodges and
    Lehmann 1963) replace rank sums, and Fieller's set (1954) includes the covariance. All else is as in `difference`;
    `trials_needed` counts further units, each of which runs both sides.

    Parameters
    ----------
    a, b
        One number per unit, for the same units in the same order.

    Raises
    ------
    StatisticsError
        The sides differ in length, have fewer than two values or values that are not finite, or an option is out of range.
    """
    level = as_confidence(confidence)
    allowed = None if margin is None else as_margin(margin, relative=relative)
    one_of(judged, "judged", ("fresh", "pooled"))
    first, second = _pairs(a, b)
    differences = pair_differences(second, first)
    pair = as_one_side(differences)
    claims = _claims(first, second, allowed)
    p_different = float(claims.different)
    p_equivalent = None if allowed is None else float(claims.equivalent)
    verdict = verdict_of(p_different, p_equivalent, 1 - level)
    within = allowed and margin_in_units(allowed, abs(float(first.mean())))
    needed = 0 if verdict != "undecided" else bill(pair, within, 1 - level, judged)
    welch = welch_difference(pair, level, least_paired_p_value(first.size))
    ratio = _ratio(first, second, level)
    p_value = float(two_sided(_against(differences)))
    return Difference(
        welch=welch,
        hodges_lehmann=shift_of_pairs(differences, level),
        ratio=ratio,
        percent=ratio.in_percent(),
        means=(float(first.mean()), float(second.mean())),
        standard_deviations=(float(first.std(ddof=1)), float(second.std(ddof=1))),
        p_value=p_value,
        p_different=p_different,
        p_equivalent=p_equivalent,
        margin=within,
        margin_percent=float(margin) if margin is not None and relative else None,
        verdict=verdict,
        trials_needed=needed,
        judged=judged,
        reason=reason_of(verdict, margin is not None, rejects(p_value, 1 - level), bool(welch.se), needed),
        n=(first.size, second.size),
        confidence=float(confidence),
        method="Student's t of pairs" + ("; two one-sided tests" if margin is not None else ""),
        paired=True,
    )


def paired_ratio(a: ArrayLike, b: ArrayLike, *, confidence: float = 95) -> Ratio:
    """Estimate mean of b / mean of a, unit by unit: every r at which Student's t of b - r a does not reject (Fieller 1954).

    This is the ratio of `paired_difference` without the parts whose cost is quadratic in the number of units.

    Raises
    ------
    StatisticsError
        As for `paired_difference`.
    """
    return _ratio(*_pairs(a, b), as_confidence(confidence))


def _pairs(a: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    first, second = as_values(a, "a", minimum=2), as_values(b, "b", minimum=2)
    if first.size != second.size:
        raise StatisticsError(f"a has {first.size} values and b {second.size}; a pair takes one of each")
    return first, second


def as_one_side(differences: Array) -> Pair:
    """Return paired differences as a second sample against a constant first of 0: Welch's test then equals Student's."""
    nothing, exponent = Moments(differences.size, 0.0, 0.0), exponent_of(differences)
    return Pair(nothing, Moments.of(np.ldexp(differences, -exponent)), exponent)


def margin_in_units(margin: Margin, mean: float) -> float:
    """Return a margin in the unit of the values; a relative margin is taken at this mean of the first side."""
    return margin.size * mean if margin.relative else margin.size


def bill(pair: Pair, margin: float | None, alpha: float, judged: Judged) -> int | None:
    """Return the further units that decide with a chance of 90 %; see `trials_to_decide`."""
    scaled = None if not margin else Margin(pair.scaled(margin), relative=False)
    return trials_to_decide(pair.a, pair.b, scaled, alpha, judged, paired=True)


def _claims(a: Array, b: Array, margin: Margin | None) -> Claims:
    if margin is not None and margin.relative and a.mean() < 0:
        a, b = -a, -b
    bounds = ((1.0, 0.0),) * 2 if margin is None else (margin.lower, margin.upper)
    lower, upper = (_against(pair_differences(b, slope * a + offset)) for slope, offset in bounds)
    one_sided = np.minimum(np.maximum(lower.above(), upper.above()), np.maximum(lower.below(), upper.below()))
    return Claims(np.minimum(1.0, 2 * one_sided), lower.above(), upper.below())


def _against(values: Array) -> Contrast:
    return contrast(Moments(values.size, 0.0, 0.0), Moments.of(values), paired=True)


def _ratio(a: Array, b: Array, level: float) -> Ratio:
    """Compute the set of `paired_ratio`: g r² - 2 h r + k <= 0."""
    n = a.size
    reach = float(special.stdtrit(n - 1, (1 + level) / 2)) ** 2 / n
    covariance = np.atleast_2d(np.cov(a, b))
    g = float(a.mean()) ** 2 - reach * float(covariance[0, 0])
    h = float(a.mean() * b.mean()) - reach * float(covariance[0, 1])
    k = float(b.mean()) ** 2 - reach * float(covariance[1, 1])
    root = h * h - g * k
    low, high, excluded = -inf, inf, None
    if g > 0:
        low, high = (h - sqrt(max(root, 0.0))) / g, (h + sqrt(max(root, 0.0))) / g
    elif g < 0 < root:
        ends = sorted(((h - sqrt(root)) / g, (h + sqrt(root)) / g))
        excluded = (ends[0], ends[1])
    estimate = float(b.mean() / a.mean()) if a.mean() else nan
    return Ratio(estimate, low, high, excluded, 100 * level, (n, n), "Fieller, of pairs")
