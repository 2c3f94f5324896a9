"""One value for each trial and metric of an experiment that runs, by rounds, and what is made of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Generic, TypeVar

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


_Unit = TypeVar("_Unit")


@dataclass(slots=True)
class _Column(Generic[_Unit]):
    """What one metric and treatment gave, with its rounds and units, in plan order; `sizes` are numbers of samples.

    `revision` counts the trials that did not come in this order: those that were tried again.
    """

    rounds: list[Round] = field(default_factory=list[Round])
    values: list[_Unit] = field(default_factory=list[_Unit])
    units: list[str] = field(default_factory=list[str])
    sizes: list[int] = field(default_factory=list[int])
    revision: int = 0

    def add(self, key: Round, value: _Unit, unit: str, size: int) -> None:
        """Put a value where its round belongs: at the end, but for a trial that is tried again."""
        place = bisect_right(self.rounds, key)
        self.revision += place != len(self.rounds)
        self.rounds.insert(place, key)
        self.values.insert(place, value)
        self.units.insert(place, unit)
        self.sizes.insert(place, size)

    def within(self, rounds: Sequence[Round]) -> slice:
        """Where the values of neighbouring rounds stand."""
        if not rounds:
            return slice(0, 0)
        return slice(bisect_left(self.rounds, rounds[0]), bisect_right(self.rounds, rounds[-1]))


@dataclass(frozen=True, slots=True)
class Units:
    """The first units of a metric and treatment: one number for each, or, where the metric is pooled, all its samples.

    Another `revision` than before says that earlier units have changed, not only that more have come.
    """

    values: Sequence[float | Array]
    sizes: Sequence[int]
    number: int
    revision: int

    def at(self, place: int) -> tuple[float | Array, int]:
        """A unit, from 0, and how many samples it is of."""
        return self.values[place], self.sizes[place]


class RoundValues:
    """Collects what finished trials gave; warm-ups do not count. Rounds that are asked for are neighbours.

    The unit of inference is the boot where a reset boots the machine, else the trial.
    """

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._by_boot = experiment.reset is not None and experiment.reset.reboot
        self._columns: dict[tuple[str, str], _Column[float]] = {}
        self._pools: dict[tuple[str, str], _Column[Array]] = {}
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
            found = samples.get(metric.source.key)
            if found is None:
                continue
            values, times = after_warmup(self._experiment, metric, found.values, found.times)
            name = metric.name, row.treatment
            if metric.estimand == "pooled":
                if values.size and np.isfinite(values).all():
                    self._pools.setdefault(name, _Column[Array]()).add(key, values, unit, values.size)
            elif (value := _metric_value(metric, values, times)) is not None:
                self._columns.setdefault(name, _Column[float]()).add(key, value, unit, values.size)

    def in_order(self, metric: Metric, treatment: str, rounds: Sequence[Round]) -> Units:
        """The units in these rounds, the first ones of the plan, in their order; a boot has the mean of its trials."""
        name = metric.name, treatment
        pooled = metric.estimand == "pooled"
        column = (
            self._pools.get(name, _Column[Array]()) if pooled else self._columns.get(name, _Column[float]())
        )
        if self._by_boot:
            means = list(self.units(metric.name, treatment, rounds).values())
            return Units(means, [0] * len(means), len(means), column.revision)
        return Units(column.values, column.sizes, column.within(rounds).stop, column.revision)

    def units(self, metric: str, treatment: str, rounds: Sequence[Round]) -> dict[str, float]:
        """The mean of each unit in these rounds, in their order."""
        column = self._columns.get((metric, treatment), _Column[float]())
        part = column.within(rounds)
        if not self._by_boot:
            return dict(zip(column.units[part], column.values[part], strict=True))
        found: dict[str, list[float]] = {}
        for unit, value in zip(column.units[part], column.values[part], strict=True):
            found.setdefault(unit, []).append(value)
        return {unit: sum(values) / len(values) for unit, values in found.items()}

    def number(self, metric: str, treatment: str, rounds: Sequence[Round]) -> int:
        """How many units there are in these rounds."""
        column = self._columns.get((metric, treatment), _Column[float]())
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


def _metric_value(metric: Metric, values: Array, times: Array | None) -> float | None:
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
