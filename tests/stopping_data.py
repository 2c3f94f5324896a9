"""Experiments that stop by themselves, filled with numbers that are drawn instead of measured."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from pathlib import Path

import numpy as np

from simulation_directory import simulation_text
from trialwise.analysis.stopping.results import StoppingState
from trialwise.analysis.stopping.verdicts import StoppingMonitor
from trialwise.design.plan import make_plan
from trialwise.experiment.reading import parse_experiment
from trialwise.measurement.samples import Samples
from trialwise.store.records import TrialRow
from trialwise.study import planned_row

TEXT = """
[experiment]
name = "made"
[factors]
side = [{sides}]
[trial]
command = "echo {{side}} 1"
[metrics.m]
stdout = "([0-9.]+)"
unit = "ms"
{metric}
[design]
{design}
{rest}
"""


def experiment_of(metric: str = "", design: str = "", *, sides: str = '"a", "b"', rest: str = ""):
    text = TEXT.format(metric=metric, design=design, sides=sides, rest=rest)
    return parse_experiment(text, Path("made.toml"))


def simulated_pair(
    metric: str, design: str = 'stop = "verdict"\nmax_trials = 1000', *, varied: str = "scheme"
):
    """Two schemes over the same flows, or two loads, with a metric of completion times."""
    levels, scheme, load = {
        "scheme": ('"dctcp", "hpcc"', "{side}", "30%"),
        "load": ('"20%", "30%"', "dctcp", "{side}"),
    }[varied]
    text = simulation_text(
        f'[metrics.m]\nquantity = "fct"\n{metric}\n[design]\n{design}',
        workload=f'sizes = "websearch", load = "{load}", duration = "20ms"',
        factors=f"side = [{levels}]",
        scheme=scheme,
    )
    return parse_experiment(text, Path("made.toml"))


@lru_cache
def rows_of(experiment) -> tuple[TrialRow, ...]:
    return tuple(planned_row(trial) for trial in make_plan(experiment).trials)


class Filled:
    """An experiment whose trials report what is given: for each side a row of values, NaN for a trial that fails.

    A value may be a row of samples.
    """

    def __init__(self, experiment, **values) -> None:
        self.experiment = experiment
        self.judge = StoppingMonitor(experiment)
        self.rows = rows_of(experiment)
        self.values = {f"side={side}": np.asarray(own, dtype=float) for side, own in values.items()}
        self.at = 0
        self.clock = 0.0
        self._given = dict.fromkeys(self.values, 0)

    @property
    def upcoming(self) -> TrialRow | None:
        return self.rows[self.at] if self.at < len(self.rows) else None

    def run(self, trials: int | None = None, *, seconds: float = 1.0, boot=None) -> StoppingState:
        """Let trials end (all that have a value), and say what is known."""
        while self.upcoming is not None and trials != 0:
            row = self.upcoming
            place = self._given[row.treatment]
            if place >= len(self.values[row.treatment]):
                break
            self._given[row.treatment] += not row.warmup
            self.at += 1
            trials = None if trials is None else trials - 1
            row = dataclasses.replace(row, session=1, worker="local", boot=boot(row) if boot else "0")
            self.judge.add_time(row, self.clock, self.clock + seconds)
            self.clock += seconds
            value = self.values[row.treatment][place]
            if np.isfinite(value).all():
                self.judge.add(row, self._samples(value))
        return self.judge.state(self.upcoming)

    def _samples(self, value) -> dict[str, Samples]:
        return {metric.source.key: Samples(np.atleast_1d(value)) for metric in self.experiment.metrics}

    def run_straight(self) -> StoppingState:
        """As `run_until_it_stops`, but asking only where the forecast says that there may be an end."""
        state = self.judge.state(self.upcoming)
        while state.reason is None and self.upcoming is not None:
            rounds = max((state.forecast or 0) - state.rounds, 1)
            before = self.at
            for _ in range(rounds * len(self.values)):
                self._one()
            state = self.judge.state(self.upcoming)
            if self.at == before:
                break
        return state

    def _one(self) -> None:
        row = self.upcoming
        if row is not None and self._given[row.treatment] < len(self.values[row.treatment]):
            value = self.values[row.treatment][self._given[row.treatment]]
            self._given[row.treatment] += 1
            self.at += 1
            self.judge.add(row, self._samples(value))

    def run_until_it_stops(self) -> StoppingState:
        """As the runner: the rule is asked before each round."""
        while True:
            state = self.judge.state(self.upcoming)
            if state.reason or self.upcoming is None:
                return state
            round_ = self.upcoming.series, self.upcoming.round, self.upcoming.warmup
            while (
                self.upcoming and (self.upcoming.series, self.upcoming.round, self.upcoming.warmup) == round_
            ):
                before = self.at
                self.run(1)
                if self.at == before:
                    return self.judge.state(self.upcoming)
