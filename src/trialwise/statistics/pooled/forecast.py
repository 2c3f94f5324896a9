"""How well the trials tell how many of them a pooled quantile will take."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, log, sqrt

import numpy as np
from scipy.special import ndtri

from trialwise.statistics.checks import Array
from trialwise.statistics.online_moments import RunningMoments
from trialwise.statistics.pooled.clusters import Clusters, ratio_residuals, ratio_standard_error
from trialwise.statistics.pooled.quantile import BEYOND, PooledEstimate, compatible_shares, inner_rank

_LEAST = 1e-3
"""Of the half-width, below which a narrower one is that of ties."""


def forecast_spread(
    clusters: Clusters, p: Fraction, found: PooledEstimate, reach: float, target: float, *, relative: bool
) -> float:
    """Standard deviation of the logarithm of the number of trials that the width of a Woodruff interval forecasts.

    The number goes with the variance of the share times the square of the slope of the quantile function over the square of the
    width wanted, so four things make it uncertain: the variance of the share, whose degrees of freedom are few where few trials
    have any of the tail; the slope, which is read off the spacings between the samples inside of the interval (twice the variance
    of their sum is about the sum of their squares, as of exponential ones; times the design effect of their number); where the
    precision is `relative`, the estimate; and that the slope is another one inside of the narrower interval at the end, of which
    counts what the pilot's own samples show beyond their noise. Terms are added as if they were independent.

    Parameters
    ----------
    clusters, p
        The trials, and the quantile's share.
    found
        Its interval (`clustered_quantile`), both bounds finite.
    reach
        Standard errors on either side.
    target
        Half of the width wanted, above 0, in the unit of the samples.
    """
    half = (found.high - found.low) / 2
    window = _Window.of(clusters, p, found, reach)
    own = window.noise(1.0)
    spread = 2 / _degrees_of_freedom(clusters, p) + own
    if relative:
        spread += 4 * (half / reach / found.estimate) ** 2
    if half > target:
        growth = window.nearer((half / target) ** 2)
        drift = log(growth) + 2 * log(max(window.half_width(growth), _LEAST * half) / half)
        spread += max(drift**2 - max(window.noise(growth) - own, 0.0), 0.0)
    return sqrt(spread)


def _degrees_of_freedom(clusters: Clusters, p: Fraction) -> float:
    """Of the variance of the share: of the residuals of the trials' numbers of samples beyond the quantile."""
    above = clusters.above(inner_rank(clusters.ordered.size, p))
    return RunningMoments.of(ratio_residuals(above, clusters.sizes)).degrees_of_freedom


def spacing_noise(inside: Array) -> float:
    """Variance of the logarithm of the squared distance between the ends of these samples, in ascending order, drawn independently."""
    spacings = np.diff(inside)
    width = float(spacings.sum())
    return 2 * float(np.sum((spacings / width) ** 2)) if width else 0.0


class _Window:
    """The samples inside of the interval, and inside of that which so many times the trials would have."""

    def __init__(self, clusters: Clusters, p: float, known: float, tail: float) -> None:
        self._clusters = clusters
        self._p = p
        self._known = known
        self._tail = tail

    @classmethod
    def of(cls, clusters: Clusters, p: Fraction, found: PooledEstimate, reach: float) -> _Window:
        """That of an interval, at its effective number of samples."""
        tail = (1 - found.confidence / 100) / 2
        known = found.samples / found.design_effect * (float(ndtri(1 - tail)) / reach) ** 2
        return cls(clusters, float(p), known, tail)

    def nearer(self, growth: float) -> float:
        """The growth, or less where fewer than ten samples would be left inside."""
        low, high = self._ranks(1.0)
        return min(growth, max((high - low) / BEYOND, 1.0) ** 2)

    def half_width(self, growth: float) -> float:
        """Half of the width of the interval that so many times the trials would have, by these samples."""
        low, high = self._ranks(growth)
        return (self._at(high) - self._at(low)) / 2

    def noise(self, growth: float) -> float:
        """Variance of the logarithm of the squared width, from the spacings and from how trials share the samples."""
        low, high = self._ranks(growth)
        first, last = max(ceil(low), 1), min(floor(high), self._clusters.ordered.size)
        return spacing_noise(self._clusters.ordered[first - 1 : last]) * max(
            self._clustering(first, last), 1.0
        )

    def _clustering(self, first: int, last: int) -> float:
        """Design effect of the number of samples between two ranks."""
        inside: Array = self._clusters.above(first) - self._clusters.above(last)
        share = (last - first) / self._clusters.ordered.size
        error = ratio_standard_error(inside, self._clusters.sizes)
        return (error / share) ** 2 * (last - first)

    def _ranks(self, growth: float) -> tuple[float, float]:
        low, high = compatible_shares(self._p, self._known * growth, self._tail)
        count = self._clusters.ordered.size
        return low * count, high * count + 1

    def _at(self, rank: float) -> float:
        """The sample at a rank, between two of them linearly."""
        ordered = self._clusters.ordered
        below = min(max(floor(rank), 1), ordered.size)
        above = min(below + 1, ordered.size)
        share = min(max(rank - below, 0.0), 1.0)
        return float(ordered[below - 1] * (1 - share) + ordered[above - 1] * share)
