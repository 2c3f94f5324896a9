"""The difference between two samples of trials: how large, how sure, whether it matters, and what would settle it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import as_values, one_of
from trialwise.statistics.comparing.fieller import Ratio, ratio_of
from trialwise.statistics.comparing.shift import Shift, shift_between
from trialwise.statistics.comparing.verdicts import (
    NONE,
    Margin,
    Verdict,
    as_confidence,
    as_margin,
    claims_of,
    scaled,
    verdict_of,
)
from trialwise.statistics.comparing.welch import (
    WelchDifference,
    contrast,
    rejects,
    two_sided,
    welch_difference,
)
from trialwise.statistics.estimates.moments import Moments, Pair, exponent_of
from trialwise.statistics.sequential.forecast import CHANCE, MOST, Judged, trials_to_decide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from trialwise.statistics.checks import Array


@dataclass(frozen=True, slots=True)
class Difference:
    """The second sample against the first: b - a, b / a, and in percent of a."""

    welch: WelchDifference
    """Difference of the means."""
    hodges_lehmann: Shift | None
    """Median of all differences between a value of b and one of a; None of averages, which have no values of their own."""
    ratio: Ratio
    """Of the means."""
    percent: Ratio
    """100 (ratio - 1), with its bounds."""
    means: tuple[float, float]
    standard_deviations: tuple[float, float]
    """With n - 1 in the denominator."""
    p_value: float
    """Welch's, two-sided, against "the means are equal"."""
    p_different: float
    """Two-sided, against "the difference is at most the margin"; without a margin this is `p_value`."""
    p_equivalent: float | None
    """Of two one-sided tests, against "the difference is not within the margin"; None without a margin."""
    margin: float | None
    """In the unit of the values; of a relative margin, at the mean of a that was found."""
    margin_percent: float | None
    """As it was given, where it is relative to a's mean."""
    verdict: Verdict
    trials_needed: int | None
    """Further trials on each side for a 90 % chance to decide; 0 where it is decided, None where 10,000 would not do."""
    judged: Judged
    """How the follow-up is to be judged: "fresh", by itself, or "pooled", with the trials that there are."""
    reason: str
    """What the verdict rests on, and what stands in the way of one."""
    n: tuple[int, int]
    confidence: float
    """In percent."""
    method: str
    paired: bool = False
    """Whether both sides are of the same units; `welch` is then Student's t of the differences."""


def difference(
    a: ArrayLike,
    b: ArrayLike,
    *,
    confidence: float = 95,
    margin: float | None = None,
    relative: bool = False,
    judged: Judged = "fresh",
) -> Difference:
    """Compare two samples of trials.

    The verdict is "different" if the two-sided interval of the difference lies outside of the margin (without one: off
    0), "equivalent" if both one-sided Welch tests reject, that is, if the interval at 2 confidence - 100 percent lies inside of
    the margin, else "undecided". Intervals: Welch 1947; Hodges and Lehmann 1963; Fieller 1954.

    Parameters
    ----------
    a, b
        One number for each trial.
    confidence
        In percent, above 50.
    margin
        The largest difference that does not matter: in the unit of the values, or, `relative`, in percent of a's mean, whose
        own uncertainty then counts.
    judged
        What `trials_needed` assumes: that the verdict of the follow-up comes from its own trials ("fresh"), or from all
        ("pooled").

    Raises
    ------
    StatisticsError
        Fewer than two values on a side, values that are not finite, or an option out of range.
    """
    level = as_confidence(confidence)
    allowed = None if margin is None else as_margin(margin, relative=relative)
    one_of(judged, "judged", ("fresh", "pooled"))
    first, second = as_values(a, "a", minimum=2), as_values(b, "b", minimum=2)
    pair = Pair.of(first, second)
    shift = shift_between(second, first, level)
    deviations = _deviation(first, pair), _deviation(second, pair)
    return _judged(_Sides(pair, pair, pair.n, deviations), shift, level, allowed, judged)


def difference_of_averages(
    a: Sequence[ArrayLike],
    b: Sequence[ArrayLike],
    *,
    confidence: float = 95,
    margin: float | None = None,
    relative: bool = False,
    judged: Judged = "fresh",
) -> Difference:
    """Compare two averages over cells, each of which counts the same however many trials it has.

    The mean of k cells' means has the variance V = Σ s²/n / k², s² and n being those of each cell, and Satterthwaite's
    (1946) V² / Σ ((s²/n / k²)² / (n - 1)) degrees of freedom: so it takes the place of a sample of that many values and one,
    of variance V each over their number, in Welch's test and all that follows from it.

    Parameters
    ----------
    a, b
        The trials of each cell of either side; a cell has two or more.
    confidence, margin, relative
        As of `difference`.
    judged
        As of `difference`; `trials_needed` counts further trials of each cell. Of the result, `n` are the trials of the
        smallest cells, and `standard_deviations` those of an average of one trial of each cell.

    Raises
    ------
    StatisticsError
        A side has no cell, a cell fewer than two values or some that are not finite, or an option is out of range.
    """
    level = as_confidence(confidence)
    allowed = None if margin is None else as_margin(margin, relative=relative)
    one_of(judged, "judged", ("fresh", "pooled"))
    first, second = (
        [as_values(cell, name, minimum=2) for cell in side] for name, side in (("a", a), ("b", b))
    )
    if not first or not second:
        raise StatisticsError(f"a has {len(first)} cells and b {len(second)}; an average takes one or more")
    exponent = exponent_of(*first, *second)
    of_a, of_b = (_average([np.ldexp(cell, -exponent) for cell in side]) for side in (first, second))
    judged_by, billed_by = Pair(of_a[0], of_b[0], exponent), Pair(of_a[1], of_b[1], exponent)
    n = min(cell.size for cell in first), min(cell.size for cell in second)
    deviations = (
        billed_by.unscaled(billed_by.a.variance**0.5),
        billed_by.unscaled(billed_by.b.variance**0.5),
    )
    return _judged(_Sides(judged_by, billed_by, n, deviations), None, level, allowed, judged)


