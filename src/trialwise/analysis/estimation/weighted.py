"""Tail quantiles of tilted trials: weights correct for the sampling distribution, with diagnostics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trialwise import statistics as st
from trialwise._core import parse_fraction
from trialwise.analysis.estimation.results import Estimate, WeightedTail
from trialwise.analysis.observations import Observation, StoreObservations
from trialwise.arrays import Array
from trialwise.errors import AnalysisError, StatisticsError
from trialwise.experiment.model import Estimand, Experiment, Level, Metric
from trialwise.experiment.placeholders import fill, names_in
from trialwise.experiment.tilts import EXPECTED_FLOWS, LOAD_RATIO, LOG_LIKELIHOOD
from trialwise.numbers import about, as_given, write
from trialwise.rules import BATCH

Attempt = tuple[int, int]
PRECISION = 1.0
"""Default precision in percent at which the rule of batches would stop (CCEval section 6.5)."""
_MUCH = 1.05
"""Ratio of loads above which the workload counts as a different one."""


@dataclass(frozen=True, slots=True)
class TiltWeights:
    """Weights that tilted trials stored with their metrics, by number and attempt."""

    log_likelihood: Mapping[Attempt, Array]
    expected_flows: Mapping[Attempt, Array]
    load_ratio: Mapping[Attempt, Array]

    @classmethod
    def of(cls, store: StoreObservations) -> TiltWeights:
        """Read the weights; empty mappings if nothing is tilted."""
        return cls(*(store.kept(key) for key in (LOG_LIKELIHOOD, EXPECTED_FLOWS, LOAD_RATIO)))


def is_tilted(experiment: Experiment) -> bool:
    """Return True if trials draw their sizes from a tilted distribution."""
    return experiment.trial.traits.weighted


def refuse_tilted(experiment: Experiment) -> None:
    """Raise AnalysisError if trials are tilted, because their single values do not represent the workload."""
    if is_tilted(experiment):
        raise AnalysisError(
            f"{experiment.name}: its workload is tilted, and single trials say nothing without their weights",
            hint="`trialwise analyze` and `trialwise report` weight them; compare treatments without a tilt",
        )


def weighted_estimate(
    metric: Metric,
    estimand: Estimand,
    trials: Sequence[Observation],
    weights: TiltWeights,
    load: float | None,
    confidence: float = 95.0,
) -> Estimate:
    """Estimate the tail quantile of all flows, from all trials together or by CCEval's batches.

    Parameters
    ----------
    metric, estimand
        A percentile of completion times, pooled or model_based.
    trials
        Observations of one treatment, in plan order.
    weights
        Their weights.
    load
        The requested load; None if unknown.
    confidence
        In percent.
    """
    percentile = metric.percentile or 0.0
    places = [(one.number, one.attempt) for one in trials]
    cycles = [
        cycle_of(one.values, weights.log_likelihood[place]) for one, place in zip(trials, places, strict=True)
    ]
    mean_flows = float(weights.expected_flows[places[0]][0])
    ratio = float(weights.load_ratio[places[0]][0])
    common = Estimate(
        estimand=estimand,
        what=f"p{as_given(percentile)} of all samples, weighted"
        if estimand == "pooled"
        else f"mean of the weighted p{as_given(percentile)} of batches of {BATCH} trials",
        estimate=None,
        low=None,
        high=None,
        confidence=confidence,
        trials=len(trials),
        samples=sum(one.values.size for one in trials),
        design_effect=None,
        convention="",
        method="",
        note="",
    )
    try:
        if estimand == "pooled":
            return _together(
                common,
                st.importance_quantile(cycles, percentile, mean_flows, confidence=confidence),
                ratio,
                load,
            )
        stop = metric.stop
        precision = stop.precision.value if stop and stop.precision.relative else PRECISION
        batched = st.batched_quantile(
            cycles, percentile, mean_flows, precision=precision, confidence=confidence
        )
        return _batched(common, batched, precision, ratio, load)
    except StatisticsError as error:
        return replace(common, note=str(error))


def cycle_of(responses: Array, log_likelihood: Array) -> st.Cycle:
    """Convert a tilted trial to a `Cycle`."""
    return st.Cycle(responses, np.exp(log_likelihood), np.empty(0))


def weighted_trial(responses: Array, log_likelihood: Array, expected_flows: Array) -> st.WeightedTrial:
    """Convert a tilted trial to the input of sequential rules."""
    return st.WeightedTrial(cycle_of(responses, log_likelihood), float(expected_flows[0]))


def _together(common: Estimate, found: st.ImportanceQuantile, ratio: float, load: float | None) -> Estimate:
    weights = _weights(found.diagnostics, ratio, load)
    return replace(
        common,
        estimate=found.estimate,
        low=found.low,
        high=found.high,
        method=found.method,
        note=_note(weights, found.diagnostics.warning),
        weights=weights,
    )


def _batched(
    common: Estimate, found: st.BatchedQuantile, precision: float, ratio: float, load: float | None
) -> Estimate:
    stop = found.stop
    weights = replace(_weights(found.diagnostics, ratio, load), batches=stop.n, batch=found.batch)
    forecast = f"{found.batch * stop.forecast} trials" if stop.forecast else "no number of trials"
    reached = (
        f"its rule stops at {found.batch * stop.n} trials"
        if stop.stopped
        else f"its rule has not stopped at {len(found.quantiles)} batches and expects {forecast}"
    )
    return replace(
        common,
        estimate=stop.mean,
        low=stop.low,
        high=stop.high,
        method=found.method,
        note=_note(weights, f"for {as_given(precision)} % {reached}; {found.warning}"),
        weights=weights,
    )


def _weights(found: st.WeightDiagnostics, ratio: float, load: float | None) -> WeightedTail:
    return WeightedTail(
        effective_trials=found.effective,
        largest_share=found.largest_share,
        mean_likelihood_ratio=found.total,
        load_ratio=ratio,
        true_load=None if load is None else load * ratio,
        batches=None,
        batch=None,
    )


def _note(weights: WeightedTail, warning: str) -> str:
    """Describe the diagnostics in words."""
    parts = [
        (
            f"the tail is worth {about(weights.effective_trials)} trials, "
            f"one of which has {write(100 * weights.largest_share, digits=2)} % of its weight"
        ),
        f"likelihood ratios have the mean {about(weights.mean_likelihood_ratio)} (1 is expected)",
    ]
    if weights.load_ratio > _MUCH or weights.load_ratio < 1 / _MUCH:
        parts.append(load_words(weights.load_ratio, weights.true_load))
    return "; ".join([*parts, *([warning] if warning else [])])


def load_words(ratio: float, true_load: float | None) -> str:
    """Describe the effect of fitted sizes on the load."""
    offered = (
        ""
        if true_load is None
        else f": arrivals set for {about(100 * true_load / ratio)} % offer {about(100 * true_load)} %"
    )
    return f"the fitted sizes have {about(ratio)} times the mean of the true ones{offered}"


def load_of(experiment: Experiment, factors: Mapping[str, Level]) -> float | None:
    """Return the requested load of a treatment, as a share of the capacity; None if it is sampled per trial."""
    load = dict(experiment.trial.workload_texts).get("load")
    if load is None or not names_in(load) <= set(factors):
        return None
    return parse_fraction(fill(load, factors))
