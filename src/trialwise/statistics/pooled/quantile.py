"""The quantile of all samples of many trials, with an interval that treats trials as the unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from trialwise.late import special
from trialwise.statistics.checks import Array, as_percent, one_of
from trialwise.statistics.estimates.quantiles import (
    Convention,
    as_convention,
    nearest_rank,
    quantile_of_ordered,
)
from trialwise.statistics.online_moments import RunningMoments, heavy_tail
from trialwise.statistics.pooled.clusters import Clusters, ratio_standard_error, resampled_counts
from trialwise.statistics.pooled.trial_samples import TrialSamples
from trialwise.statistics.roots import root_between

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

PooledMethod: TypeAlias = Literal["delta", "bootstrap"]
RESAMPLES = 2000
CLUSTERED = 2.0
"""Design effect above which samples beyond a quantile count as clustered, in the assessment of tails."""
BEYOND = 10
"""Minimum number of samples beyond the point at which the design effect is computed, so that one or two do not dominate it."""


@dataclass(frozen=True, slots=True)
class PooledEstimate:
    """An estimate from all samples of many trials, in the unit of the samples."""

    estimate: float
    low: float
    """-inf if there are too few samples for a lower bound."""
    high: float
    """inf if there are too few samples for an upper bound."""
    estimand: str
    trials: int
    samples: int
    confidence: float
    """In percent."""
    design_effect: float
    """Variance of the estimated quantity over that of as many independent samples; NaN for a bootstrap."""
    convention: str
    """Of the quantile; empty for a mean."""
    method: str
    note: str
    """What is missing and the remedy; empty if nothing is."""


def pooled_quantile(
    trials: Sequence[ArrayLike],
    percentile: float,
    *,
    confidence: float = 95,
    method: PooledMethod = "delta",
    convention: Convention = "nearest_rank",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> PooledEstimate:
    """Estimate the quantile of all samples with trials as clusters: the estimand "pooled".

    The share of samples at or below x is a ratio of sums over trials, with the variance of its linearised values (Cochran 1977). The
    interval contains every x at which that share is compatible with p (Woodruff 1952), by Clopper and Pearson's bounds at the
    effective sample size p(1-p)/V, corrected for the degrees of freedom of the trials (Korn and Graubard 1998), because in the tail
    a normal interval of the share misses on one side. No density is estimated.

    "bootstrap" resamples whole trials with replacement and takes the central range of the quantiles.

    Parameters
    ----------
    trials
        The samples of each trial, two trials or more.
    percentile
        In percent, between 0 and 100, exclusive.
    confidence
        In percent.
    method
        "delta" or "bootstrap".
    convention
        Of the estimate, as in `trial_quantile`; bounds are samples.
    resamples, seed
        Of the bootstrap.

    Raises
    ------
    StatisticsError
        Fewer than two trials, no samples, samples that are not finite, or an option out of range.
    """
    one_of(method, "method", ("delta", "bootstrap"))
    p, level = as_percent(percentile, "percentile"), as_percent(confidence, "confidence")
    as_convention(convention)
    clusters = TrialSamples.of(trials).clusters
    if method == "bootstrap":
        return _by_bootstrap(clusters, p, level, convention, resamples, seed)
    reach = float(special.stdtrit(clusters.trials - 1, float((1 + level) / 2)))
    return clustered_quantile(clusters, p, level, reach, convention)


def clustered_quantile(
    clusters: Clusters, p: Fraction, level: Fraction, reach: float, convention: Convention
) -> PooledEstimate:
    """Apply the delta method with a half-width of `reach` standard errors, a Student's or normal quantile."""
    count = clusters.ordered.size
    effect = design_effect(clusters, p)
    tail = float(1 - level) / 2
    known = count / effect * (float(special.ndtri(1 - tail)) / reach) ** 2
    low, high = compatible_shares(float(p), known, tail)
    low_rank, high_rank = ceil(low * count), floor(high * count) + 1
    short = low_rank < 1 or high_rank > count
    notes = (_shortage(p, tail, clusters, count / effect) if short else "", _tail_of(clusters, p, effect))
    return PooledEstimate(
        estimate=quantile_of_ordered(clusters.ordered, p, convention),
        low=float(clusters.ordered[low_rank - 1]) if low_rank >= 1 else -inf,
        high=float(clusters.ordered[high_rank - 1]) if high_rank <= count else inf,
        estimand=f"p{float(p) * 100:g} of all samples",
        trials=clusters.trials,
        samples=count,
        confidence=float(level) * 100,
        design_effect=effect,
        convention=convention,
        method="clustered share of samples, inverted (Woodruff; Korn and Graubard)",
        note="; ".join(note for note in notes if note),
    )


