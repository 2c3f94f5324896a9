"""One value per trial and metric of a running experiment, by rounds, and quantities derived from them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Generic, TypeVar

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.conditions.timescales import convergence_requirements
from trialwise.analysis.estimation.weighted import is_tilted, weighted_trial
from trialwise.analysis.observations import after_warmup
from trialwise.arrays import Array
from trialwise.errors import StatisticsError
from trialwise.experiment.model import Experiment, Kpi, Metric
from trialwise.experiment.tilts import EXPECTED_FLOWS, LOG_LIKELIHOOD
from trialwise.measurement.samples import Samples
from trialwise.store.records import TrialRow

Round = tuple[int, int]
"""Series and round."""
Whole = Array | st.WeightedTrial
"""All data of a trial: its samples and, if it is tilted, their weights."""


_Unit = TypeVar("_Unit")


@dataclass(slots=True)
class _Column(Generic[_Unit]):
    """The values of one metric and treatment, with rounds and units, in plan order; `sizes` are numbers of samples.

    `revision` counts the trials that arrived out of order because they were repeated. `missing` are the rounds of valid trials
    without a value, because they had no flow of the metric.
    """

    rounds: list[Round] = field(default_factory=list[Round])
    values: list[_Unit] = field(default_factory=list[_Unit])
    units: list[str] = field(default_factory=list[str])
    sizes: list[int] = field(default_factory=list[int])
    revision: int = 0
    missing: set[Round] = field(default_factory=set[Round])

    def add(self, key: Round, value: _Unit, unit: str, size: int) -> None:
        """Insert a value at its round: at the end, except for a repeated trial."""
        place = bisect_right(self.rounds, key)
        self.revision += place != len(self.rounds)
        self.rounds.insert(place, key)
        self.values.insert(place, value)
        self.units.insert(place, unit)
        self.sizes.insert(place, size)

    def within(self, rounds: Sequence[Round]) -> slice:
        """Return the slice of the values of consecutive rounds."""
        if not rounds:
            return slice(0, 0)
        return slice(bisect_left(self.rounds, rounds[0]), bisect_right(self.rounds, rounds[-1]))


@dataclass(frozen=True, slots=True)
class Units:
    """The first units of a metric and treatment: one number each, or, if trials are pooled, all data of each.

    `rounds` are those of trials, `missing` those of valid trials without a value. A changed `revision` means that earlier units have
    changed, not only that more have arrived.
    """

    rounds: Sequence[Round]
    values: Sequence[float | Whole]
    sizes: Sequence[int]
    number: int
    revision: int
    missing: Collection[Round] = ()

    def at(self, place: int) -> tuple[float | Whole, int]:
        """Return a unit, from 0, and its number of samples."""
        return self.values[place], self.sizes[place]

    def follows(self, place: int) -> bool:
        """Return True if all trials since the previous one, or the start, were valid: values are missing only for want of flows."""
        series, number = self.rounds[place]
        before = number - 1
        while (series, before) in self.missing:
            before -= 1
        return before == 0 or (place > 0 and self.rounds[place - 1] == (series, before))


class RoundValues:
    """Collects the values of finished trials; warm-ups do not count. Requested rounds must be consecutive.

    The unit of inference is the boot if a reset reboots the machine, else the trial.
    """

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._by_boot = experiment.reset is not None and experiment.reset.reboot
        self._columns: defaultdict[tuple[str, str], _Column[float]] = defaultdict(_Column[float])
        self._pools: defaultdict[tuple[str, str], _Column[Whole]] = defaultdict(_Column[Whole])
        self._tilted = is_tilted(experiment)
        self._rounds: list[Round] = []

    @property
    def level(self) -> str:
        """The name of a unit."""
        return "boot" if self._by_boot else "trial"

    @property
    def rounds(self) -> list[Round]:
        """The rounds with a finished trial, in plan order."""
        return self._rounds

    @property
    def sources(self) -> list[str]:
        """The sources of all values that are read."""
        weights = [LOG_LIKELIHOOD, EXPECTED_FLOWS] if self._tilted else []
        return list(dict.fromkeys([*(metric.source.key for metric in self._experiment.metrics), *weights]))

    def add_many(self, trials: Sequence[tuple[TrialRow, Mapping[str, Samples]]]) -> None:
        """Add finished trials; values that can be computed for all at once are."""
        known: list[dict[str, float]] = [{} for _ in trials]
        for metric in self._experiment.metrics:
            if not _is_whole(metric) and metric.convergence is None:
                found = [samples.get(metric.source.key) for _, samples in trials]
                for place, value in _values_at_once(metric, found):
                    known[place][metric.name] = value
        for (row, samples), values in zip(trials, known, strict=True):
            self.add(row, samples, values)

    def add(
        self, row: TrialRow, samples: Mapping[str, Samples], known: Mapping[str, float] | None = None
    ) -> None:
        """Add a finished trial; one without a value of a metric does not count for that metric.

        `known` has values of metrics that need not be computed again.
        """
        if row.warmup:
            return
        key = row.series, row.round
        place = bisect_left(self._rounds, key)
        if self._rounds[place : place + 1] != [key]:
            self._rounds.insert(place, key)
        unit = f"{row.worker or ''}/{row.boot or ''}" if self._by_boot else f"{row.series}.{row.round}"
        for metric in self._experiment.metrics:
            if _is_whole(metric):
                self._add_whole(metric, row.treatment, key, unit, samples)
            else:
                self._add_value(metric, row.treatment, key, unit, samples, known or {})

    def _add_whole(
        self, metric: Metric, treatment: str, key: Round, unit: str, samples: Mapping[str, Samples]
    ) -> None:
        """Add all data of a trial for a metric; simulated trials may have no flows, other trials are then missing."""
        found = samples.get(metric.source.key)
        if found is None:
            return
        values, _ = after_warmup(self._experiment, metric, found.values, found.times)
        if (values.size or _may_be_missing(metric)) and np.isfinite(values).all():
            column = self._pools[metric.name, treatment]
            column.add(key, self._whole(values, samples), unit, values.size)

    def _add_value(
        self,
        metric: Metric,
        treatment: str,
        key: Round,
        unit: str,
        samples: Mapping[str, Samples],
        known: Mapping[str, float],
    ) -> None:
        """Add the single number of a trial for a metric, or record that it has none."""
        found = samples.get(metric.source.key)
        if found is None:
            return
        values, times = after_warmup(self._experiment, metric, found.values, found.times)
        if _may_be_missing(metric) and not values.size:
            self._columns[metric.name, treatment].missing.add(key)
            return
        value = known.get(metric.name)
        if value is None:
            value = _metric_value(metric, values, times)
        if value is not None:
            column = self._columns[metric.name, treatment]
            column.add(key, value, unit, values.size)

    def _whole(self, values: Array, samples: Mapping[str, Samples]) -> Whole:
        if not self._tilted:
            return values
        return weighted_trial(values, samples[LOG_LIKELIHOOD].values, samples[EXPECTED_FLOWS].values)

    def in_order(self, metric: Metric, treatment: str, rounds: Sequence[Round]) -> Units:
        """Return the units in these rounds, the first ones of the plan, in order; a boot has the mean of its trials."""
        name = metric.name, treatment
        column = (
            self._pools.get(name, _Column[Whole]())
            if _is_whole(metric)
            else self._columns.get(name, _Column[float]())
        )
        if self._by_boot:
            means = list(self.units(metric.name, treatment, rounds).values())
            return Units(column.rounds, means, [0] * len(means), len(means), column.revision)
        return Units(
            column.rounds,
            column.values,
            column.sizes,
            column.within(rounds).stop,
            column.revision,
            column.missing,
        )

    def units(self, metric: str, treatment: str, rounds: Sequence[Round]) -> dict[str, float]:
        """Return the mean of each unit in these rounds, in order."""
        column = self._columns.get((metric, treatment), _Column[float]())
        part = column.within(rounds)
        if not self._by_boot:
            return dict(zip(column.units[part], column.values[part], strict=True))
        found: dict[str, list[float]] = {}
        for unit, value in zip(column.units[part], column.values[part], strict=True):
            found.setdefault(unit, []).append(value)
        return {unit: sum(values) / len(values) for unit, values in found.items()}

    def influences(self, metric: Metric, treatment: str, rounds: Sequence[Round]) -> dict[str, float]:
        """Return each trial's contribution to the statistic of all samples in these rounds; the mean of these is the statistic.

        Raises
        ------
        StatisticsError
            There are fewer than two trials, or no samples.
        """
        column = self._pools.get((metric.name, treatment), _Column[Whole]())
        part = column.within(rounds)
        trials = [np.asarray(whole) for whole in column.values[part]]
        found: list[float] = st.pooled_influence(trials, metric.percentile).tolist()
        return dict(zip(column.units[part], found, strict=True))

    def samples_of_each(self, metric: str, treatment: str, rounds: Sequence[Round]) -> float:
        """Return the mean number of pooled samples per trial in these rounds; 0 if there are none."""
        column = self._pools.get((metric, treatment), _Column[Whole]())
        sizes = column.sizes[column.within(rounds)]
        return sum(sizes) / max(len(sizes), 1)

    def number(self, metric: str, treatment: str, rounds: Sequence[Round]) -> int:
        """Return the number of units in these rounds."""
        name = metric, treatment
        column = self._pools.get(name) or self._columns.get(name, _Column[float]())
        part = column.within(rounds)
        return len(set(column.units[part])) if self._by_boot else part.stop - part.start

    def kpis(self, metric: Metric, kpi: Kpi, treatment: str, rounds: Sequence[Round]) -> Array:
        """Return the KPI of each series in these rounds; series without one are omitted."""
        series: dict[int, list[Round]] = {}
        for key in rounds:
            series.setdefault(key[0], []).append(key)
        found = (
            _kpi_value(metric, kpi, list(self.units(metric.name, treatment, own).values()))
            for own in series.values()
        )
        return np.array([value for value in found if value is not None], dtype=np.float64)


def _is_whole(metric: Metric) -> bool:
    """Return True if trials are pooled, so that a single trial has no number of its own."""
    return metric.estimand != "per_trial"


def _may_be_missing(metric: Metric) -> bool:
    """Return True if a valid trial may have no samples of the metric."""
    return metric.source.traits.is_sample


def _values_at_once(metric: Metric, samples: Sequence[Samples | None]) -> Iterator[tuple[int, float]]:
    """Yield the finite values, by index, of trials that can be computed at once: samples without times, none missing."""
    places = [
        place
        for place, one in enumerate(samples)
        if one is not None and one.times is None and one.values.size and np.isfinite(one.values).all()
    ]
    chosen = [one.values for one in (samples[place] for place in places) if one is not None]
    if chosen:
        values: list[float] = st.trial_metric_values(chosen, metric.measure, metric.convention).tolist()
        yield from ((place, value) for place, value in zip(places, values, strict=True) if isfinite(value))


def _metric_value(metric: Metric, values: Array, times: Array | None) -> float | None:
    try:
        value = st.trial_metric(
            values,
            metric.measure,
            times=times,
            convergence=convergence_requirements(metric),
            convention=metric.convention,
        ).value
    except StatisticsError:
        return None
    return value if isfinite(value) else None


def _kpi_value(metric: Metric, kpi: Kpi, values: list[float]) -> float | None:
    try:
        return st.kpi(values, kpi.percentile, kpi.confidence, bound=kpi.bound, limits=metric.limits).value
    except StatisticsError:
        return None