def _average(cells: Sequence[Array]) -> tuple[Moments, Moments]:
    """Moments whose test is Welch's of an average, and those of as many averages of one trial of each cell."""
    of_cells = [Moments.of(cell) for cell in cells]
    mean = sum(float(cell.mean) for cell in of_cells) / len(cells)
    shares = [float(cell.variance) / cell.n / len(cells) ** 2 for cell in of_cells]
    variance, fewest = sum(shares), min(cell.n for cell in of_cells)
    if not variance:
        return Moments(fewest, mean, 0.0), Moments(fewest, mean, 0.0)
    # As shares, whose squares do not underflow.
    df = 1 / sum((share / variance) ** 2 / (cell.n - 1) for share, cell in zip(shares, of_cells, strict=True))
    single = sum(float(cell.variance) for cell in of_cells) / len(cells) ** 2
    return Moments(df + 1, mean, variance * (df + 1)), Moments(fewest, mean, single)


@dataclass(frozen=True, slots=True)
class _Sides:
    """The moments by which two sides are judged, those by which they are billed, their trials and standard deviations."""

    judged_by: Pair
    billed_by: Pair
    n: tuple[int, int]
    deviations: tuple[float, float]
    """In the unit of the values."""


def _judged(
    sides: _Sides, shift: Shift | None, level: float, allowed: Margin | None, judged: Judged
) -> Difference:
    pair, billed = sides.judged_by, sides.billed_by
    within = None if allowed is None else scaled(allowed, pair)
    claims = claims_of(pair.a, pair.b, within or NONE)
    p_different = float(claims.different)
    p_equivalent = None if within is None else float(claims.equivalent)
    verdict = verdict_of(p_different, p_equivalent, 1 - level)
    welch, ratio = welch_difference(pair, level), ratio_of(pair, level)
    needed = 0 if verdict != "undecided" else trials_to_decide(billed.a, billed.b, within, 1 - level, judged)
    p_value = float(two_sided(contrast(pair.a, pair.b)))
    method = "Welch of averages" if shift is None and welch.se else welch.method
    return Difference(
        welch=replace(welch, n=sides.n),
        hodges_lehmann=shift,
        ratio=replace(ratio, n=sides.n),
        percent=replace(ratio, n=sides.n).in_percent(),
        means=(pair.unscaled(pair.a.mean), pair.unscaled(pair.b.mean)),
        standard_deviations=sides.deviations,
        p_value=p_value,
        p_different=p_different,
        p_equivalent=p_equivalent,
        margin=_in_units(allowed, abs(pair.unscaled(pair.a.mean))),
        margin_percent=100 * allowed.size if allowed is not None and allowed.relative else None,
        verdict=verdict,
        trials_needed=needed,
        judged=judged,
        reason=reason_of(verdict, allowed is not None, rejects(p_value, 1 - level), bool(welch.se), needed)
        + (_SHARED if pair.shared else ""),
        n=sides.n,
        confidence=100 * level,
        method=method + ("; two one-sided tests" if allowed is not None else ""),
    )


def _deviation(values: Array, pair: Pair) -> float:
    """Standard deviation of a sample by itself, whatever variance the pair takes for it."""
    return pair.unscaled(float(Moments.of(np.ldexp(values, -pair.exponent)).variance) ** 0.5)


def _in_units(margin: Margin | None, mean: float) -> float | None:
    if margin is None:
        return None
    return margin.size * mean if margin.relative else margin.size


def reason_of(verdict: Verdict, has_margin: bool, differs: bool, varies: bool, needed: int | None) -> str:
    """What a verdict rests on, in words; of an open one also whether there is a bill."""
    said = _SAID[verdict, has_margin, differs and verdict == "undecided"]
    if not varies:
        said += "; no value of either side differs from another, so that this is judged by ranks"
    if needed is None and has_margin:
        said += (
            f"; no number up to {MOST:,} further trials on each side has a chance of {CHANCE:.0%} to decide"
        )
    return said


_SHARED = "; the smaller side has a single value, which the other has too: its variance is that of both sides together"
_SAID = {
    ("different", False, False): "the interval excludes 0",
    ("different", True, False): "the interval lies outside of the margin",
    ("equivalent", True, False): "both one-sided tests show that the difference lies within the margin",
    ("undecided", False, False): (
        "the interval holds 0, and no margin was given within which nothing would be a difference"
    ),
    ("undecided", True, False): "the interval is neither outside nor inside of the margin",
    ("undecided", True, True): "a difference is there; whether it is more than the margin is undecided",
}
