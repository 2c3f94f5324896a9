"""Tail quantiles from trials under importance sampling, and diagnostics of their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.numbers import about
from trialwise.rules import BATCH
from trialwise.statistics.checks import Array, as_percent, as_values
from trialwise.statistics.comparing.relative_margin import RelativeMarginStop, relative_margin_stop
from trialwise.statistics.pooled.clusters import Clusters
from trialwise.statistics.sizing.switching import Cycle

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MIN_EFFECTIVE = 50.0
"""Minimum effective sample size of a weighted tail, in trials."""
_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class WeightDiagnostics:
    """Diagnostics of whether few trials carry the tail."""

    effective: float
    """Effective sample size of the weighted tail: (Σ W)² / Σ W² over the tail weights W of the trials (Kish 1965)."""
    largest_share: float
    """Share of the trial with the largest tail weight."""
    total: float
    """Mean likelihood ratio of all responses; its expectation is 1."""
    warning: str
    """Empty if nothing speaks against the weights."""


@dataclass(frozen=True, slots=True)
class ImportanceQuantile:
    """A tail quantile of all flows, in the unit of the responses."""

    estimate: float
    low: float
    high: float
    """inf if the weights yield no upper bound."""
    percentile: float
    """In percent."""
    cycles: int
    responses: int
    confidence: float
    """In percent."""
    diagnostics: WeightDiagnostics
    method: str


@dataclass(frozen=True, slots=True, eq=False)
class BatchedQuantile:
    """CCEval's estimate: the mean of the quantiles of batches, with its model-free interval."""

    stop: RelativeMarginStop
    """The stopping rule over batches; its forecast counts batches."""
    quantiles: Array
    """Of each batch."""
    batch: int
    """Trials per batch."""
    diagnostics: WeightDiagnostics
    warning: str
    method: str


def weighted_tail_quantile(
    responses: ArrayLike, weights: ArrayLike, percentile: float, expected: float
) -> float:
    """Find the smallest response above which the weights sum to at most (1 - p) of the expected total (CCEval's Eq. 12 and 13).

    Parameters
    ----------
    responses, weights
        Of all flows of all trials, in any order; weights are likelihood ratios.
    percentile
        In percent.
    expected
        Expected number of flows in all trials under the true distribution: number of trials times E[α]. For Poisson arrivals E[α] =
        λT exactly; CCEval estimates it from further trials, an error that its interval ignores.

    Raises
    ------
    StatisticsError
        Responses and weights do not match, or the weight of the largest response alone exceeds the tail, so that no response is the
        quantile.
    """
    values, likelihoods = as_values(responses, "responses"), as_values(weights, "weights")
    p = as_percent(percentile, "percentile")
    if values.size != likelihoods.size:
        raise StatisticsError(f"there are {values.size} responses and {likelihoods.size} weights")
    order = np.argsort(values, kind="stable")
    place = _place(likelihoods[order], float(1 - p) * expected)
    if place == values.size:
        raise StatisticsError(
            f"no response is the p{percentile:g}: the largest alone has a weight of {about(float(likelihoods[order[-1]]))} "
            f"and the tail one of {about(float(1 - p) * expected)}; take more trials or a weaker tilt"
        )
    return float(values[order[place]])


def _place(weights: Array, budget: float) -> int:
    """Return the first index from which the weights to the end are within the budget, weights in the order of the responses."""
    remaining = np.cumsum(weights[::-1])[::-1]
    # Weights of 1 add up without rounding, but (1 - p) times a number does not.
    return int(np.count_nonzero(remaining > budget * (1 + 1e-12)))


def importance_quantile(
    cycles: Sequence[Cycle], percentile: float, mean_flows: float, *, confidence: float = 95
) -> ImportanceQuantile:
    """Estimate the tail quantile of all flows from all trials together, with an interval by the delta method over trials.

    The tail weights W(x) of the trials above x are independent with the mean P(R > x) E[α]. The estimate is the point at which their
    average equals (1 - p) E[α] (Eq. 13); at the bounds it lies the t quantile times the standard error (at the estimate) below and
    above that (Woodruff 1952). There are no batches, whose quantiles have a bias larger than the width of their interval.

    Parameters
    ----------
    cycles
        Trials under importance sampling (`run_cycle`).
    percentile
        In percent.
    mean_flows
        E[α]: mean number of flows of a trial under the true distribution, λT for Poisson arrivals.
    confidence
        In percent.

    Raises
    ------
    StatisticsError
        Fewer than two trials, no responses, no response that is the quantile, or an option out of range.
    """
    p, level = as_percent(percentile, "percentile"), float(as_percent(confidence, "confidence"))
    clusters = _clusters(cycles)
    m = clusters.trials
    budget = float(1 - p) * mean_flows
    estimate = weighted_tail_quantile(clusters.ordered, clusters.weights, percentile, m * mean_flows)
    tails = clusters.above(_place(clusters.weights, m * budget))
    reach = float(special.stdtrit(m - 1, (1 + level) / 2)) * float(tails.std(ddof=1)) / sqrt(m)
    return ImportanceQuantile(
        estimate=estimate,
        low=_response(clusters, m * (budget + reach)),
        high=_response(clusters, m * (budget - reach)),
        percentile=float(percentile),
        cycles=m,
        responses=clusters.ordered.size,
        confidence=float(confidence),
        diagnostics=_diagnosed(clusters, tails, m * mean_flows),
        method="all trials together, weighted share beyond inverted (delta method over trials)",
    )


