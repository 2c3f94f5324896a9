"""Compare what was kept of finished trials with their numbers in the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trialwise.errors import PlanError, StoreError, TrialError
from trialwise.execution.recording import Value, is_single
from trialwise.execution.rereading import KeptTrial, is_kept
from trialwise.experiment.model import Experiment, Metric
from trialwise.measurement.samples import Samples
from trialwise.numbers import counted
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import TrialRow
from trialwise.store.samples import read_samples

_ENDED = ("finished", "excluded")
Outcome = Literal["agrees", "differs", "open"]


@dataclass(frozen=True, slots=True)
class Compared:
    """A number of a trial, or its samples, beside what is read again from what was kept of it.

    `text` says what differs, or why the two could not be compared.
    """

    trial: int
    outcome: Outcome
    text: str = ""


def number_of(experiment: Experiment, ledger: Ledger) -> int:
    """Return how many numbers, or samples of one trial together, `compared` looks at."""
    return sum(map(len, _held(ledger, _metrics(experiment)).values()))


def compared(experiment: Experiment, directory: ExperimentDirectory, ledger: Ledger) -> Iterator[Compared]:
    """Read the metrics of finished trials again from what was kept, as `run --reread` does, and compare each with the ledger.

    What is read is held for one trial at a time.
    """
    metrics = _metrics(experiment)
    held = _held(ledger, metrics)
    for row in ledger.trials(*_ENDED):
        kept = KeptTrial(directory, row, experiment)
        for value in held.get((row.number, row.attempt), ()):
            yield _compared(directory, row, metrics[value[0]], kept, value)


def _metrics(experiment: Experiment) -> dict[str, Metric]:
    """Return the metrics that are read from what is kept, by source."""
    return {metric.source.key: metric for metric in experiment.metrics if is_kept(metric, experiment)}


def _held(ledger: Ledger, metrics: Mapping[str, Metric]) -> dict[tuple[int, int], list[Value]]:
    """Return what the ledger has of these metrics, by trial and attempt."""
    ended = {(row.number, row.attempt) for row in ledger.trials(*_ENDED)}
    held: dict[tuple[int, int], list[Value]] = {}
    for number, attempt, source, value, samples, file in ledger.values(list(metrics)) if metrics else ():
        if (number, attempt) in ended:
            held.setdefault((number, attempt), []).append((source, value, samples, file))
    return held


def _compared(
    directory: ExperimentDirectory, row: TrialRow, metric: Metric, kept: KeptTrial, value: Value
) -> Compared:
    try:
        found = kept.read(metric.source)
        if _same(directory, row, value, found):
            return Compared(row.number, "agrees")
    except (TrialError, StoreError, PlanError) as error:
        return Compared(row.number, "open", error.message)
    except MemoryError:
        return Compared(row.number, "open", "it takes more memory than is allowed")
    name = f"trial {row.number}.{row.attempt} ({row.treatment}): {metric.name}"
    recorded, read = _recorded_text(value), _read_text(found)
    another = "other " if recorded == read else ""
    return Compared(
        row.number, "differs", f"{name} is {recorded} in the ledger, and {another}{read} in what was kept"
    )


def _same(directory: ExperimentDirectory, row: TrialRow, value: Value, found: Samples) -> bool:
    source, number, _, file = value
    if file is None:
        return is_single(found) and float(found.values[0]) == number
    values, times = read_samples(directory.path / file, row.number, row.attempt, source)
    if (times is None) != (found.times is None):
        return False
    return np.array_equal(values, found.values) and (
        times is None or found.times is None or np.array_equal(times, found.times)
    )


def _recorded_text(value: Value) -> str:
    _, number, count, file = value
    return counted(count, "sample") if file is not None or number is None else _exact(number)


def _read_text(found: Samples) -> str:
    return _exact(float(found.values[0])) if is_single(found) else counted(len(found.values), "sample")


def _exact(number: float) -> str:
    return repr(number).removesuffix(".0")
