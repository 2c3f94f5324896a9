"""Flow lists through a cheap engine one by one, for a control variate that no batch computes."""

from __future__ import annotations

import dataclasses
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from trialwise.arrays import Array
from trialwise.errors import PlanError, TrialError
from trialwise.experiment.engines import ENGINES
from trialwise.experiment.kept_lists import KeptLists
from trialwise.experiment.model import Metric
from trialwise.experiment.simulation import SimulationSource, SimulationTrial
from trialwise.experiment.traits import assumed
from trialwise.trials.list_statistics import level_of
from trialwise.trials.simulating import check_settings, simulate
from trialwise.trials.simulation_samples import metric_samples

LISTS = 400
"""Lists behind the mean of such a control, unless more are asked for."""
FIRST = 100
"""Lists before them, which give the levels of the controls and enter no mean."""
PILOT = 50
"""Lists of a pilot, which trials' own engine simulates too."""
LEAST = 50
"""Lists behind the mean of such a control at least, where their number follows from what they gain."""
REMEMBERED = 200
"""Lists of rounds of which samples are remembered in a process."""
_AT_ONCE = 32
"""Lists between two looks of whoever waits, and two writes of what is kept."""
_OF_LISTS = ("flows", "bytes", "largest_flow")
"""Quantities of the flow list, which are the same by any engine."""

Round = tuple[int, int]
Watch = Callable[[int, int, float], object]


class Keeps(Protocol):
    """Stores lists beyond the process."""

    def read(self, key: str) -> KeptLists:
        """Return what was written under a key, empty if nothing was."""
        ...

    def write(self, key: str, lists: KeptLists) -> None:
        """Keep lists under a key."""
        ...


class InMemory:
    """Stores lists in this process only."""

    def __init__(self) -> None:
        """Have none yet."""
        self._kept: dict[str, KeptLists] = {}

    def read(self, key: str) -> KeptLists:
        """Return what was written under a key."""
        return self._kept.get(key, KeptLists())

    def write(self, key: str, lists: KeptLists) -> None:
        """Keep lists."""
        self._kept[key] = lists


def covers(engine: str, metric: Metric) -> bool:
    """Return True if an engine says something of a metric that the flow list does not say already."""
    quantity = assumed(metric.source, SimulationSource).quantity
    return quantity in ENGINES[engine].answers and quantity not in _OF_LISTS


@dataclass(frozen=True, slots=True)
class _Ran:
    """The samples of each metric in one list, and the seconds it took."""

    samples: tuple[Array, ...]
    seconds: float