def _clusters(cycles: Sequence[Cycle]) -> Clusters:
    return Clusters.of([cycle.responses for cycle in cycles], [cycle.weights for cycle in cycles])


def _response(clusters: Clusters, budget: float) -> float:
    place = _place(clusters.weights, budget)
    return float(clusters.ordered[place]) if place < clusters.ordered.size else inf


def _diagnosed(clusters: Clusters, tails: Array, expected: float) -> WeightDiagnostics:
    total = float(tails.sum())
    effective = total**2 / float(np.sum(tails**2)) if total else 0.0
    largest = float(tails.max()) / total if total else 1.0
    found: list[str] = []
    if effective < MIN_EFFECTIVE:
        found.append(
            f"the tail of {clusters.trials} trials is worth {about(effective)}; {MIN_EFFECTIVE:g} are needed"
        )
    if largest > _SHARE:
        found.append(f"one trial has {100 * largest:.0f} % of the tail's weight")
    warning = (
        f"the weights degenerate: {'; '.join(found)}; take a weaker tilt, more trials, or none"
        if found
        else ""
    )
    return WeightDiagnostics(effective, largest, float(clusters.weights.sum()) / expected, warning)


def batched_quantile(
    cycles: Sequence[Cycle],
    percentile: float,
    mean_flows: float,
    *,
    precision: float,
    confidence: float = 95,
    batch: int = BATCH,
    start: int = 20,
) -> BatchedQuantile:
    """Run CCEval's Algorithm 2 from line 24: a quantile per batch of K trials, and the model-free rule over these.

    Parameters
    ----------
    cycles
        Trials in order; those after the last complete batch are ignored.
    percentile
        In percent.
    mean_flows
        E[α], as in `importance_quantile`.
    precision
        Desired half-width, in percent.
    confidence
        In percent.
    batch
        K.
    start
        Batches before the first look.

    Raises
    ------
    StatisticsError
        Fewer than two batches, a batch without a response at its quantile, or an option out of range.
    """
    if batch < 2 or len(cycles) < 2 * batch:
        raise StatisticsError(
            f"there are {len(cycles)} trials for batches of {batch}; two batches of two trials are the fewest"
        )
    whole = [_clusters(cycles[at : at + batch]) for at in range(0, len(cycles) - batch + 1, batch)]
    quantiles = np.array(
        [weighted_tail_quantile(each.ordered, each.weights, percentile, batch * mean_flows) for each in whole]
    )
    stop = relative_margin_stop(quantiles, margin=precision, confidence=confidence, start=start)
    diagnostics = importance_quantile(cycles, percentile, mean_flows, confidence=confidence).diagnostics
    return BatchedQuantile(
        stop=stop,
        quantiles=quantiles,
        batch=batch,
        diagnostics=diagnostics,
        warning="; ".join(filter(None, [BIAS, diagnostics.warning])),
        method=f"CCEval: quantiles of batches of {batch} trials, model-free interval of their mean",
    )


BIAS = (
    "a quantile of a batch is biased and the interval of the batches' mean does not know it: nominal 95 % intervals held in 3 to 20 % "
    "(lognormal WebSearch, 44 flows a trial, 5 %) without importance sampling; the interval over all trials together keeps its level"
)


def variance_ratio(plain: Sequence[Cycle], tilted: Sequence[Cycle], threshold: float) -> float:
    """Return the variance of a trial's tail count without importance sampling over that with it; above 1, sampling helps.

    Raises
    ------
    StatisticsError
        Fewer than two trials on a side.
    """
    return _tail_variance(plain, threshold) / (_tail_variance(tilted, threshold) or inf)


def _tail_variance(cycles: Sequence[Cycle], threshold: float) -> float:
    if len(cycles) < 2:
        raise StatisticsError(f"there are {len(cycles)} trials; at least 2 are needed for a variance")
    return float(np.var([tail_weight(cycle, threshold) for cycle in cycles], ddof=1))


def tail_weight(cycle: Cycle, threshold: float) -> float:
    """Return the sum of the weights of a trial's responses above the threshold."""
    return float(cycle.weights[cycle.responses > threshold].sum())
