"""Uncertainty of the forecast number of trials for a pooled quantile."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, log, sqrt

import numpy as np

from trialwise.late import special
from trialwise.statistics.checks import Array
from trialwise.statistics.online_moments import RunningMoments
from trialwise.statistics.pooled.clusters import Clusters, ratio_residuals, ratio_standard_error
from trialwise.statistics.pooled.quantile import BEYOND, PooledEstimate, compatible_shares, inner_rank

_LEAST = 1e-3
"""Share of the half-width below which a narrower interval is due to ties."""


def forecast_spread(
    clusters: Clusters, p: Fraction, found: PooledEstimate, reach: float, target: float, *, relative: bool
) -> float:
    """Estimate the standard deviation of the log number of trials that the width of a Woodruff interval forecasts.

    The number is proportional to the variance of the share times the squared slope of the quantile function over the squared width,
    so it has four sources of uncertainty: the variance of the share, with few degrees of freedom if few trials contribute to the
    tail; the slope, from the spacings between samples inside the interval (twice the variance of their sum is about the sum of their
    squares, as for exponential spacings; times the design effect of their number); the estimate, if the precision is `relative`; and
    the change of slope inside the final, narrower interval, counted as far as the pilot's samples show it beyond their noise. Terms
    are added as if independent.

    Parameters
    ----------
    clusters, p
        The trials, and the quantile's share.
    found
        Its interval (`clustered_quantile`), both bounds finite.
    reach
        Half-width in standard errors.
    target
        Desired half-width, above 0, in the unit of the samples.
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
    """Return the degrees of freedom of the share's variance, from residuals of each trial's number of samples beyond the quantile."""
    above = clusters.above(inner_rank(clusters.ordered.size, p))
    return RunningMoments.of(ratio_residuals(above, clusters.sizes)).degrees_of_freedom


def spacing_noise(inside: Array) -> float:
    """Return the variance of the log squared distance between the ends of these independent samples, in ascending order."""
    spacings = np.diff(inside)
    width = float(spacings.sum())
    return 2 * float(np.sum((spacings / width) ** 2)) if width else 0.0


class _Window:
    """The samples inside the interval, and inside the interval that more trials would give."""

    def __init__(self, clusters: Clusters, p: float, known: float, tail: float) -> None:
        self._clusters = clusters
        self._p = p
        self._known = known
        self._tail = tail

    @classmethod
    def of(cls, clusters: Clusters, p: Fraction, found: PooledEstimate, reach: float) -> _Window:
        """Build the window of an interval, at its effective sample size."""
        tail = (1 - found.confidence / 100) / 2
        known = found.samples / found.design_effect * (float(special.ndtri(1 - tail)) / reach) ** 2
        return cls(clusters, float(p), known, tail)

    def nearer(self, growth: float) -> float:
        """Return the growth, or less if fewer than ten samples would be left inside."""
        low, high = self._ranks(1.0)
        return min(growth, max((high - low) / BEYOND, 1.0) ** 2)

    def half_width(self, growth: float) -> float:
        """Return the half-width of the interval with `growth` times the trials, estimated from these samples."""
        low, high = self._ranks(growth)
        return (self._at(high) - self._at(low)) / 2

    def noise(self, growth: float) -> float:
        """Return the variance of the log squared width, from the spacings and the clustering of samples by trial."""
        low, high = self._ranks(growth)
        first, last = max(ceil(low), 1), min(floor(high), self._clusters.ordered.size)
        return spacing_noise(self._clusters.ordered[first - 1 : last]) * max(
            self._clustering(first, last), 1.0
        )

    def _clustering(self, first: int, last: int) -> float:
        """Return the design effect of the number of samples between two ranks."""
        inside: Array = self._clusters.above(first) - self._clusters.above(last)
        share = (last - first) / self._clusters.ordered.size
        error = ratio_standard_error(inside, self._clusters.sizes)
        return (error / share) ** 2 * (last - first)

    def _ranks(self, growth: float) -> tuple[float, float]:
        low, high = compatible_shares(self._p, self._known * growth, self._tail)
        count = self._clusters.ordered.size
        return low * count, high * count + 1

    def _at(self, rank: float) -> float:
        """Return the sample at a rank, with linear interpolation."""
        ordered = self._clusters.ordered
        below = min(max(floor(rank), 1), ordered.size)
        above = min(below + 1, ordered.size)
        share = min(max(rank - below, 0.0), 1.0)
        return float(ordered[below - 1] * (1 - share) + ordered[above - 1] * share)
