"""One value for each trial and metric of an experiment that runs, by rounds, and what is made of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

import numpy as np
import numpy.typing as npt

from trialwise import statistics as st
from trialwise.analysis.observations import after_warmup
from trialwise.analysis.timescales import convergence_requirements
from trialwise.experiment.model import Experiment, Kpi, Metric
from trialwise.measurement.samples import Samples
from trialwise.store.records import TrialRow

Array = npt.NDArray[np.float64]
Round = tuple[int, int]
"""Series and round."""


@dataclass(slots=True)
class _Column:
    """The values of one metric and treatment, with their rounds and units, in plan order."""

    rounds: list[Round] = field(default_factory=list[Round])
    values: list[float] = field(default_factory=list[float])
    units: list[str] = field(default_factory=list[str])

    def add(self, key: Round, value: float, unit: str) -> None:
        """Put a value where its round belongs: at the end, but for a trial that is tried again."""
        place = bisect_right(self.rounds, key)
        self.rounds.insert(place, key)
        self.values.insert(place, value)
        self.units.insert(place, unit)

    def within(self, rounds: Sequence[Round]) -> slice:
        """Where the values of neighbouring rounds stand."""
        if not rounds:
            return slice(0, 0)
        return slice(bisect_left(self.rounds, rounds[0]), bisect_right(self.rounds, rounds[-1]))


class RoundValues:
    """Collects what finished trials gave; warm-ups do not count. Rounds that are asked for are neighbours.

    The unit of inference is the boot where a reset boots the machine, else the trial.
    """

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._by_boot = experiment.reset is not None and experiment.reset.reboot
        self._columns: dict[tuple[str, str], _Column] = {}
        self._rounds: list[Round] = []

    @property
    def level(self) -> str:
        """What a unit is called."""
        return "boot" if self._by_boot else "trial"

    @property
    def rounds(self) -> list[Round]:
        """Those with a finished trial, in plan order."""
        return self._rounds

    def add(self, row: TrialRow, samples: Mapping[str, Samples]) -> None:
        """Take in a finished trial; one without a value of a metric does not count for that metric."""
        if row.warmup:
            return
        key = row.series, row.round
        place = bisect_left(self._rounds, key)
        if self._rounds[place : place + 1] != [key]:
            self._rounds.insert(place, key)
        unit = f"{row.worker or ''}/{row.boot or ''}" if self._by_boot else f"{row.series}.{row.round}"
        for metric in self._experiment.metrics:
            value = _metric_value(self._experiment, metric, samples.get(metric.source.key))
            if value is not None:
                column = self._columns.setdefault((metric.name, row.treatment), _Column())
                column.add(key, value, unit)

    def units(self, metric: str, treatment: str, rounds: Sequence[Round]) -> dict[str, float]:
        """The mean of each unit in these rounds, in their order."""
        column = self._columns.get((metric, treatment), _Column())
        part = column.within(rounds)
        if not self._by_boot:
            return dict(zip(column.units[part], column.values[part], strict=True))
        found: dict[str, list[float]] = {}
        for unit, value in zip(column.units[part], column.values[part], strict=True):
            found.setdefault(unit, []).append(value)
        return {unit: sum(values) / len(values) for unit, values in found.items()}

    def number(self, metric: str, treatment: str, rounds: Sequence[Round]) -> int:
        """How many units there are in these rounds."""
        column = self._columns.get((metric, treatment), _Column())
        part = column.within(rounds)
        return len(set(column.units[part])) if self._by_boot else part.stop - part.start

    def kpis(self, metric: Metric, kpi: Kpi, treatment: str, rounds: Sequence[Round]) -> Array:
        """The KPI of each series in these rounds; those without one are left out."""
        series: dict[int, list[Round]] = {}
        for key in rounds:
            series.setdefault(key[0], []).append(key)
        found = (
            _kpi_value(metric, kpi, list(self.units(metric.name, treatment, own).values()))
            for own in series.values()
        )
        return np.array([value for value in found if value is not None], dtype=np.float64)


def _metric_value(experiment: Experiment, metric: Metric, samples: Samples | None) -> float | None:
    if samples is None:
        return None
    values, times = after_warmup(experiment, metric, samples.values, samples.times)
    try:
        value = st.trial_metric(
            values,
            metric.measure,
            times=times,
            convergence=convergence_requirements(metric),
            convention=metric.convention,
        ).value
    except ValueError:
        return None
    return value if isfinite(value) else None


def _kpi_value(metric: Metric, kpi: Kpi, values: list[float]) -> float | None:
    try:
        return st.kpi(values, kpi.percentile, kpi.confidence, bound=kpi.bound, limits=metric.limits).value
    except ValueError:
        return None