def inner_rank(count: int, p: Fraction) -> int:
    """Return the rank of the quantile, or the nearest with ten samples on either side, because fewer give no useful variance."""
    inner = min(BEYOND, count // 2)
    return min(max(nearest_rank(count, p), inner), count - inner)


def design_effect(clusters: Clusters, p: Fraction) -> float:
    """Return the variance of the share of samples beyond the quantile, over that of as many independent samples."""
    count = clusters.ordered.size
    rank = inner_rank(count, p)
    # All samples tied with the quantile belong on one side of it.
    rank = int(np.count_nonzero(clusters.ordered <= clusters.ordered[rank - 1]))
    share = rank / count
    if share == 1:
        return 1.0
    error = ratio_standard_error(clusters.above(rank), clusters.sizes)
    return error**2 * count / (share * (1 - share)) or 1.0


def compatible_shares(p: float, known: float, tail: float) -> tuple[float, float]:
    """Return the range of shares of `known` samples with Clopper-Pearson bounds that contain p; 0 and 1 if all do."""

    def too_few(share: float) -> float:
        return float(special.betainc(known * share + 1, max(known * (1 - share), 1e-12), p)) - (1 - tail)

    def too_many(share: float) -> float:
        return float(special.betainc(max(known * share, 1e-12), known * (1 - share) + 1, p)) - tail

    low = root_between(too_few, 0.0, p) if too_few(0.0) > 0 else 0.0
    high = root_between(too_many, p, 1.0) if too_many(1.0) < 0 else 1.0
    return low, high


def _shortage(p: Fraction, tail: float, clusters: Clusters, effective: float) -> str:
    wanted = float(np.log(tail) / np.log(float(max(p, 1 - p))))
    more = ceil(clusters.trials * wanted / effective)
    return (
        f"both bounds on p{float(p) * 100:g} take about {more} trials like these; there are {clusters.trials}"
    )


def _tail_of(clusters: Clusters, p: Fraction, effect: float) -> str:
    """Say if one trial has many of the samples beyond the quantile; empty if samples are nearly independent.

    For independent samples the number beyond is binomial, and its interval exact however skewed; the same holds for trials
    entirely on one side or the other.
    """
    if effect < CLUSTERED:
        return ""
    beyond = clusters.above(inner_rank(clusters.ordered.size, p))
    share = float(beyond.sum() / clusters.sizes.sum())
    tail = heavy_tail(
        RunningMoments.of(np.asarray(beyond - share * clusters.sizes, dtype=np.float64)), most_skewed=inf
    )
    return (
        f"of the samples beyond p{float(p) * 100:g}, {tail}: the interval may hold less often than it says"
        if tail
        else ""
    )


def _by_bootstrap(
    clusters: Clusters, p: Fraction, level: Fraction, convention: Convention, resamples: int, seed: int
) -> PooledEstimate:
    found = np.array(
        [
            _weighted(clusters, counts, float(p))
            for counts in resampled_counts(clusters.trials, resamples, seed)
        ]
    )
    low, high = np.quantile(found, [float(1 - level) / 2, float(1 + level) / 2])
    return PooledEstimate(
        estimate=quantile_of_ordered(clusters.ordered, p, convention),
        low=float(low),
        high=float(high),
        estimand=f"p{float(p) * 100:g} of all samples",
        trials=clusters.trials,
        samples=clusters.ordered.size,
        confidence=float(level) * 100,
        design_effect=float("nan"),
        convention=convention,
        method=f"bootstrap of trials, {resamples} draws",
        note="" if clusters.ordered.size * min(p, 1 - p) >= BEYOND else _FEW,
    )


def _weighted(clusters: Clusters, counts: Array, p: float) -> float:
    reached = np.cumsum(counts[clusters.owners])
    # Slightly below: the share is rounded, and p times the count may be an integer.
    place = int(np.count_nonzero(reached < p * reached[-1] * (1 - 1e-12)))
    return float(clusters.ordered[min(place, reached.size - 1)])


_FEW = f"fewer than {BEYOND} samples lie beyond the quantile: a bootstrap cannot go beyond the largest of them; take more trials"
