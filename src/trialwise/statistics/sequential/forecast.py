"""The number of further trials on each side that gives a 90 % chance to decide."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from math import sqrt
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from trialwise.late import special
from trialwise.statistics.checks import Array
from trialwise.statistics.comparing.verdicts import NONE, claims_of, upright, verdict_of
from trialwise.statistics.comparing.welch import Contrast, contrast
from trialwise.statistics.estimates.moments import Moments

if TYPE_CHECKING:
    from collections.abc import Callable

    from trialwise.statistics.comparing.verdicts import Margin

CHANCE = 0.9
MOST = 10_000
"""Largest number of further trials on each side that is considered."""
Judged: TypeAlias = Literal["fresh", "pooled"]
_NEARER = 0.1
_UNIT = 1 << 30
_NET = (
    (0x29A097F2, (0x20655C11, 0x1A6FD0D6, 0x0EE21369, 0x0597ED29, 0x03A3CEF5, 0x0137F11F)),
    (0x3AB535AE, (0x25584C0A, 0x3C196573, 0x286AC67F, 0x37DD7744, 0x277A718E, 0x3FE993BB)),
)
"""Of each coordinate of a scrambled Sobol net, times `_UNIT`: its first point, and by what the bits of a place change it."""
_STEPS = 400


def trials_to_decide(
    a: Moments,
    b: Moments,
    margin: Margin | None,
    alpha: float,
    judged: Judged = "fresh",
    *,
    paired: bool = False,
) -> int | None:
    """Find the smallest number of further trials on each side that probably leads to a decision.

    The difference is assumed to be the estimate, moved a tenth of the way to the nearest bound of a claim. At least 85 % of
    simulated follow-ups then decide if the truth is at least one present standard error from every bound. The variances are unknown:
    the chance is averaged over s² (n - 1) / χ² at 64 fixed points of a Sobol sequence ("assurance", O'Hagan, Stevens and Campbell
    2005). The power of a t test is Φ((ncp - t (1 - 1/4df)) / sqrt(1 + t²/2df)) (Abramowitz and Stegun 26.7.10). If nothing varies,
    the number is what rank tests need if that stays so.

    Parameters
    ----------
    margin
        None tests for any difference at all.
    alpha
        Level of the verdict, as a share.
    judged
        "fresh": the follow-up alone, whose verdict keeps its level whatever prompted it; "pooled": together with the existing
        trials.
    paired
        As for `contrast`.

    Returns
    -------
    int or None
        None if no number up to 10,000 has a chance of 90 %.
    """
    if not (a.variance or b.variance):
        return _smallest(partial(_separated, a, b, margin, alpha, judged, paired))
    if margin is not None:
        a, b = upright(a, b, margin)
    truths = _truths(a, b, margin)
    before = (a, b) if judged == "pooled" else None
    return _smallest(lambda count: _chance(truths, before, count, margin, alpha) >= CHANCE)


def _smallest(likely: Callable[[int], bool]) -> int | None:
    few, many = 0, MOST
    if not likely(many):
        return None
    while many - few > 1:
        middle = max(few + 1, int(sqrt(max(few, 1) * many)))
        few, many = (few, middle) if likely(middle) else (middle, many)
    return many


def _separated(
    a: Moments, b: Moments, margin: Margin | None, alpha: float, judged: Judged, paired: bool, count: int
) -> bool:
    """Return True if rank tests decide after `count` further trials with the same values as before."""
    later_a, later_b = (Moments(side.n * (judged == "pooled") + count, side.mean, 0.0) for side in (a, b))
    claims = claims_of(later_a, later_b, margin or NONE, paired=paired)
    equivalent = None if margin is None else float(claims.equivalent)
    return verdict_of(float(claims.different), equivalent, alpha) != "undecided"


def _truths(a: Moments, b: Moments, margin: Margin | None) -> tuple[Moments, Moments]:
    """Return means and variances of both sides that are compatible with the data, one entry per draw."""
    first, second = (
        side.variance * (side.n - 1) / np.asarray(special.chdtri(side.n - 1, share), dtype=np.float64)
        for side, share in zip((a, b), _shares(), strict=True)
    )
    bounds = ((1.0, 0.0),) if margin is None else (margin.lower, margin.upper)
    nearest = min((contrast(a, b, *bound) for bound in bounds), key=lambda one: abs(one.estimate / one.se))
    return Moments(a.n, a.mean, first), Moments(b.n, b.mean - _NEARER * nearest.estimate, second)


@lru_cache(maxsize=1)
def _shares() -> Array:
    return np.array([_coordinates(*each) for each in _NET])


def _coordinates(start: int, words: tuple[int, ...]) -> list[float]:
    found = [start]
    for place in range(1, 1 << len(words)):
        found.append(
            found[-1] ^ words[(place & -place).bit_length() - 1]
        )  # the one bit in which Gray codes differ
    return [one / _UNIT for one in found]


def _chance(
    truths: tuple[Moments, Moments],
    before: tuple[Moments, Moments] | None,
    count: int,
    margin: Margin | None,
    alpha: float,
) -> float:
    """Return the probability of a decision after `count` further trials on each side."""
    if count < 2 and before is None:
        return 0.0
    bounds = ((1.0, 0.0),) * 2 if margin is None else (margin.lower, margin.upper)
    ahead = _alone if before is None else partial(_together, before)
    lower, upper = (ahead(truths, count, bound) for bound in bounds)
    decided = upper.above(alpha / 2) + lower.below(alpha / 2)
    if margin is not None:
        decided += np.maximum(0.0, lower.above(alpha) + upper.below(alpha) - 1)
    return float(np.minimum(decided, 1).mean())


@dataclass(frozen=True, slots=True)
class _Ahead:
    """A contrast at the follow-up for each truth: its expectation, and its uncertainty."""

    expected: Contrast
    noise: Array
    """Standard deviation of its estimate."""
    unknown: float
    """Share of the values behind the standard error that are still to be observed."""

    def above(self, tail: float) -> Array:
        """Return the power of the one-sided test against "it is not above 0" at a level."""
        return self._power(np.asarray(self.expected.estimate), tail)

    def below(self, tail: float) -> Array:
        """Return the power of the other one-sided test."""
        return self._power(-np.asarray(self.expected.estimate), tail)

    def _power(self, centre: Array, tail: float) -> Array:
        df = np.asarray(self.expected.df)
        needed = _critical(df, tail) * self.expected.se
        spread = np.sqrt(self.noise**2 + self.unknown * needed**2 / (2 * df))
        return special.ndtr((centre - needed * (1 - 1 / (4 * df))) / spread)


def _alone(truths: tuple[Moments, Moments], count: int, bound: tuple[float, float]) -> _Ahead:
    a, b = (Moments(count, side.mean, side.variance) for side in truths)
    expected = contrast(a, b, *bound)
    return _Ahead(expected, np.asarray(expected.se), 1.0)


def _together(
    before: tuple[Moments, Moments], truths: tuple[Moments, Moments], count: int, bound: tuple[float, float]
) -> _Ahead:
    a, b = (_pooled(old, truth, count) for old, truth in zip(before, truths, strict=True))
    of_a, of_b = (
        weight**2 * count * truth.variance / total.n**2
        for weight, total, truth in zip((bound[0], 1.0), (a, b), truths, strict=True)
    )
    return _Ahead(contrast(a, b, *bound), np.sqrt(of_a + of_b), 2 * count / (a.n + b.n))


def _pooled(old: Moments, truth: Moments, count: int) -> Moments:
    """Return the expected moments of old and new values together."""
    n = old.n + count
    between = old.n * count / n * (old.mean - truth.mean) ** 2
    within = (old.n - 1) * old.variance + count * truth.variance
    return Moments(n, (old.n * old.mean + count * truth.mean) / n, (within + between) / (n - 1))


def _critical(df: Array, tail: float) -> Array:
    """Return an upper quantile of the t distribution, from a table over 1/df."""
    return np.interp(1 / df, *_quantiles(tail))


@lru_cache(maxsize=64)
def _quantiles(tail: float) -> tuple[Array, Array]:
    inverse = np.linspace(1e-5, 1, _STEPS) ** 2
    return inverse, -np.asarray(special.stdtrit(1 / inverse, tail), dtype=np.float64)
