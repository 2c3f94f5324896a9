"""TriScale's three timescales: metrics of trials, KPIs of series, variability over all series."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from trialwise import statistics as st
from trialwise.analysis.distributions import Distribution, distribution
from trialwise.analysis.observations import Observation
from trialwise.analysis.results import (
    MetricAnalysis,
    SeriesIndependence,
    SeriesKpi,
    SeriesVariability,
)
from trialwise.analysis.traces import trial_traces
from trialwise.analysis.treatment_means import treatment_mean
from trialwise.analysis.trial_columns import Observed, TrialMetric, Trials
from trialwise.arrays import Array
from trialwise.errors import StatisticsError
from trialwise.experiment.model import Kpi, Method, Metric, Variability
from trialwise.numbers import counted


def analyse_metric(metric: Metric, observations: Sequence[Observation], method: Method) -> MetricAnalysis:
    """Analyse one metric on the three timescales."""
    trials = trial_metrics(metric, observations, method)
    groups = {key: _Members(trials, places) for key, places in trials.in_series().items()}
    kpis = tuple(
        _series_kpi(metric, kpi, treatment, series, members, method)
        for kpi in metric.kpis
        for (treatment, series), members in groups.items()
    )
    means = [
        treatment_mean(treatment, members.values, series=series)
        for (treatment, series), members in groups.items()
        if members.n and not metric.kpis
    ]
    return MetricAnalysis(
        metric=metric,
        trials=trials,
        independence=tuple(_independence(metric, *key, members, method) for key, members in groups.items()),
        kpis=kpis,
        variability=tuple(_scores(metric, kpis, trials, method)),
        distributions=tuple(
            _distribution(metric, *key, members) for key, members in groups.items() if members.n
        ),
        traces=trial_traces(metric, observations, trials, method),
        means=tuple(means),
    )


class _Members:
    """Trials with a value of one treatment in one series, in the order in which they ran."""

    def __init__(self, trials: Trials, places: npt.NDArray[np.intp]) -> None:
        self.n = len(places)
        self.values: list[float] = trials.values[places].tolist()
        own = set(places.tolist()) if trials.tested else set[int]()
        self.unsteady = sum(
            converged is False for place, (converged, _) in trials.tested.items() if place in own
        )


def _distribution(metric: Metric, treatment: str, series: str, members: _Members) -> Distribution:
    confidence = metric.kpis[0].confidence if metric.kpis else 95.0
    return distribution(treatment, series, members.values, confidence)


# One trial


def trial_metrics(metric: Metric, observations: Sequence[Observation], method: Method) -> Trials:
    """Compute `trial_metric` of each observation; many at once if only the measure is needed."""
    values = _values_at_once(metric, observations)
    if values is None:
        return Trials.of(trial_metric(metric, observation, method) for observation in observations)
    if isinstance(observations, Observed):
        return Trials(observations.places, np.diff(observations.bounds), values, {}, {})
    return Trials.of(
        _trial(observation, value=value)
        for observation, value in zip(observations, values.tolist(), strict=True)
    )


def _values_at_once(metric: Metric, observations: Sequence[Observation]) -> Array | None:
    """Compute values at once; None if a convergence is tested, or a trial may have no value."""
    if metric.convergence is not None or _are_timed(observations):
        return None
    try:
        return st.trial_metric_values(_samples(observations), metric.measure, metric.convention)
    except StatisticsError:
        return None


def _are_timed(observations: Sequence[Observation]) -> bool:
    if isinstance(observations, Observed):
        return observations.times is not None
    return any(one.times is not None for one in observations)


def _samples(observations: Sequence[Observation]) -> st.TrialSamples | list[Array]:
    if isinstance(observations, Observed):
        return st.TrialSamples(observations.values, np.diff(observations.bounds))
    return [one.values for one in observations]


def trial_metric(metric: Metric, observation: Observation, method: Method) -> TrialMetric:
    """Reduce the samples of one trial to its metric, after the convergence test if requested."""
    value, converged, convergence, reason = None, None, None, None
    try:
        result = st.trial_metric(
            observation.values,
            metric.measure,
            times=observation.times,
            convergence=convergence_requirements(metric),
            method=method,
            convention=metric.convention,
        )
        value, converged, convergence = result.value, result.converged, result.convergence
    except StatisticsError as error:
        reason = str(error)
    return _trial(observation, value=value, converged=converged, convergence=convergence, reason=reason)


def _trial(
    observation: Observation,
    *,
    value: float | None,
    converged: bool | None = None,
    convergence: st.Convergence | None = None,
    reason: str | None = None,
) -> TrialMetric:
    return TrialMetric(
        number=observation.number,
        attempt=observation.attempt,
        treatment=observation.treatment,
        factors=observation.factors,
        series=observation.series,
        round=observation.round,
        position=observation.position,
        started=observation.started,
        samples=len(observation.values),
        value=value,
        converged=converged,
        convergence=convergence,
        reason=reason,
    )


def convergence_requirements(metric: Metric) -> dict[str, object] | None:
    """Return the options for `st.trial_metric`; None if convergence is not tested."""
    if metric.convergence is None:
        return None
    return {
        "confidence": metric.convergence.confidence,
        "tolerance": metric.convergence.tolerance,
        "limits": metric.limits,
    }


# One series


def _independence(
    metric: Metric, treatment: str, series: str, members: _Members, method: Method
) -> SeriesIndependence:
    try:
        result = st.independence(members.values, limits=metric.limits, method=method)
    except StatisticsError as error:
        return SeriesIndependence(treatment, series, members.n, None, str(error))
    return SeriesIndependence(treatment, series, members.n, result, result.reason or None)


def _series_kpi(
    metric: Metric, kpi: Kpi, treatment: str, series: str, members: _Members, method: Method
) -> SeriesKpi:
    n = members.n
    try:
        result = st.kpi(
            members.values,
            kpi.percentile,
            kpi.confidence,
            bound=kpi.bound,
            limits=metric.limits,
            method=method,
        )
    except StatisticsError as error:
        return SeriesKpi(kpi, treatment, series, n, None, descriptive=True, note=str(error))
    notes = [result.note] if result.note else []
    unsteady = members.unsteady
    if unsteady:
        notes.append(f"{unsteady} of {counted(n, 'trial')} did not converge: run longer or cut the start-up")
    descriptive = result.independent is False or unsteady > 0
    return SeriesKpi(kpi, treatment, series, n, result, descriptive, "; ".join(notes) or None)


# All series


def _scores(
    metric: Metric, kpis: Sequence[SeriesKpi], trials: Trials, method: Method
) -> list[SeriesVariability]:
    """Compute the scores of all KPIs; without KPIs, of the values, each as the KPI of a series."""
    score = metric.variability
    if score is None:
        return []
    if not metric.kpis:
        return [
            _score(metric, score, None, treatment, values, method, descriptive=False)
            for treatment, values in trials.by_treatment().items()
        ]
    groups: dict[tuple[Kpi, str], list[SeriesKpi]] = {}
    for kpi in kpis:
        groups.setdefault((kpi.objective, kpi.treatment), []).append(kpi)
    return [
        _score(
            metric,
            score,
            *key,
            [member.result.value for member in members if member.result and member.result.value is not None],
            method,
            descriptive=any(member.descriptive for member in members),
        )
        for key, members in groups.items()
    ]


def _score(
    metric: Metric,
    score: Variability,
    kpi: Kpi | None,
    treatment: str,
    values: Sequence[float],
    method: Method,
    *,
    descriptive: bool,
) -> SeriesVariability:
    if not values:
        return SeriesVariability(
            score, kpi, treatment, 0, None, descriptive=True, note="no series has this KPI yet"
        )
    try:
        result = st.variability(
            values, score.percentile, score.confidence, limits=metric.limits, method=method
        )
    except StatisticsError as error:
        return SeriesVariability(score, kpi, treatment, len(values), None, descriptive=True, note=str(error))
    doubted = descriptive or result.independent is False
    return SeriesVariability(score, kpi, treatment, len(values), result, doubted, result.note or None)
