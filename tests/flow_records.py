"""Flow records of known distributions, and the advice on the duration of their trials."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trialwise.analysis.estimation.durations import duration_advice
from trialwise.analysis.estimation.flow_records import FlowRecords
from trialwise.analysis.estimation.results import DurationAdvice
from trialwise.experiment.reading import parse_experiment
from trialwise.store.records import TrialRow

_FILE = """
[experiment]
name = "known"
[trial]
kind = "simulation"
scheme = "dctcp"
topology = "dumbbell:1x1,10Gbit/s,1us"
workload = {{ sizes = "fixed:1kB", load = "50%", duration = "{duration}" }}
[metrics.{estimand}]
quantity = "fct"
measure = "p90"
estimand = "{estimand}"
few_samples = "allow"
[design]
series = 1
rounds = 30
"""


def row_of(number: int) -> TrialRow:
    return TrialRow(
        number, 1, "finished", "-", {}, series=1, round=number, position=1, order="random", seed=1, warmup=False, planned_start=None
    )  # fmt: skip


def records_of(starts: Sequence[np.ndarray], times: Sequence[np.ndarray]) -> FlowRecords:
    """Flows of trials that begin at `starts` and take `times` seconds."""
    trial = np.repeat(np.arange(len(starts)), [each.size for each in starts])
    one = np.ones(trial.size)
    rows = tuple(map(row_of, range(1, len(starts) + 1)))
    return FlowRecords(rows, trial, one, np.concatenate(starts), np.concatenate(times), one)


def advice_on(
    flows: FlowRecords, duration: str, estimand: str = "pooled", tolerance: float | None = None
) -> DurationAdvice:
    """The advice on the p90 of the completion times of flows that begin within a duration."""
    experiment = parse_experiment(_FILE.format(duration=duration, estimand=estimand), Path("known.toml"))
    (found,) = duration_advice(experiment, "-", flows, 95.0, tolerance)
    return found


def alike(random: np.random.Generator, trials: int, flows: int) -> FlowRecords:
    """Trials of 1 s of independent flows with exponential completion times of 5 ms in the mean: no transient."""
    starts = [np.sort(random.uniform(0, 1, flows)) for _ in range(trials)]
    return records_of(starts, [random.exponential(0.005, flows) for _ in range(trials)])


def from_empty(random: np.random.Generator, trials: int, flows: int, load: float = 0.9) -> FlowRecords:
    """Trials of 1 s of a single server that begins empty (M/M/1, first come first served), by Lindley's recursion."""
    starts, times = [], []
    for _ in range(trials):
        start = np.sort(random.uniform(0, 1, random.poisson(flows)))
        service = random.exponential(load / flows, start.size)
        before = np.concatenate(([0.0], np.cumsum(service)[:-1]))
        ends = before + service + np.maximum.accumulate(start - before)
        starts.append(start)
        times.append(ends - start)
    return records_of(starts, times)
