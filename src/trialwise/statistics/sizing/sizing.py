"""Number of values that a claim needs: TriScale Eq. (4), with robustness, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import as_percent, as_robustness, one_of
from trialwise.statistics.tests.binomial import covers

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST = 2**53
_HALF = Fraction(1, 2)


def samples_needed(
    percentile: float,
    confidence: float,
    *,
    robustness: int = 0,
    sides: Literal["one", "two", "lower", "upper"] = "one",
) -> int:
    """Return the smallest number of independent values that can bound a percentile.

    It is the smallest N with P(Bin(N, 1-p) >= r+1) >= C for an upper bound, with Bin(N, p) for a lower one. At r = 0 this is
    TriScale Eq. (4), N >= log(1-C)/log(1-p), without its off-by-one error at equality. The paper's footnote 8 says m = r, but
    excluding r values takes m = r + 1.

    Parameters
    ----------
    percentile
        In percent, between 0 and 100, exclusive; read as its decimal digits.
    confidence
        In percent, between 0 and 100, exclusive; read likewise.
    robustness
        Number of extreme values that the bound excludes, so that as many outliers do no harm.
    sides
        "one": the bound on the percentile's own side, an upper one at and above the median, a lower one below it. "lower" or
        "upper": that bound. "two": both bounds, each missing with at most (1-C)/2, as in `percentile_interval`. (An interval that
        may miss on one side only, P(x_(1+r) <= Q <= x_(N-r)) >= C, takes fewer values away from the median: 59 instead of 72 for p95
        at 95 %.)

    Returns
    -------
    int
        Number of values.

    Raises
    ------
    StatisticsError
        An argument is out of range, or more than 2**53 values would be needed.
    """
    p, level = as_percent(percentile, "percentile"), as_percent(confidence, "confidence")
    out = as_robustness(robustness)
    one_of(sides, "sides", ("one", "two", "lower", "upper"))
    if sides == "two":
        return needed_for_equal_tails(p, level, out)
    own = "lower" if p < _HALF else "upper"
    return needed(p, level, out, own if sides == "one" else sides)


def series_needed(percentile: float, confidence: float, *, robustness: int = 0) -> int:
    """Return the smallest number of series for a variability score (TriScale section 4.3 and Table 2).

    For the median both bounds hold jointly, as in Table 2 (75 %: 3, 90 %: 5), unlike Eq. (4) (2 and 4). For the range between
    another percentile and its mirror image each bound holds separately.

    Parameters
    ----------
    percentile
        One end of the range, in percent; 25 and 75 are equivalent.
    confidence
        In percent.
    robustness
        Number of extreme series excluded on either side.

    Returns
    -------
    int
        Number of series.

    Raises
    ------
    StatisticsError
        As for `samples_needed`.
    """
    median = as_percent(percentile, "percentile") == _HALF
    return samples_needed(percentile, confidence, robustness=robustness, sides="two" if median else "one")


def needed(p: Fraction, level: Fraction, out: int, side: Literal["lower", "upper"]) -> int:
    """Return the number of values that one bound of the p-quantile needs, for shares instead of percentages."""

    def enough(n: int) -> bool:
        low, high = (1 + out, n + 1) if side == "lower" else (0, n - out)
        return covers(n, low, high, p, level)

    return _smallest(enough, 1 + out)


def needed_for_equal_tails(p: Fraction, level: Fraction, out: int = 0) -> int:
    """Return the number of values that both equal-tailed bounds of the p-quantile need."""
    tail = (1 + level) / 2
    return max(needed(p, tail, out, "lower"), needed(p, tail, out, "upper"))


def _smallest(enough: Callable[[int], bool], start: int) -> int:
    """Return the smallest number from `start` on for which `enough` holds."""
    if enough(start):
        return start
    short, ample = start, 2 * start
    while not enough(ample):
        short, ample = ample, 2 * ample
        if ample > _MOST:
            raise StatisticsError("more than 2**53 values would be needed; ask for a less extreme percentile")
    while ample - short > 1:
        middle = (short + ample) // 2
        short, ample = (short, middle) if enough(middle) else (middle, ample)
    return ample
