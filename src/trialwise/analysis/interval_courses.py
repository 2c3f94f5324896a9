"""How the intervals of treatments narrowed: each over the first trials, then over more of them, up to all that there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.results import Analysis, MetricAnalysis, TrialMetric
from trialwise.analysis.treatment_means import CONFIDENCE

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
    latest = analysis.series[-1] if analysis.series else ""
    trials = sorted(
        (trial for trial in found.trials if trial.series == latest and trial.value is not None),
        key=lambda trial: (trial.started or 0.0, trial.number),
    )
    kpi = found.metric.kpis[0] if found.metric.kpis else None
    if kpi is None and not all(mean.level == "trial" for mean in found.means):
        return
    percentile, confidence = (None, CONFIDENCE) if kpi is None else (kpi.percentile, kpi.confidence)
    for treatment in analysis.treatments[:MOST_COURSES]:
        if values := _values(trials, treatment):
            points = tuple(_point(values[:n], percentile, confidence) for n in _numbers(len(values)))
            name, unit = found.metric.name, found.metric.unit
            yield IntervalCourse(name, unit, treatment, percentile, confidence, points)


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
