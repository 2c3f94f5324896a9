"""Different, equivalent or undecided: what two samples show about a difference and a margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import Array, as_percent
from trialwise.statistics.comparing.verdict import Verdict
from trialwise.statistics.comparing.welch import contrast, rejects
from trialwise.statistics.estimates.moments import Moments

if TYPE_CHECKING:
    from trialwise.statistics.estimates.moments import Pair


@dataclass(frozen=True, slots=True)
class Margin:
    """The largest difference that does not matter, absolute or as a share of the first mean."""

    size: float
    relative: bool

    @property
    def lower(self) -> tuple[float, float]:
        """Return slope and offset of the contrast that is 0 if the difference equals minus the margin."""
        return (1 - self.size, 0.0) if self.relative else (1.0, -self.size)

    @property
    def upper(self) -> tuple[float, float]:
        """Return slope and offset of the contrast that is 0 if the difference equals the margin."""
        return (1 + self.size, 0.0) if self.relative else (1.0, self.size)


NONE = Margin(0.0, relative=False)


@dataclass(frozen=True, slots=True)
class Claims:
    """p-values of the claims "different" and "equivalent"; each may be an array."""

    different: Array
    """Two-sided, against "the difference is at most the margin"."""
    lower: Array
    """One-sided, against "the difference is at most minus the margin"."""
    upper: Array
    """One-sided, against "the difference is at least the margin"."""

    @property
    def equivalent(self) -> Array:
        """Return the p-value against "the difference is not within the margin" (Schuirmann 1987)."""
        return np.maximum(self.lower, self.upper)


def claims_of(a: Moments, b: Moments, margin: Margin, *, paired: bool = False) -> Claims:
    """Test mean(b) - mean(a) against a margin by Welch's tests.

    A margin relative to a's mean is tested by mean(b) - (1 ± δ) mean(a), with the variance vb / nb + (1 ± δ)² va / na.
    Equivalently, Fieller's set of the ratio lies outside or inside 1 ± δ, so that a's mean is not assumed to be known.
    `paired` is as for `contrast`.
    """
    a, b = upright(a, b, margin)
    lower, upper = (contrast(a, b, *bound, paired=paired) for bound in (margin.lower, margin.upper))
    # Compare with both bounds at once: of a relative margin either can be the farther one, because a's sign is unknown.
    one_sided = np.minimum(
        np.maximum(lower.above(), upper.above()),
        np.maximum(lower.below(), upper.below()),
    )
    return Claims(np.minimum(1.0, 2 * one_sided), lower.above(), upper.below())


def upright(a: Moments, b: Moments, margin: Margin) -> tuple[Moments, Moments]:
    """Flip the signs of both samples if a margin is in percent of a negative mean; the percentages stay the same."""
    if not margin.relative:
        return a, b
    sign = np.where(np.asarray(a.mean) < 0, -1.0, 1.0)
    return Moments(a.n, sign * a.mean, a.variance), Moments(b.n, sign * b.mean, b.variance)


def verdict_of(different: float, equivalent: float | None, alpha: float) -> Verdict:
    """Return the claim whose p-value is at most alpha; without a margin nothing is equivalent."""
    if rejects(different, alpha):
        return "different"
    return "equivalent" if equivalent is not None and rejects(equivalent, alpha) else "undecided"


def as_confidence(confidence: float) -> float:
    """Check the confidence of a verdict, in percent, and return it as a share.

    Raises
    ------
    StatisticsError
        It does not lie between 50 and 100.
    """
    level = float(as_percent(confidence, "confidence"))
    if level <= 0.5:
        raise StatisticsError(f"the confidence is {confidence!r}; a verdict needs more than 50")
    return level


def as_margin(margin: float, *, relative: bool) -> Margin:
    """Check a margin: in the unit of the values, or in percent of the first mean.

    Raises
    ------
    StatisticsError
        It is not a finite number above 0.
    """
    try:
        size = float(margin)
    except (TypeError, ValueError):
        size = 0.0
    if not 0.0 < size < float("inf"):
        raise StatisticsError(f"the margin is {margin!r}; expected a number above 0")
    return Margin(size / 100 if relative else size, relative)


def scaled(margin: Margin, pair: Pair) -> Margin:
    """Convert a margin to the unit of the moments; a share is unchanged."""
    return margin if margin.relative else Margin(pair.scaled(margin.size), relative=False)
