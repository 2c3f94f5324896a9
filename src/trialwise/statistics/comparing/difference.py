"""The difference between two samples of trials: its size, its uncertainty, its relevance, and the trials that would settle it."""

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
    """The second sample compared with the first: b - a, b / a, and in percent of a."""

    welch: WelchDifference
    """Difference of the means."""
    hodges_lehmann: Shift | None
    """Median of all differences between a value of b and one of a; None for averages, which have no single values."""
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
    """In the unit of the values; a relative margin is converted at the estimated mean of a."""
    margin_percent: float | None
    """As given, if it is relative to a's mean."""
    verdict: Verdict
    trials_needed: int | None
    """Further trials on each side for a 90 % chance to decide; 0 if decided, None if 10,000 would not suffice."""
    judged: Judged
    """How the follow-up will be judged: "fresh", on its own trials, or "pooled", with the existing trials."""
    reason: str
    """What the verdict rests on, and what prevents one."""
    n: tuple[int, int]
    confidence: float
    """In percent."""
    method: str
    paired: bool = False
    """True if both sides come from the same units; `welch` is then Student's t of the differences."""


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

    The verdict is "different" if the two-sided interval of the difference lies outside the margin (without one: excludes 0),
    "equivalent" if both one-sided Welch tests reject, that is, if the interval at 2 confidence - 100 percent lies inside the
    margin, else "undecided". Intervals: Welch 1947; Hodges and Lehmann 1963; Fieller 1954.

    Parameters
    ----------
    a, b
        One number per trial.
    confidence
        In percent, above 50.
    margin
        The largest difference that does not matter: in the unit of the values, or, if `relative`, in percent of a's mean, whose
        uncertainty is then included.
    judged
        What `trials_needed` assumes: the follow-up is judged on its own trials ("fresh") or on all trials ("pooled").

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
    deviations = _deviation(first, pair, pair.a), _deviation(second, pair, pair.b)
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
    """Compare two averages over cells, with equal weight for each cell whatever its number of trials.

    The mean of k cell means has the variance V = Σ s²/n / k², with s² and n of each cell, and Satterthwaite's (1946) degrees of
    freedom, df = V² / Σ ((s²/n / k²)² / (n - 1)). Welch's test and all that follows therefore treat it as the mean of a sample of
    df + 1 values with variance V (df + 1).

    Parameters
    ----------
    a, b
        For each side the trials of its cells, two or more per cell.
    confidence, margin, relative
        As in `difference`.
    judged
        As in `difference`; `trials_needed` counts further trials of each cell. In the result, `n` are the trials of the
        smallest cells, and `standard_deviations` those of an average of one trial per cell.

    Raises
    ------
    StatisticsError
        A side has no cells, a cell has fewer than two values or values that are not finite, or an option is out of range.
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


@dataclass(frozen=True, slots=True)
class Summary:
    """A sample of which only number, mean and standard deviation are known, as tables in papers print them.

    Attributes
    ----------
    n
        Number of values.
    mean, deviation
        Mean, and standard deviation with n - 1 in the denominator.
    rounding
        The largest error of mean and deviation by rounding, such as 0.005 if they are printed with two decimals.
    """

    n: int
    mean: float
    deviation: float
    rounding: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        """Refuse numbers that describe no sample.

        Raises
        ------
        StatisticsError
            n is below 1, the deviation or a rounding is negative, or a number is not finite.
        """
        if self.n < 1:
            raise StatisticsError(f"a sample has at least one value, not {self.n}")
        if not all(map(np.isfinite, (self.mean, self.deviation, *self.rounding))):
            raise StatisticsError("mean and standard deviation must be finite")
        if min(self.deviation, *self.rounding) < 0:
            raise StatisticsError(f"a standard deviation is not negative: {self.deviation}")

    @classmethod
    def of(cls, values: ArrayLike) -> Summary:
        """Summarise a sample; the deviation of a single value is 0.

        Raises
        ------
        StatisticsError
            There is no value, or one is not finite.
        """
        found = as_values(values, "values")
        return cls(found.size, float(found.mean()), float(found.std(ddof=1)) if found.size > 1 else 0.0)

    @property
    def cautious_deviation(self) -> float:
        """The deviation of a sample of the same size whose mean is as uncertain as this one, rounding included.

        The deviation is taken at the upper end of what its last digit leaves open. The mean's rounding error h is uniform, with the
        variance h² / 3.
        """
        open_mean, open_deviation = self.rounding
        return float(np.hypot(self.deviation + open_deviation, open_mean * (self.n / 3) ** 0.5))


def difference_of_summaries(
    a: Summary,
    b: Summary,
    *,
    confidence: float = 95,
    margin: float | None = None,
    relative: bool = False,
    judged: Judged = "fresh",
) -> Difference:
    """Compare two samples of which only number, mean and standard deviation are known, as `difference` does.

    Welch's (1947) test and Fieller's (1954) interval need no more. Where numbers are rounded, `Summary.cautious_deviation` takes the
    place of the deviation in the test; `standard_deviations` are as given.

    Raises
    ------
    StatisticsError
        A side has fewer than two values, or an option is out of range.
    """
    level = as_confidence(confidence)
    allowed = None if margin is None else as_margin(margin, relative=relative)
    one_of(judged, "judged", ("fresh", "pooled"))
    n, means, deviations = (a.n, b.n), (a.mean, b.mean), (a.deviation, b.deviation)
    if min(n) < 2:
        raise StatisticsError(
            f"a difference takes two values or more on each side; there are {n[0]} and {n[1]}"
        )
    judged_by = Pair.of_summary(n, means, (a.cautious_deviation, b.cautious_deviation))
    billed_by = Pair.of_summary(n, means, deviations)
    found = _judged(_Sides(judged_by, billed_by, n, deviations), None, level, allowed, judged)
    return replace(found, method=found.method.replace("of averages", "of printed means"))


def _average(cells: Sequence[Array]) -> tuple[Moments, Moments]:
    """Return moments that make Welch's test that of the average, and moments of averages of one trial per cell."""
    of_cells = [Moments.of(cell) for cell in cells]
    mean = sum(float(cell.mean) for cell in of_cells) / len(cells)
    shares = [float(cell.variance) / cell.n / len(cells) ** 2 for cell in of_cells]
    variance, fewest = sum(shares), min(cell.n for cell in of_cells)
    if not variance:
        return Moments(fewest, mean, 0.0), Moments(fewest, mean, 0.0)
    # Shares, because their squares do not underflow.
    df = 1 / sum((share / variance) ** 2 / (cell.n - 1) for share, cell in zip(shares, of_cells, strict=True))
    single = sum(float(cell.variance) for cell in of_cells) / len(cells) ** 2
    return Moments(df + 1, mean, variance * (df + 1)), Moments(fewest, mean, single)


@dataclass(frozen=True, slots=True)
class _Sides:
    """Moments for the verdict, moments for the trials needed, numbers of trials and standard deviations of two sides."""

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


def _deviation(values: Array, pair: Pair, known: Moments) -> float:
    """Return the standard deviation of a sample alone, whatever variance the pair assumes for it."""
    own = Moments.of(np.ldexp(values, -pair.exponent)) if pair.shared else known
    return pair.unscaled(float(own.variance) ** 0.5)


def _in_units(margin: Margin | None, mean: float) -> float | None:
    if margin is None:
        return None
    return margin.size * mean if margin.relative else margin.size


def reason_of(verdict: Verdict, has_margin: bool, differs: bool, varies: bool, needed: int | None) -> str:
    """Explain a verdict; for an undecided one, say also if no number of further trials would do."""
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
