"""The means of control variates over flow lists that are drawn for nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trialwise.experiment.model import Metric
from trialwise.experiment.simulation import SimulationSource, SimulationTrial
from trialwise.trials.fluid_lists import FluidLists, ListTable, Seeds
from trialwise.trials.list_statistics import ListControls, level_of, statistic_of, wants_level

Watch = Callable[[int, int, float], object]
"""Told how many lists of how many are drawn, and how many seconds the others will take; what it raises ends the drawing."""
MAX_LISTS = 1_000_000
MAX_STEPS = 4_000_000_000
"""Some 20 s of one core, whatever a list costs."""
_FIRST = 64
"""Lists that tell what one costs."""
_SHARE_FOR_LEVELS = 0.02
"""Of all lists: those that levels are taken from, and that are in no mean."""


@dataclass(frozen=True, slots=True)
class ListMeans:
    """The controls of a metric, and their means over so many lists; none over none."""

    controls: ListControls
    means: tuple[float, ...]
    lists: int


class _Sums:
    """What lists add up to, chunk by chunk, of the lists that have a value of the metric."""

    def __init__(self, controls: ListControls, place: int) -> None:
        """The statistics of the controls stand at `place` among those of all metrics."""
        self._controls = controls
        self._places = slice(place, place + len(controls.statistics))
        self._sums = np.zeros(len(controls.names))
        self._lists = 0

    def add(self, table: ListTable) -> None:
        """Take a chunk in."""
        values = self._controls.values(table.features, table.found[:, self._places])
        kept = values[~np.isnan(values[:, 0])]
        self._sums += kept.sum(axis=0)
        self._lists += len(kept)

    def result(self) -> ListMeans:
        """The means so far."""
        means = tuple((self._sums / self._lists).tolist()) if self._lists else ()
        return ListMeans(self._controls, means, self._lists)


def drawn_means(
    lists: FluidLists,
    trial: SimulationTrial,
    metrics: Sequence[Metric],
    seed: int,
    *,
    fluid: bool,
    watch: Watch | None = None,
) -> list[ListMeans]:
    """The means of the controls of some metrics, all over the same lists.

    How many there are is decided by what a list costs in flows and in looks of the model, not by the clock, so that any machine
    draws the same ones. Levels are of a first part of the lists, which is in no mean.

    Parameters
    ----------
    lists, trial
        What draws, and the trial, whose placeholders are filled.
    seed
        Of the seeds of all lists; no trial has one of them.
    fluid
        With the fluid model, or by the features of the lists alone.

    Raises
    ------
    PlanError
        The workload cannot be as it is written.
    """
    random = np.random.Generator(np.random.PCG64DXSM(seed))
    cost = _cost(lists, trial, _seeds(random, _FIRST), fluid=fluid)
    count = int(min(MAX_LISTS, max(2, MAX_STEPS / cost)))
    first = _seeds(random, max(2, int(_SHARE_FOR_LEVELS * count)))
    controls = [_controls(metric, lists, trial, first, fluid=fluid) for metric in metrics]
    statistics = [statistic for each in controls for statistic in each.statistics]
    places = np.cumsum([0, *(len(each.statistics) for each in controls)]).tolist()
    sums = [_Sums(each, place) for each, place in zip(controls, places, strict=False)]
    begun, done = time.monotonic(), 0
    for table in lists.chunks(_seeds(random, count), statistics, cost):
        for each in sums:
            each.add(table)
        done += len(table.features)
        if watch is not None:
            watch(done, count, (time.monotonic() - begun) / done * (count - done))
    return [each.result() for each in sums]


def _cost(lists: FluidLists, trial: SimulationTrial, seeds: Seeds, *, fluid: bool) -> float:
    """The steps that a list takes in the mean."""
    everything = SimulationSource("fct", phase="all")
    return float(lists.table(seeds, [statistic_of(everything, trial, "sum")] if fluid else []).steps.mean())


def _controls(
    metric: Metric, lists: FluidLists, trial: SimulationTrial, first: Seeds, *, fluid: bool
) -> ListControls:
    """The controls of a metric, with the level of the first lists where they want one."""
    source = metric.source
    level = None
    if fluid and wants_level(metric) and isinstance(source, SimulationSource):
        level = level_of(metric, lists.samples(first, statistic_of(source, trial, None)))
    return ListControls.of(metric, trial, level, fluid=fluid)


def _seeds(random: np.random.Generator, count: int) -> Seeds:
    return random.integers(2**63, size=count, dtype=np.uint64)
