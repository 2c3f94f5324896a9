"""TriScale's three timescales: metrics of trials, KPIs of series, variability over all series."""

from __future__ import annotations

from collections.abc import Sequence

from trialwise import statistics as st
from trialwise.analysis.distributions import Distribution, distribution
from trialwise.analysis.observations import Observation
from trialwise.analysis.results import (
    MetricAnalysis,
    SeriesIndependence,
    SeriesKpi,
    SeriesVariability,
    TrialMetric,
)
from trialwise.analysis.traces import trial_traces
from trialwise.analysis.treatment_means import treatment_mean
from trialwise.errors import StatisticsError
from trialwise.experiment.model import Kpi, Method, Metric, Variability
from trialwise.numbers import counted


def analyse_metric(metric: Metric, observations: Sequence[Observation], method: Method) -> MetricAnalysis:
    """Analyse one metric on the three timescales."""
    trials = trial_metrics(metric, observations, method)
    groups = _by_series(trials)
    kpis = tuple(
        _series_kpi(metric, kpi, treatment, series, members, method)
        for kpi in metric.kpis
        for (treatment, series), members in groups.items()
    )
    means = [
        treatment_mean(treatment, _values(members), series=series)
        for (treatment, series), members in groups.items()
        if members and not metric.kpis
    ]
    return MetricAnalysis(
        metric=metric,
        trials=trials,
        independence=tuple(_independence(metric, *key, members, method) for key, members in groups.items()),
        kpis=kpis,
        variability=tuple(_scores(metric, kpis, trials, method)),
        distributions=tuple(
            _distribution(metric, *key, members) for key, members in groups.items() if members
        ),
        traces=trial_traces(metric, observations, [trial.convergence for trial in trials], method),
        means=tuple(means),
    )


def _distribution(
    metric: Metric, treatment: str, series: str, members: Sequence[TrialMetric]
) -> Distribution:
    confidence = metric.kpis[0].confidence if metric.kpis else 95.0
    return distribution(treatment, series, _values(members), confidence)


# One trial


def trial_metrics(
    metric: Metric, observations: Sequence[Observation], method: Method
) -> tuple[TrialMetric, ...]:
    """Compute `trial_metric` of each observation; many at once if only the measure is needed."""
    values = _values_at_once(metric, observations)
    if values is None:
        return tuple(trial_metric(metric, observation, method) for observation in observations)
    return tuple(
        _trial(observation, value=value) for observation, value in zip(observations, values, strict=True)
    )


def _values_at_once(metric: Metric, observations: Sequence[Observation]) -> list[float] | None:
    """Compute values at once; None if a convergence is tested, or a trial may have no value."""
    if metric.convergence is not None or any(one.times is not None for one in observations):
        return None
    try:
        values = st.trial_metric_values(
            [one.values for one in observations], metric.measure, metric.convention
        )
    except StatisticsError:
        return None
    return values.tolist()


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


def _by_series(trials: Sequence[TrialMetric]) -> dict[tuple[str, str], list[TrialMetric]]:
    """Group the trials with a value by (treatment, series), in the order in which they ran."""
    groups: dict[tuple[str, str], list[TrialMetric]] = {}
    for trial in trials:
        groups.setdefault((trial.treatment, trial.series), [])
        if trial.value is not None:
            groups[trial.treatment, trial.series].append(trial)
    for members in groups.values():
        members.sort(key=lambda trial: (trial.started is None, trial.started or 0.0, trial.number))
    return groups


# One series


def _independence(
    metric: Metric, treatment: str, series: str, members: Sequence[TrialMetric], method: Method
) -> SeriesIndependence:
    try:
        result = st.independence(_values(members), limits=metric.limits, method=method)
    except StatisticsError as error:
        return SeriesIndependence(treatment, series, len(members), None, str(error))
    return SeriesIndependence(treatment, series, len(members), result, result.reason or None)


def _series_kpi(
    metric: Metric, kpi: Kpi, treatment: str, series: str, members: Sequence[TrialMetric], method: Method
) -> SeriesKpi:
    n = len(members)
    try:
        result = st.kpi(
            _values(members),
            kpi.percentile,
            kpi.confidence,
            bound=kpi.bound,
            limits=metric.limits,
            method=method,
        )
    except StatisticsError as error:
        return SeriesKpi(kpi, treatment, series, n, None, descriptive=True, note=str(error))
    notes = [result.note] if result.note else []
    unsteady = sum(trial.converged is False for trial in members)
    if unsteady:
        notes.append(f"{unsteady} of {counted(n, 'trial')} did not converge: run longer or cut the start-up")
    descriptive = result.independent is False or unsteady > 0
    return SeriesKpi(kpi, treatment, series, n, result, descriptive, "; ".join(notes) or None)


def _values(members: Sequence[TrialMetric]) -> list[float]:
    return [trial.value for trial in members if trial.value is not None]


# All series


def _scores(
    metric: Metric, kpis: Sequence[SeriesKpi], trials: Sequence[TrialMetric], method: Method
) -> list[SeriesVariability]:
    """Compute the scores of all KPIs; without KPIs, of the values, each as the KPI of a series."""
    score = metric.variability
    if score is None:
        return []
    if not metric.kpis:
        given: dict[str, list[float]] = {}
        for trial in trials:
            if trial.value is not None:
                given.setdefault(trial.treatment, []).append(trial.value)
        return [
            _score(metric, score, None, treatment, values, method, descriptive=False)
            for treatment, values in given.items()
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
