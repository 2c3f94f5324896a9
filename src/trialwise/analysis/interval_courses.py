"""How the intervals of treatments narrowed: each over the first trials, then over more of them, up to all that there are.

`interval_courses` takes an analysis. `latest_courses` takes rows of the ledger: the same courses for a hundredth of the work, but only
of metrics with a KPI and one value a trial.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.estimation.estimates import is_estimated
from trialwise.analysis.results import Analysis, MetricAnalysis
from trialwise.analysis.treatment_means import CONFIDENCE
from trialwise.analysis.trial_columns import TrialMetric
from trialwise.experiment.model import Experiment, Metric
from trialwise.store.ledger import Ledger

MOST_POINTS = 24
"""Numbers of trials at which an interval is computed."""
MOST_COURSES = 40
"""Courses of one metric."""


@dataclass(frozen=True, slots=True)
class IntervalPoint:
    """The two-sided interval over the first `n` trials, in the unit of the metric; None where n is too small for one."""

    n: int
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class IntervalCourse:
    """The course of one interval: `percentile` is None for the mean."""

    metric: str
    unit: str
    treatment: str
    percentile: float | None
    confidence: float
    points: tuple[IntervalPoint, ...]


def interval_courses(analysis: Analysis) -> tuple[IntervalCourse, ...]:
    """Return the courses of the intervals that `run` shows beside its bar, and of the means of metrics without KPIs.

    Each covers the latest series, in the order in which its trials began. Means of more than trials, such as processes, have none.
    """
    return tuple(course for found in analysis.metrics for course in _courses(found, analysis))


def _courses(found: MetricAnalysis, analysis: Analysis) -> Iterator[IntervalCourse]:
    known = [trial for trial in found.trials if trial.value is not None]
    trials = sorted(known, key=lambda trial: (trial.started or 0.0, trial.number))
    if trials:
        latest = max(known, key=lambda trial: trial.number).series
        trials = [trial for trial in trials if trial.series == latest]
    kpi = found.metric.kpis[0] if found.metric.kpis else None
    if kpi is None and not all(mean.level == "trial" for mean in found.means):
        return
    for treatment in analysis.treatments[:MOST_COURSES]:
        if values := _values(trials, treatment):
            yield _course(found.metric, treatment, values)


def _course(metric: Metric, treatment: str, values: Sequence[float]) -> IntervalCourse:
    kpi = metric.kpis[0] if metric.kpis else None
    percentile, confidence = (None, CONFIDENCE) if kpi is None else (kpi.percentile, kpi.confidence)
    points = tuple(_point(values[:n], percentile, confidence) for n in _numbers(len(values)))
    return IntervalCourse(metric.name, metric.unit, treatment, percentile, confidence, points)


def latest_courses(experiment: Experiment, ledger: Ledger) -> dict[str, tuple[IntervalCourse, ...]]:
    """Return the courses of the metrics that have a KPI and one value a trial, by the names of the metrics."""
    found: dict[str, tuple[IntervalCourse, ...]] = {}
    if experiment.trial.traits.computed:
        return found  # in plan order, and pooled
    for metric in experiment.metrics:
        if not metric.kpis or is_estimated(metric):
            continue
        rows = ledger.latest_values(metric.source.key)
        if not any(in_file for *_, in_file in rows):
            values = _latest(experiment, rows)
            found[metric.name] = tuple(_course(metric, *each) for each in list(values.items())[:MOST_COURSES])
    return found


def _latest(
    experiment: Experiment, rows: Sequence[tuple[str, str, int | None, float | None, bool]]
) -> dict[str, list[float]]:
    """Return the values by treatment in the latest environment of a series, without treatments that left the file."""
    epoch = max((epoch for _, _, epoch, _, _ in rows if epoch is not None), default=None)
    factors = {name: json.loads(text) for name, text in {name: text for name, text, *_ in rows}.items()}
    kept = {name for name, levels in factors.items() if experiment.includes(levels)}
    found: dict[str, list[float]] = {}
    for name, _, when, value, _ in rows:
        if value is not None and name in kept and (epoch is None or when is None or when == epoch):
            found.setdefault(name, []).append(value)

    def place(name: str) -> list[int]:
        return [factor.levels.index(factors[name][factor.name]) for factor in experiment.fixed_factors]

    return {name: found[name] for name in sorted(found, key=place)}


def _values(trials: Sequence[TrialMetric], treatment: str) -> list[float]:
    return [trial.value for trial in trials if trial.treatment == treatment and trial.value is not None]


def _numbers(n: int) -> list[int]:
    """Return at most `MOST_POINTS` numbers of trials up to n, denser where intervals change more."""
    return sorted({round(each) for each in np.geomspace(min(2, n), n, MOST_POINTS)})


def _point(values: Sequence[float], percentile: float | None, confidence: float) -> IntervalPoint:
    if percentile is not None:
        found = st.percentile_interval(values, percentile, confidence)
        return IntervalPoint(len(values), found.low, found.high)
    if len(values) < 2:
        return IntervalPoint(len(values), None, None)
    mean = st.mean_interval(values, confidence=confidence)
    return IntervalPoint(len(values), mean.low, mean.high)
