"""Control variates for the quantile of all samples, applied to the linearised share of samples beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor, inf, sqrt
from typing import TYPE_CHECKING

from scipy.special import stdtrit

from trialwise.statistics.checks import Array, as_percent, as_tolerance
from trialwise.statistics.estimates.mean_interval import MeanInterval
from trialwise.statistics.estimates.quantiles import nearest_rank
from trialwise.statistics.pooled.clusters import Clusters
from trialwise.statistics.pooled.control_variates import (
    ControlVariates,
    Regression,
    as_controls,
    guarded,
    reach_of,
    regression,
)
from trialwise.statistics.pooled.quantile import clustered_quantile
from trialwise.statistics.pooled.trial_samples import TrialSamples

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_ROUNDS = 4
"""Iterations to find the quantile at which the controls are fitted."""


def control_variates_quantile(
    trials: Sequence[ArrayLike],
    percentile: float,
    x: ArrayLike,
    known_means: ArrayLike,
    *,
    confidence: float = 95,
    precision: float | None = None,
    surrogate_trials: int | None = None,
) -> ControlVariates:
    """Estimate the quantile of all samples with control variates.

    For each trial d = (its samples above Q) - (1 - p) (its samples), with mean 0 at the true quantile Q, is regressed on the
    controls (the linearised ratio estimator; regression by Lavenberg and Welch 1981, inversion by Woodruff 1952). The shift of the
    mean of d by the controls changes the share at which the quantile is read off all samples, and the residual standard error sets
    its bounds. A good control is the same d from a fluid model of the same flows, with a mean known from many surrogate trials. The
    guards are those of `control_variates`.

    Parameters
    ----------
    trials
        The samples of each trial.
    percentile
        In percent, between 0 and 100, exclusive.
    x, known_means, confidence, precision, surrogate_trials
        As in `control_variates`.

    Raises
    ------
    StatisticsError
        As for `control_variates` and `pooled_quantile`.
    """
    p, level = as_percent(percentile, "percentile"), as_percent(confidence, "confidence")
    wanted = None if precision is None else as_tolerance(precision)
    clusters = TrialSamples.of(trials).clusters
    n = clusters.trials
    controls, means = as_controls(x, known_means, n)
    found = clustered_quantile(
        clusters, p, level, float(stdtrit(n - 1, float(1 + level) / 2)), "nearest_rank"
    )
    plain = MeanInterval(found.estimate, found.low, found.high, n, float(confidence), found.method)
    fit, share = _at_quantile(clusters, p, controls, means, surrogate_trials)
    estimate = _sample_at(clusters.ordered, share)
    half_share = (
        reach_of(fit.degrees_of_freedom, confidence) * sqrt(fit.variance) / float(clusters.sizes.mean())
    )
    floor_ = 0.0 if wanted is None else wanted / 2 * abs(estimate)
    low, high = _bounds(clusters.ordered, share, half_share)
    controlled = MeanInterval(
        estimate,
        min(low, estimate - floor_),
        max(high, estimate + floor_),
        n,
        float(confidence),
        "clustered share of samples with control variates, inverted (Woodruff)",
    )
    plain_variance = float(_linearised(clusters, nearest_rank(clusters.ordered.size, p), p).var(ddof=1)) / n
    return guarded(plain, controlled, fit, plain_variance, wanted)


def _linearised(clusters: Clusters, rank: int, p: Fraction) -> Array:
    return clusters.above(rank) - float(1 - p) * clusters.sizes


def _at_quantile(
    clusters: Clusters, p: Fraction, controls: Array, means: Array, surrogate_trials: int | None
) -> tuple[Regression, float]:
    """Return the fit at the controlled quantile, and the share of the samples at or below it."""
    count = clusters.ordered.size
    share = nearest_rank(count, p) / count
    for _ in range(_ROUNDS):
        rank = min(max(ceil(share * count), 1), count - 1)
        fit = regression(_linearised(clusters, rank, p), controls, means, surrogate_trials)
        # At the quantile the controlled mean of d is 0, so its plain mean there equals the shift by the controls.
        share = float(p) - fit.shift / float(clusters.sizes.mean())
    rank = min(max(ceil(share * count), 1), count - 1)
    return regression(_linearised(clusters, rank, p), controls, means, surrogate_trials), share


def _sample_at(ordered: Array, share: float) -> float:
    return float(ordered[min(max(ceil(share * ordered.size), 1), ordered.size) - 1])


def _bounds(ordered: Array, share: float, half: float) -> tuple[float, float]:
    # With few samples the controls may move the share beyond 0 or 1.
    low = min(ceil((share - half) * ordered.size), ordered.size)
    high = max(floor((share + half) * ordered.size) + 1, 1)
    return (
        float(ordered[low - 1]) if low >= 1 else -inf,
        float(ordered[high - 1]) if high <= ordered.size else inf,
    )
