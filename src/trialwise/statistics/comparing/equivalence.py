"""Equivalence of two means within a margin: two one-sided Welch tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trialwise.statistics.checks import as_values
from trialwise.statistics.comparing.fieller import ratio_of
from trialwise.statistics.comparing.verdicts import as_confidence, as_margin, claims_of, scaled
from trialwise.statistics.comparing.welch import rejects, welch_difference
from trialwise.statistics.estimates.moments import Pair

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Result of a test that the difference b - a of two means lies within a margin."""

    estimate: float
    """In the unit of the margin: the unit of the values, or percent of a's mean."""
    low: float
    """Of the interval at 2 confidence - 100 percent, which lies inside the margin if the means are equivalent."""
    high: float
    margin: float
    relative: bool
    """True if the margin and the interval are in percent of a's mean."""
    p_lower: float
    """Against "the difference is at most minus the margin"."""
    p_upper: float
    """Against "the difference is at least the margin"."""
    p_value: float
    """The larger of the two."""
    equivalent: bool
    n: tuple[int, int]
    confidence: float
    """In percent."""
    method: str


def equivalence(
    a: ArrayLike, b: ArrayLike, *, margin: float, confidence: float = 95, relative: bool = False
) -> Equivalence:
    """Test whether the means of a and b are equal within a margin (TOST, Schuirmann 1987, with Welch's degrees of freedom).

    Parameters
    ----------
    a, b
        One number per trial.
    margin
        In the unit of the values, above 0.
    confidence
        In percent; each of the two tests has the level 100 - confidence percent.
    relative
        Read the margin in percent of a's mean. The uncertainty of this mean is taken into account.

    Raises
    ------
    StatisticsError
        Fewer than two values on a side, values that are not finite, or an option out of range.
    """
    level = as_confidence(confidence)
    checked = as_margin(margin, relative=relative)
    pair = Pair.of(as_values(a, "a", minimum=2), as_values(b, "b", minimum=2))
    claims = claims_of(pair.a, pair.b, scaled(checked, pair))
    estimate, low, high = _interval(pair, 2 * level - 1, relative=relative)
    return Equivalence(
        estimate=estimate,
        low=low,
        high=high,
        margin=float(margin),
        relative=relative,
        p_lower=float(claims.lower),
        p_upper=float(claims.upper),
        p_value=float(claims.equivalent),
        equivalent=rejects(float(claims.equivalent), 1 - level),
        n=pair.n,
        confidence=float(confidence),
        method="two one-sided Welch tests" + (" of b - (1 ± margin) a" if relative else ""),
    )


def _interval(pair: Pair, level: float, *, relative: bool) -> tuple[float, float, float]:
    if not relative:
        found = welch_difference(pair, level)
        return found.estimate, found.low, found.high
    percent = ratio_of(pair, level).in_percent()
    return percent.estimate, percent.low, percent.high
