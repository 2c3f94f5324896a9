"""The ratio of two means with Fieller's confidence set, for unequal variances."""

from __future__ import annotations

from dataclasses import dataclass
from math import atan2, copysign, cos, inf, nan, pi, sin, tan
from typing import TYPE_CHECKING

from trialwise.late import special
from trialwise.statistics.comparing.welch import least_p_value, rejects
from trialwise.statistics.roots import root_between

if TYPE_CHECKING:
    from trialwise.statistics.estimates.moments import Moments, Pair


@dataclass(frozen=True, slots=True)
class Ratio:
    """Mean of the second sample divided by the mean of the first."""

    estimate: float
    """NaN if the first mean is 0."""
    low: float
    """Minus infinity if the set is unbounded because the first mean may be 0."""
    high: float
    excluded: tuple[float, float] | None
    """For an unbounded set, the open interval of ratios that are still ruled out; None if there are none."""
    confidence: float
    """In percent."""
    n: tuple[int, int]
    method: str

    @property
    def bounded(self) -> bool:
        """Return True if the set is an interval."""
        return self.low > -inf

    def in_percent(self) -> Ratio:
        """Return the excess of the second mean over the first in percent: 100 (ratio - 1)."""
        excluded = self.excluded and (100 * (self.excluded[0] - 1), 100 * (self.excluded[1] - 1))
        estimate, low, high = (100 * (end - 1) for end in (self.estimate, self.low, self.high))
        return Ratio(estimate, low, high, excluded, self.confidence, self.n, self.method)


def ratio_of(pair: Pair, level: float) -> Ratio:
    """Return the set of ratios r that a Welch test of b - r a = 0 does not reject at 1 - level (Fieller 1954).

    The degrees of freedom are Satterthwaite's at each r, so that the set and the tests agree. It is an interval if and only if
    a's mean differs from 0 at that level; otherwise it is the whole line, or all but an interval.
    """
    a, b = pair.a, pair.b
    estimate = float(b.mean / a.mean) if a.mean else nan
    low, high, excluded = _set(a, b, 1 - level)
    return Ratio(
        estimate, low, high, excluded, 100 * level, pair.n, "Fieller, Satterthwaite's degrees of freedom"
    )


def _set(a: Moments, b: Moments, alpha: float) -> tuple[float, float, tuple[float, float] | None]:
    if not (a.variance or b.variance or not rejects(2 * least_p_value(a.n, b.n), alpha) or not a.mean):
        return float(b.mean / a.mean), float(b.mean / a.mean), None
    if not a.variance and (not b.variance or not a.mean):
        return -inf, inf, None
    # Directions (cos θ, sin θ) of (a, b) stand for the ratios tan θ, so that unbounded ratios need no special case.
    centre = _direction(float(b.mean), float(a.mean))
    if a.mean and _beyond(a, b, centre, alpha) >= 0:  # the interval is narrower than doubles lie apart
        return float(b.mean / a.mean), float(b.mean / a.mean), None
    if _beyond(a, b, pi / 2, alpha) > 0:
        return tan(_edge(a, b, -pi / 2, centre, alpha)), tan(_edge(a, b, centre, pi / 2, alpha)), None
    return -inf, inf, _excluded(a, b, centre, alpha)


def _excluded(a: Moments, b: Moments, centre: float, alpha: float) -> tuple[float, float] | None:
    """Return the ratios that are ruled out although an infinite one is not."""
    # |T| is largest where (cos θ, sin θ) is orthogonal to the means, both measured in standard errors.
    if not b.mean:
        return None
    farthest = _direction(-float(a.mean * b.variance / b.n), float(b.mean * a.variance / a.n))
    if _beyond(a, b, farthest, alpha) <= 0:
        return None
    ends = sorted((centre, pi / 2 if farthest > centre else -pi / 2))
    return tan(_edge(a, b, ends[0], farthest, alpha)), tan(_edge(a, b, farthest, ends[1], alpha))


def _direction(numerator: float, denominator: float) -> float:
    angle = atan2(numerator, denominator)
    return angle - copysign(pi, angle) if abs(angle) > pi / 2 else angle


def _edge(a: Moments, b: Moments, start: float, end: float, alpha: float) -> float:
    return root_between(lambda angle: _beyond(a, b, angle, alpha), start, end, apart=1e-15, share=1e-14)


def _beyond(a: Moments, b: Moments, angle: float, alpha: float) -> float:
    """Return the excess of Welch's |T| of b cos θ - a sin θ over its critical value."""
    cosine, sine = cos(angle), sin(angle)
    of_a, of_b = sine**2 * float(a.variance) / a.n, cosine**2 * float(b.variance) / b.n
    both = of_a + of_b
    size = abs(float(b.mean) * cosine - float(a.mean) * sine)
    if both == 0:
        return size or -1.0
    df = 1 / ((of_a / both) ** 2 / (a.n - 1) + (of_b / both) ** 2 / (b.n - 1))
    return size + float(special.stdtrit(df, alpha / 2)) * both**0.5