class EngineLists:
    """The lists of one engine for one treatment, kept beyond the process.

    For a per-trial metric the control is the metric by the engine. For a pooled one it is what the list adds to the estimating
    equation at a level near the engine's own quantile or mean, as of `ListControls`.
    """

    def __init__(
        self,
        trial: SimulationTrial,
        engine: str,
        metrics: Sequence[Metric],
        folder: Path,
        kept: Keeps,
        key: str,
        seeds: Callable[[int], int],
        seed_of_round: Callable[[Round], int],
        *,
        watch: Watch | None = None,
        threads: int | None = None,
        pilot: bool = False,
    ) -> None:
        """Take the trial with its placeholders filled in, and where numbers come from.

        Parameters
        ----------
        metrics
            Those of the experiment that the engine covers.
        kept, key
            Where lists are kept, and under which key.
        seeds, seed_of_round
            Seeds of the flow list with a number, which no trial has, and of a round.
        watch, threads
            As for `drawn_means`, and how many lists are simulated together; None for one on each processor.
        pilot
            The lists serve a pilot alone, of at most `PILOT` lists: levels come from these lists themselves.
        """
        self._trial = dataclasses.replace(trial, engine=engine)
        self._metrics = tuple(metrics)
        self._folder = folder
        self._store, self._key = kept, key
        self._seeds, self._seed_of_round = seeds, seed_of_round
        self._watch, self._threads = watch, threads or os.cpu_count() or 1
        self._pilot = pilot
        self._ran: dict[str, tuple[Array, ...]] = {}
        self._lists = kept.read(key)
        if len(self._lists.levels) != len(self._metrics):
            self._lists = KeptLists()

    def drawn_seeds(self, number: int) -> list[int]:
        """Return the seeds of the lists behind the means."""
        return [self._seeds(FIRST + place) for place in range(number)]

    def drawn(self, metric: Metric, number: int) -> Array:
        """Return the control in so many lists that no trial has, NaN where a list has no value of the metric: shape (number,)."""
        self._level_all()
        have = len(self._lists.drawn)
        if have < number:
            for ran in self._all(self.drawn_seeds(number)[have:]):
                self._lists.drawn.extend(self._values(each.samples) for each in ran)
                self._keep()
        return self._column(self._lists.drawn[:number], metric)

    def of_rounds(self, metric: Metric, rounds: Sequence[Round]) -> Array:
        """Return the control in the lists of rounds, as of `drawn`: shape (rounds,)."""
        self._level_all()
        lists = self._lists.rounds
        missing = [each for each in dict.fromkeys(rounds) if _name(each) not in lists]
        done = 0
        for ran in self._all([self._seed_of_round(each) for each in missing]):
            for each, one in zip(missing[done:], ran, strict=False):
                lists[_name(each)] = self._values(one.samples)
                if len(self._ran) < REMEMBERED:
                    self._ran[_name(each)] = one.samples
            done += len(ran)
            self._keep()
        return self._column([lists[_name(each)] for each in rounds], metric)

    def samples(self, metric: Metric, rounds: Sequence[Round]) -> list[Array]:
        """Return the samples of a metric by the engine in the lists of rounds; they are kept in this process alone."""
        place = self._metrics.index(metric)
        missing = [each for each in rounds if _name(each) not in self._ran]
        ran = [one for each in self._all([self._seed_of_round(at) for at in missing]) for one in each]
        own = self._ran | {_name(each): one.samples for each, one in zip(missing, ran, strict=True)}
        self._ran = dict(list(own.items())[:REMEMBERED])
        return [own[_name(each)][place] for each in rounds]

    @property
    def seconds(self) -> float:
        """Return the seconds that a list takes, drawn and simulated, in the mean over all so far."""
        return self._lists.seconds

    @property
    def pilot_seconds(self) -> float:
        """Return `seconds` as they were when a pilot first asked; kept, so that what it chose does not move with lists timed later."""
        if not self._lists.pilot_seconds:
            self._lists.pilot_seconds = self._lists.seconds
            self._keep()
        return self._lists.pilot_seconds

    def _level_all(self) -> None:
        """Find the levels of the controls from the first lists, once."""
        if self._lists.levels:
            return
        seeds = self.drawn_seeds(PILOT) if self._pilot else [self._seeds(place) for place in range(FIRST)]
        ran = [one for each in self._all(seeds) for one in each]
        columns = list(zip(*(one.samples for one in ran), strict=True))
        self._lists.levels = [
            level_of(metric, column) if metric.estimand == "pooled" else 0.0
            for metric, column in zip(self._metrics, columns, strict=True)
        ]
        if self._pilot:
            self._lists.drawn = [self._values(one.samples) for one in ran]
        self._keep()

    def _values(self, samples: Sequence[Array]) -> list[float | None]:
        found = (
            control_value(metric, each, level)
            for metric, each, level in zip(self._metrics, samples, self._lists.levels, strict=True)
        )
        return [None if math.isnan(value) else value for value in found]

    def _column(self, rows: Sequence[Sequence[float | None]], metric: Metric) -> Array:
        place = self._metrics.index(metric)
        return np.array([math.nan if row[place] is None else row[place] for row in rows], dtype=np.float64)

    def _keep(self) -> None:
        self._store.write(self._key, self._lists)

    def _all(self, seeds: Sequence[int]) -> Iterator[list[_Ran]]:
        """Simulate lists, some at a time."""
        begun = time.monotonic()
        with ThreadPoolExecutor(min(self._threads, _AT_ONCE)) as pool:
            for first in range(0, len(seeds), _AT_ONCE):
                ran = list(pool.map(self._run, seeds[first : first + _AT_ONCE]))
                self._time(ran)
                done = first + len(ran)
                if self._watch is not None:
                    self._watch(done, len(seeds), (time.monotonic() - begun) / done * (len(seeds) - done))
                yield ran

    def _time(self, ran: Sequence[_Ran]) -> None:
        lists = self._lists
        spent = lists.seconds * lists.timed + sum(one.seconds for one in ran)
        lists.timed += len(ran)
        lists.seconds = spent / lists.timed

    def _run(self, seed: int) -> _Ran:
        begun = time.perf_counter()
        try:
            found = simulate(self._trial, self._folder, flow_seed=seed, seed=seed)
            samples = tuple(metric_samples(metric, self._trial, found).values for metric in self._metrics)
        except TrialError as error:
            raise PlanError(
                f"engine {self._trial.engine}: {error.message}", hint="leave it out of the controls"
            ) from error
        return _Ran(samples, time.perf_counter() - begun)

    def check(self) -> None:
        """Raise PlanError if the engine cannot simulate the treatment."""
        from trialwise.trials.drawn_flows import flow_list
        from trialwise.trials.fabrics import open_fabric

        fabric = open_fabric(self._trial, self._folder)
        flows = flow_list(self._trial.workload, fabric, self._folder, self._seeds(0))
        check_settings(self._trial, fabric, self._folder, flows, executes=False)


def control_value(metric: Metric, samples: Array, level: float) -> float:
    """Return the control of one list from its samples by the engine; NaN if a per-trial metric has none."""
    share = None if metric.percentile is None else metric.percentile / 100
    if metric.estimand == "per_trial":
        if not samples.size:
            return math.nan
        if share is not None:
            method = "linear" if metric.convention == "linear" else "inverted_cdf"
            return float(np.quantile(samples, share, method=method))
        return float({"mean": np.mean, "min": np.min, "max": np.max}[str(metric.measure)](samples))
    if share is None:
        return float(samples.sum() - level * samples.size)
    return float(np.count_nonzero(samples > level) - (1 - share) * samples.size)


def _name(each: Round) -> str:
    return f"{each[0]} {each[1]}"
