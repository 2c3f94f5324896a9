"""Observations: the samples of each finished trial for each metric, from a store or from a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trialwise.experiment.model import Experiment, Level, Metric, PathSource
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import Status, TrialRow
from trialwise.store.samples import read_many

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Observation:
    """The samples that one trial gave for one metric; `times` in seconds, None where there are none."""

    number: int
    attempt: int
    treatment: str
    factors: Mapping[str, Level]
    series: str
    round: int
    position: int
    started: float | None
    values: Array
    times: Array | None


class StoreObservations:
    """Reads the observations of an experiment directory, metric by metric."""

    def __init__(self, experiment: Experiment, directory: ExperimentDirectory, ledger: Ledger) -> None:
        self._experiment = experiment
        self._directory = directory
        self.rows = tuple(ledger.trials())
        self._values = {
            (number, attempt, source): (value, file)
            for number, attempt, source, value, _, file in ledger.values()
        }
        self._epochs = _epochs(self.rows)

    def series_of(self, row: TrialRow) -> str:
        """The label of the series that a trial belongs to: each environment's rounds are a series of their own."""
        epochs = self._epochs.get(row.series, [])
        if row.epoch is None or len(epochs) < 2:
            return str(row.series)
        return f"{row.series}{chr(ord('a') + epochs.index(row.epoch))}"

    def of(self, metric: Metric, status: Status = "finished") -> list[Observation]:
        """The observations of all trials of a status that count, in plan order."""
        counted: list[tuple[TrialRow, float | None, str | None]] = []
        for row in self.rows:
            entry = self._values.get((row.number, row.attempt, metric.source.key))
            if row.status == status and not row.warmup and entry is not None:
                counted.append((row, *entry))
        key = metric.source.key
        wanted = [(file, row.number, row.attempt, key) for row, _, file in counted if file is not None]
        files = read_many(self._directory.path, wanted)
        found: list[Observation] = []
        for row, value, file in counted:
            values, times = (_single(value), None) if file is None else next(files)
            found.append(self._observation(row, *after_warmup(self._experiment, metric, values, times)))
        return found

    def _observation(self, row: TrialRow, values: Array, times: Array | None) -> Observation:
        return Observation(
            number=row.number,
            attempt=row.attempt,
            treatment=row.treatment,
            factors=row.factors,
            series=self.series_of(row),
            round=row.round,
            position=row.position,
            started=row.started,
            values=values,
            times=times,
        )


def _single(value: float | None) -> Array:
    return np.array([np.nan if value is None else value])


def after_warmup(
    experiment: Experiment, metric: Metric, values: Array, times: Array | None
) -> tuple[Array, Array | None]:
    """Leave out the start: of a path trial by its own clock, else counted from the first sample."""
    warmup = experiment.warmup
    if times is None or warmup <= 0 or len(times) == 0:
        return values, times
    origin = 0.0 if isinstance(metric.source, PathSource) else times.min()
    kept = times >= origin + warmup
    return values[kept], times[kept]


def _epochs(rows: tuple[TrialRow, ...]) -> dict[int, list[int]]:
    """The environments in which each series ran, first to last."""
    found: dict[int, set[int]] = {}
    for row in rows:
        if row.epoch is not None and row.status == "finished":
            found.setdefault(row.series, set()).add(row.epoch)
    return {series: sorted(epochs) for series, epochs in found.items()}
