"""The changes between versions while they run: what is known so far, for watching only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trialwise import statistics as st
from trialwise.analysis.versions.looks import VERSION, AbPlan
from trialwise.errors import StatisticsError
from trialwise.experiment.model import Metric
from trialwise.measurement.samples import Samples
from trialwise.store.records import TrialRow

_LEAST = 3
"""Trials of each side before an interval is shown."""


@dataclass(frozen=True, slots=True)
class LiveChange:
    """The change of a metric so far in percent of the first version, with its interval at `confidence` percent."""

    command: str
    metric: str
    percent: st.Ratio
    confidence: float


class LiveChanges:
    """Collects the values of finished trials, and computes the interval of each change; nothing is decided by it."""

    def __init__(self, metrics: Sequence[Metric], plan: AbPlan) -> None:
        self._metrics = metrics
        self._plan = plan
        self._values: dict[tuple[str, str], list[float]] = {}

    def add(self, row: TrialRow, samples: Mapping[str, Samples]) -> None:
        """Add the report of a finished trial; warm-ups do not count."""
        if row.warmup:
            return
        for metric in self._metrics:
            found = samples.get(metric.source.key)
            if found is not None and len(found.values):
                value = float(st.measure_of(found.values, metric.measure))
                self._values.setdefault((metric.name, str(row.factors[VERSION])), []).append(value)

    def widths(self) -> list[LiveChange]:
        """Return the current changes, each with its interval by itself."""
        first, *others = self._plan.versions
        found = [self._change(metric.name, first, other) for metric in self._metrics for other in others]
        return [one for one in found if one is not None]

    def _change(self, metric: str, first: str, other: str) -> LiveChange | None:
        a, b = (self._values.get((metric, version), []) for version in (first, other))
        if min(len(a), len(b)) < _LEAST:
            return None
        try:
            percent = st.difference(a, b, confidence=self._plan.each).percent
        except StatisticsError:
            return None
        return LiveChange(self._plan.name_of(other), metric, percent, self._plan.each)
