"""Flow lists that trials of a workload might have had: their means, at the cost of sampling them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, Protocol

import numpy as np

from trialwise import __version__
from trialwise.arrays import Array
from trialwise.experiment.engines import BATCHED, ENGINES, engines_in
from trialwise.experiment.model import Controls, Experiment, Level, Metric
from trialwise.experiment.placeholders import BUILT_IN, names_in
from trialwise.experiment.seeds import seed_of
from trialwise.experiment.simulation import SimulationSource, SimulationTrial, Workload, files_named
from trialwise.experiment.text import frozen_or_named
from trialwise.experiment.traits import assumed, sources_of
from trialwise.measurement.list_controls import KnownMeans, PilotLists
from trialwise.trials.drawn_means import ListMeans, Watch, drawn_means, most_for, numbers_of_lists, steps_in
from trialwise.trials.engine_lists import LEAST, LISTS, PILOT, EngineLists, InMemory, Keeps, covers
from trialwise.trials.fluid_lists import FluidLists, ListTable
from trialwise.trials.list_statistics import ListControls, Statistic, is_modelled, statistic_of
from trialwise.trials.simulating import engine_of, filled
from trialwise.trials.simulation import trial_of

Round = tuple[int, int]
Entry = tuple[float, list[float], int]


class Kept(Protocol):
    """Stores means beyond the process: for each metric the level of its control, the means, and the number of lists."""

    def read(self, key: str) -> list[Entry] | None:
        """Return what was written under a key."""
        ...

    def write(self, key: str, entries: Sequence[Entry]) -> None:
        """Keep entries under a key."""
        ...


class _Draw(NamedTuple):
    """What lists and their numbers depend on, for all metrics of the experiment."""

    workload: Workload
    topology: str
    routes: str
    phase: tuple[float, float]
    framing: tuple[int, int] | None
    """None without the fluid model."""
    window: float
    """Seconds between two searches for rates in that model."""


class KnownWorkloads:
    """Samples the flow lists of each workload of an experiment once, however many treatments and metrics need them.

    The lists have separate seeds, so that no trial is among them, and are the same in every analysis and every run.
    """

    def __init__(
        self,
        experiment: Experiment,
        kept: Kept | None = None,
        watch: Watch | None = None,
        threads: int | None = None,
        kept_lists: Keeps | None = None,
        seconds: float | None = None,
    ) -> None:
        """With `kept` None, means live only in this object, and with `kept_lists` None the lists of engines.

        `watch` receives progress, `threads` are as for `FluidLists`. `seconds` of one core are about those that lists of one engine
        and treatment may take; None for 20 of the batched engine, and no bound on others.
        """
        self._seconds = seconds
        self._experiment = experiment
        self._kept = kept
        self._watch = watch
        self._threads = threads
        self._kept_lists = kept_lists or InMemory()
        self._engines: dict[tuple[SimulationTrial, str], EngineLists] = {}
        self._lists: dict[SimulationTrial, FluidLists] = {}
        self._means: dict[_Draw, dict[str, ListMeans]] = {}
        self._seeds: dict[Round, int] = {}
        self._asked: tuple[_Draw, tuple[Round, ...], ListTable] | None = None

    def known_means(
        self,
        metric: Metric,
        kind: Controls,
        factors: Mapping[str, Level],
        lists: int = 0,
        trials: int | None = None,
    ) -> KnownMeans | None:
        """Return the controls of a metric and treatment, with their means over many sampled flow lists.

        With a number of `trials`, lists are as many as these can use: a thousand for each of them by the batched engine, whose means
        then add a thousandth of the plain variance at most, and `lists` by the others, which are at least `LEAST`.

        For a per-trial metric, these are the lists with a flow that it covers, like its trials. None if flows come
        from a file, a job or several patterns, or depend on anything but the treatment, or if too few of the lists have such a flow.

        Otherwise engines that simulate list by list do so for `lists` lists, or `LISTS` if that is more.

        Raises
        ------
        PlanError
            The workload is invalid, or an engine cannot simulate it.
        """
        trial = self._trial(factors)
        if trial.traits.workload == "given" or not self._is_of_treatments():
            return None
        found = self._of(metric, kind, trial, trials)
        if found.lists < 2:  # fewer give no variance
            return None
        batched = (BATCHED,) if found.controls.fluid else ()
        engines = self._engines_for(metric, kind)
        if not engines:
            return KnownMeans(
                found.controls.names, found.means, found.lists, batched, (found.lists,) * len(batched)
            )
        number = max(lists, LISTS if trials is None else LEAST)
        return self._levels(metric, kind, trial, found, engines, self._within(trial, engines, number))

    def _within(self, trial: SimulationTrial, engines: Sequence[str], lists: int) -> int:
        """Return how many lists of engines the time allows, which are enough for a regression in any case."""
        if self._seconds is None:
            return lists
        slowest = max(self._engine(trial, each).pilot_seconds for each in engines)
        return max(LEAST, min(lists, int(self._seconds / slowest))) if slowest else lists

    def _levels(
        self,
        metric: Metric,
        kind: Controls,
        trial: SimulationTrial,
        found: ListMeans,
        engines: tuple[str, ...],
        lists: int,
    ) -> KnownMeans | None:
        """Return the means of a metric's controls with those of the engines, which are over fewer lists."""
        own = [self._engine(trial, engine) for engine in engines]
        dear = np.column_stack([each.drawn(metric, lists) for each in own])
        seeds = np.array(own[0].drawn_seeds(lists), dtype=np.uint64)
        table = self._lists_of(trial).table(seeds, self._statistics(metric, kind, trial))
        cheap = self._batched(metric, kind, trial, table)
        has = ~np.isnan(dear).any(axis=1) & ~np.isnan(cheap).any(axis=1)
        if np.count_nonzero(has) < min(LISTS, lists) // 4:
            return None
        batched = (BATCHED,) if found.controls.fluid else ()
        return KnownMeans(
            (
                *found.controls.names,
                *(f"the metric by engine {engine} from the same flows" for engine in engines),
            ),
            found.means,
            found.lists,
            (*batched, *engines),
            (*(found.lists for _ in batched), *(lists for _ in engines)),
            cheap[has],
            dear[has],
            sum(each.pilot_seconds for each in own),
        )

    def pilot(
        self, metric: Metric, kind: Controls, factors: Mapping[str, Level], trials: int | None = None
    ) -> PilotLists | None:
        """Return what the trials' engine and controls give for some lists, and what they cost; simulated once and kept.

        None if no engine among the controls simulates list by list, if trials are by an engine of estimates, or if there are no known
        means of their lists.

        Raises
        ------
        PlanError
            As of `known_means`.
        """
        trial, engines = self._trial(factors), self._engines_for(metric, kind)
        own = engine_of(trial)
        if (
            not engines
            or ENGINES[own].estimate
            or trial.traits.workload == "given"
            or not self._is_of_treatments()
        ):
            return None
        self._of(metric, kind, trial, trials)
        packets = self._engine(trial, own, pilot=True)
        dear = [self._engine(trial, engine) for engine in engines]
        columns = [each.drawn(metric, PILOT) for each in (packets, *dear)]
        seeds = np.array(packets.drawn_seeds(PILOT), dtype=np.uint64)
        cheap = self._batched(
            metric, kind, trial, self._lists_of(trial).table(seeds, self._statistics(metric, kind, trial))
        )
        table = np.column_stack([*columns, cheap])
        table = table[~np.isnan(table).any(axis=1)]
        ends = 1 + len(dear)
        return PilotLists(
            (own, *engines),
            tuple(each.pilot_seconds for each in (packets, *dear)),
            table[:, 0],
            table[:, 1:ends],
            table[:, ends:],
        )

    def _engines_for(self, metric: Metric, kind: Controls) -> tuple[str, ...]:
        """Return the engines among controls that simulate list by list and cover a metric."""
        return tuple(each for each in engines_in(kind) if each != BATCHED and covers(each, metric))

    def _engine(self, trial: SimulationTrial, engine: str, *, pilot: bool = False) -> EngineLists:
        if (trial, engine) not in self._engines:
            metrics = [metric for metric in self._metrics if covers(engine, metric)]
            self._engines[trial, engine] = EngineLists(
                trial,
                engine,
                metrics,
                self._experiment.folder,
                self._kept_lists,
                self._key_of(trial, metrics, trial, engine),
                lambda number: seed_of(self._experiment.seed, "engine lists", number),
                self._seed_of_flows,
                watch=self._watch,
                threads=self._threads,
                pilot=pilot,
            )
        return self._engines[trial, engine]

    def of_rounds(
        self, metric: Metric, kind: Controls, factors: Mapping[str, Level], rounds: Sequence[Round]
    ) -> Array:
        """Return the same controls of the flow lists of rounds, (series, round): shape (rounds, controls)."""
        trial = self._trial(factors)
        self._of(metric, kind, trial)
        table = self._table(metric, kind, trial, tuple(rounds))
        engines = [self._engine(trial, engine) for engine in self._engines_for(metric, kind)]
        return np.column_stack(
            [self._batched(metric, kind, trial, table), *(each.of_rounds(metric, rounds) for each in engines)]
        )

    def _batched(self, metric: Metric, kind: Controls, trial: SimulationTrial, table: ListTable) -> Array:
        """Return a metric's controls in lists of which a table has what all metrics need."""
        own = list(self._means[self._draw(metric, kind, trial)].values())
        place = [each.controls.metric.name for each in own].index(metric.name)
        ends = np.cumsum([0, *(len(each.controls.statistics) for each in own)])
        return own[place].controls.values(table.features, table.found[:, ends[place] : ends[place + 1]])

    def _statistics(self, metric: Metric, kind: Controls, trial: SimulationTrial) -> list[Statistic]:
        """Return what all metrics need from lists."""
        means = self._means[self._draw(metric, kind, trial)].values()
        return [one for each in means for one in each.controls.statistics]

    def modelled(
        self, metric: Metric, factors: Mapping[str, Level], rounds: Sequence[Round], engine: str = BATCHED
    ) -> tuple[list[Array], float] | None:
        """Return the samples of a metric by an engine in the flow lists of rounds, and the seconds that a list takes.

        The seconds include drawing the list; they are measured on one thread, as a trial has. None if the trials are by a model
        themselves.
        """
        trial = self._trial(factors)
        if ENGINES[engine_of(trial)].estimate:
            return None
        if engine != BATCHED:
            own = self._engine(trial, engine)
            return own.samples(metric, rounds), own.seconds
        lists = FluidLists(trial, self._experiment.folder, threads=1)
        statistic = statistic_of(assumed(metric.source, SimulationSource), trial, None)
        seeds = np.array([self._seed_of_flows(each) for each in rounds], dtype=np.uint64)
        begun = time.perf_counter()
        samples = lists.samples(seeds, statistic)
        return samples, (time.perf_counter() - begun) / max(len(rounds), 1)

    def _table(
        self, metric: Metric, kind: Controls, trial: SimulationTrial, rounds: tuple[Round, ...]
    ) -> ListTable:
        """Return what all metrics need from the lists of some rounds; cached, since metrics and treatments need the same ones."""
        draw, statistics = self._draw(metric, kind, trial), self._statistics(metric, kind, trial)
        if self._asked is None or self._asked[:2] != (draw, rounds):
            seeds = np.array([self._seed_of_flows(each) for each in rounds], dtype=np.uint64)
            self._asked = draw, rounds, self._lists_of(trial).table(seeds, statistics)
        return self._asked[2]

    def _seed_of_flows(self, each: Round) -> int:
        if each not in self._seeds:
            self._seeds[each] = seed_of(self._experiment.seed, "flows", *each)
        return self._seeds[each]

    def _of(
        self, metric: Metric, kind: Controls, trial: SimulationTrial, trials: int | None = None
    ) -> ListMeans:
        """Return the means that there are, or those that so many trials can use, with None the most that there may be."""
        draw = self._draw(metric, kind, trial)
        if draw not in self._means:
            most = most_for(None if draw.framing is None else trials)
            found = self._recalled(draw, trial, most) or self._drawn(draw, self._lists_of(trial), trial, most)
            self._means[draw] = {each.controls.metric.name: each for each in found}
        return self._means[draw][metric.name]

    def _draw(self, metric: Metric, kind: Controls, trial: SimulationTrial) -> _Draw:
        fluid = BATCHED in engines_in(kind) and is_modelled(metric)
        framing = self._lists_of(trial).framing if fluid else None
        phase = trial.warmup, trial.cooldown
        window = trial.rate_interval if fluid else 0.0
        return _Draw(trial.workload, trial.topology, trial.routes, phase, framing, window)

    @property
    def _metrics(self) -> list[Metric]:
        return [metric for metric, _ in sources_of(self._experiment.metrics, SimulationSource)]

    def _drawn(self, draw: _Draw, lists: FluidLists, trial: SimulationTrial, most: int) -> list[ListMeans]:
        fluid, seed = draw.framing is not None, self._seed
        found = drawn_means(
            lists,
            trial,
            self._metrics,
            seed,
            fluid=fluid,
            watch=self._watch,
            most=most,
            steps=steps_in(self._seconds),
        )
        if self._kept is not None:
            entries = [(each.controls.level, list(each.means), each.lists) for each in found]
            self._kept.write(self._key(draw, trial, most), entries)
        return found

    def _recalled(self, draw: _Draw, trial: SimulationTrial, least: int) -> list[ListMeans] | None:
        """Return the means of an earlier process, over as many lists or more: the most that there are."""
        if self._kept is None:
            return None
        numbers = [most for most in numbers_of_lists() if most >= least]
        entries = next(
            filter(None, (self._kept.read(self._key(draw, trial, each)) for each in numbers)), None
        )
        if entries is None or len(entries) != len(self._metrics):
            return None
        fluid = draw.framing is not None
        return [
            ListMeans(ListControls.of(metric, trial, level, fluid=fluid), tuple(means), lists)
            for metric, (level, means, lists) in zip(self._metrics, entries, strict=True)
        ]

    def _key(self, draw: _Draw, trial: SimulationTrial, most: int) -> str:
        """Return a key for all that the means depend on: the lists, the metrics, files, and this version."""
        return self._key_of(trial, self._metrics, most, steps_in(self._seconds), draw)

    def _key_of(self, trial: SimulationTrial, metrics: Sequence[Metric], *more: object) -> str:
        asked = [(one.source, one.measure, one.estimand, one.convention) for one in metrics]
        known = __version__, self._seed, more, asked
        digest = sha256(repr(known).encode())
        for name in files_named(trial):
            digest.update(frozen_or_named(self._experiment.folder, name).read_bytes())
        return digest.hexdigest()

    @property
    def _seed(self) -> int:
        return seed_of(self._experiment.seed, "known workloads")

    def _lists_of(self, trial: SimulationTrial) -> FluidLists:
        if trial not in self._lists:
            self._lists[trial] = FluidLists(trial, self._experiment.folder, self._threads)
        return self._lists[trial]

    def _trial(self, factors: Mapping[str, Level]) -> SimulationTrial:
        return filled(trial_of(self._experiment), {**dict.fromkeys(BUILT_IN, 0), **factors})

    def _is_of_treatments(self) -> bool:
        trial = trial_of(self._experiment)
        fixed = {factor.name for factor in self._experiment.fixed_factors}
        texts = (trial.topology, trial.routes, *(text for _, text in trial.workload.texts))
        return all(names_in(text) <= fixed for text in texts)
