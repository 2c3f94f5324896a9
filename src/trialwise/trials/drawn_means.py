"""Means of control variates over flow lists sampled for this purpose only."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trialwise.experiment.model import Metric
from trialwise.experiment.simulation import SimulationSource, SimulationTrial
from trialwise.experiment.traits import assumed
from trialwise.trials.fluid_lists import FluidLists, ListTable, Seeds
from trialwise.trials.list_statistics import ListControls, level_of, statistic_of, wants_level

Watch = Callable[[int, int, float], object]
"""Called with the number of lists sampled, their total, and the seconds left; an exception from it ends the sampling."""
MAX_LISTS = 1_000_000
MAX_STEPS = 4_000_000_000
"""About 20 s of one core, whatever a list costs."""
_STEPS_A_SECOND = 200_000_000
_FIRST = 64
"""Number of lists from which the cost of one is estimated."""
_SHARE_FOR_LEVELS = 0.02
"""Share of lists that provide the levels and enter no mean."""


def numbers_of_lists() -> list[int]:
    """Return how many lists there may be, from the most: halves of it, so that few numbers are kept."""
    return [MAX_LISTS >> place for place in range(7)]


def most_for(trials: int | None) -> int:
    """Return how many lists so many trials can use, the least of the numbers that is a thousand for each; all with None."""
    if trials is None:
        return MAX_LISTS
    return min((each for each in numbers_of_lists() if each >= 1000 * trials), default=MAX_LISTS)


def steps_in(seconds: float | None) -> float:
    """Return the steps that about take so many seconds of one core; `MAX_STEPS` with None."""
    return MAX_STEPS if seconds is None else seconds * _STEPS_A_SECOND


@dataclass(frozen=True, slots=True)
class ListMeans:
    """The controls of a metric, and their means over `lists` lists; no means over 0 lists."""

    controls: ListControls
    means: tuple[float, ...]
    lists: int


class _Sums:
    """Running sums over the lists that have a value of the metric, added chunk by chunk."""

    def __init__(self, controls: ListControls, place: int) -> None:
        """`place` is the index of the controls' statistics among those of all metrics."""
        self._controls = controls
        self._places = slice(place, place + len(controls.statistics))
        self._sums = np.zeros(len(controls.names))
        self._lists = 0

    def add(self, table: ListTable) -> None:
        """Add a chunk."""
        values = self._controls.values(table.features, table.found[:, self._places])
        kept = values[~np.isnan(values[:, 0])]
        self._sums += kept.sum(axis=0)
        self._lists += len(kept)

    def result(self) -> ListMeans:
        """Return the means so far."""
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
    most: int,
    steps: float,
) -> list[ListMeans]:
    """Compute the means of the controls of some metrics, all over the same lists.

    Their number follows from the cost of a list in flows and in events of the model, not from the clock, so that every machine
    samples the same ones. Levels come from a first part of the lists, which enters no mean.

    Parameters
    ----------
    lists, trial
        What samples lists, and the trial, with its placeholders filled in.
    seed
        Source of the seeds of all lists, none of which a trial has.
    fluid
        Use the fluid model, or only the features of the lists.
    most, steps
        At most so many lists, and about so many steps.

    Raises
    ------
    PlanError
        The workload is invalid.
    """
    random = np.random.Generator(np.random.PCG64DXSM(seed))
    cost = _cost(lists, trial, _seeds(random, _FIRST), fluid=fluid)
    count = int(min(most, max(2, steps / cost)))
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
    """Return the mean number of steps per list."""
    everything = SimulationSource("fct", phase="all")
    return float(lists.table(seeds, [statistic_of(everything, trial, "sum")] if fluid else []).steps.mean())


def _controls(
    metric: Metric, lists: FluidLists, trial: SimulationTrial, first: Seeds, *, fluid: bool
) -> ListControls:
    """Return the controls of a metric, with the level from the first lists if they need one."""
    source, level = assumed(metric.source, SimulationSource), None
    if fluid and wants_level(metric):
        level = level_of(metric, lists.samples(first, statistic_of(source, trial, None)))
    return ListControls.of(metric, trial, level, fluid=fluid)


def _seeds(random: np.random.Generator, count: int) -> Seeds:
    return random.integers(2**63, size=count, dtype=np.uint64)
