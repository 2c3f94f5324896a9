"""Widths of the intervals while an experiment runs: updated trial by trial, cheap to query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trialwise import statistics as st
from trialwise.experiment.model import Experiment, Metric
from trialwise.measurement.samples import Samples
from trialwise.store.records import TrialRow


@dataclass(frozen=True, slots=True)
class Width:
    """The widest two-sided interval of a metric's percentile over all treatments in the current series.

    `relative` is the half-width over the midpoint of the interval, None while `missing` more trials are needed.
    """

    metric: str
    percentile: float
    confidence: float
    relative: float | None
    missing: int


class LiveWidths:
    """Collects the metrics of finished trials and computes the widths of the intervals of the KPIs' percentiles."""

    def __init__(self, experiment: Experiment) -> None:
        self._metrics = [metric for metric in experiment.metrics if metric.kpis]
        self._values: dict[tuple[str, str], list[float]] = {}
        self._series: int | None = None

    def add(self, row: TrialRow, samples: Mapping[str, Samples]) -> None:
        """Add the report of a finished trial; warm-ups do not count."""
        if row.warmup:
            return
        if row.series != self._series:
            self._series = row.series
            self._values.clear()
        for metric in self._metrics:
            found = samples.get(metric.source.key)
            if found is not None and len(found.values):
                value = st.measure_of(found.values, metric.measure)
                self._values.setdefault((metric.name, row.treatment), []).append(value)

    def widths(self) -> list[Width]:
        """Return the current widths, one for each KPI of each metric."""
        return [
            _widest(metric, kpi.percentile, kpi.confidence, self._groups(metric))
            for metric in self._metrics
            for kpi in metric.kpis
        ]

    def _groups(self, metric: Metric) -> list[list[float]]:
        return [values for (name, _), values in self._values.items() if name == metric.name]


def _widest(metric: Metric, percentile: float, confidence: float, groups: list[list[float]]) -> Width:
    needed = st.samples_needed(percentile, confidence, sides="two")
    missing = max((needed - len(values) for values in groups), default=needed)
    relative: float | None = None
    if missing <= 0:
        relative = max(_relative_width(values, percentile, confidence) for values in groups)
    return Width(metric.name, percentile, confidence, relative, max(missing, 0))


def _relative_width(values: list[float], percentile: float, confidence: float) -> float:
    interval = st.percentile_interval(values, percentile, confidence)
    if interval.low is None or interval.high is None:
        return float("inf")
    middle = abs(interval.low + interval.high) / 2
    return (interval.high - interval.low) / 2 / middle if middle else float("inf")
