"""Observations: the samples of each finished trial for each metric, from a store or from a table."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from trialwise.analysis.progress import Progress
from trialwise.arrays import Array
from trialwise.experiment.model import Experiment, Level, Metric
from trialwise.numbers import counted
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import Status, TrialRow
from trialwise.store.samples import TOGETHER, read_many


@dataclass(frozen=True, slots=True)
class Observation:
    """The samples of one trial for one metric; `times` in seconds, None if there are none.

    `started` is in Unix seconds. It orders trials in time and is None for simulated trials, which are computed concurrently, so that
    they keep plan order.
    """

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
    """Reads the observations of an experiment directory, metric by metric; `told` is called with the number of trials read.

    `dropped` names the trials excluded because their treatments were dropped from the file, or because they are set apart; None if
    there are none. The first `closed` series ran with other treatments than the file has now.
    """

    def __init__(
        self,
        experiment: Experiment,
        directory: ExperimentDirectory,
        ledger: Ledger,
        told: Progress | None = None,
    ) -> None:
        self._experiment = experiment
        self._directory = directory
        rows = ledger.present_trials()
        self.rows = tuple(row for row in rows if experiment.includes(row.factors))
        left_out = (
            apart_text(ledger),
            dropped_text(row for row in rows if not experiment.includes(row.factors)),
        )
        self.dropped = "; ".join(text for text in left_out if text) or None
        self.closed = ledger.closed_series()
        self._ledger = ledger
        self._told = told
        self._computed = experiment.trial.traits.computed
        self._epochs = _epochs(self.rows)
        self._last: tuple[tuple[str, Status], list[Observation]] | None = None

    def series_of(self, row: TrialRow) -> str:
        """Return the label of a trial's series; each environment's rounds form a separate series.

        A trial without a result, in an environment in which none of the series has one, counts to the environment before.
        """
        epochs = self._epochs.get(row.series, [])
        if row.epoch is None or len(epochs) < 2:
            return str(row.series)
        return f"{row.series}{_letters(max(bisect_right(epochs, row.epoch) - 1, 0))}"

    def started(self, row: TrialRow) -> float | None:
        """Return when a trial began, if that is meaningful."""
        return None if self._computed else row.started

    def of(self, metric: Metric, status: Status = "finished") -> list[Observation]:
        """Return the observations of all trials of a status that count, in plan order; metrics of one source share the list."""
        asked = metric.source.key, status
        if self._last is None or self._last[0] != asked:
            self._last = asked, list(self.each(metric, status))
        return self._last[1]

    def each(self, metric: Metric, status: Status = "finished") -> Iterator[Observation]:
        """Yield what `of` returns, reading as it goes."""
        counted: list[tuple[TrialRow, float | None, str | None]] = []
        entries = self._entries(metric.source.key)
        for row in self.rows:
            entry = entries.get((row.number, row.attempt))
            if row.status == status and not row.warmup and entry is not None:
                counted.append((row, *entry))
        key = metric.source.key
        wanted = [(file, row.number, row.attempt, key) for row, _, file in counted if file is not None]
        files = read_many(self._directory.path, wanted)
        for done, (row, value, file) in enumerate(counted):
            if self._told is not None and done % TOGETHER == 0:
                self._told(f"reading {metric.name}", done, len(counted))
            values, times = (_single(value), None) if file is None else next(files)
            yield self._observation(row, *after_warmup(self._experiment, metric, values, times))

    def kept(self, key: str) -> dict[tuple[int, int], Array]:
        """Return arrays that counting finished trials stored under a name beside their metrics, by number and attempt."""
        known = self._entries(key)
        entries = {
            (row.number, row.attempt): known[row.number, row.attempt]
            for row in self.rows
            if row.status == "finished" and not row.warmup and (row.number, row.attempt) in known
        }
        wanted = [(file, *place, key) for place, (_, file) in entries.items() if file is not None]
        files = read_many(self._directory.path, wanted)
        return {
            place: _single(value) if file is None else next(files)[0]
            for place, (value, file) in entries.items()
        }

    def _entries(self, key: str) -> dict[tuple[int, int], tuple[float | None, str | None]]:
        """Return the reports of trials from a source, by number and attempt: the value, or the file of samples."""
        return {
            (number, attempt): (value, file)
            for number, attempt, _, value, _, file in self._ledger.values([key])
        }

    def _observation(self, row: TrialRow, values: Array, times: Array | None) -> Observation:
        return Observation(
            number=row.number,
            attempt=row.attempt,
            treatment=row.treatment,
            factors=row.factors,
            series=self.series_of(row),
            round=row.round,
            position=row.position,
            started=self.started(row),
            values=values,
            times=times,
        )


def dropped_text(rows: Iterable[TrialRow]) -> str | None:
    """Name dropped treatments, with the number of finished trials of each; None if there are none."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.treatment] = counts.get(row.treatment, 0) + (row.status == "finished")
    if not counts:
        return None
    named = ", ".join(f"{name} ({number} finished)" for name, number in counts.items())
    return f"trials of treatments that were dropped from the file are left out: {named}"


def apart_text(ledger: Ledger) -> str | None:
    """Count the finished trials that are set apart; None if there are none."""
    apart = ledger.apart_series()
    number = sum(row.series <= apart and not row.warmup for row in ledger.trials("finished")) if apart else 0
    if not number:
        return None
    which = "series 1" if apart == 1 else f"series 1 to {apart}"
    return (
        f"{counted(number, 'finished trial')} of {which} ran as the file was before it was amended: set apart, they stay in the "
        "ledger and count nowhere"
    )


def _single(value: float | None) -> Array:
    return np.array([np.nan if value is None else value])


def after_warmup(
    experiment: Experiment, metric: Metric, values: Array, times: Array | None
) -> tuple[Array, Array | None]:
    """Discard the warm-up: by the trial's clock if times come from it, else counted from the first sample."""
    warmup = experiment.warmup
    if times is None or warmup <= 0 or len(times) == 0:
        return values, times
    origin = 0.0 if metric.source.traits.own_clock else times.min()
    kept = times >= origin + warmup
    return values[kept], times[kept]


def _letters(number: int) -> str:
    """Return a to z, then aa, ab, …, for numbers from 0."""
    before, last = divmod(number, 26)
    return (_letters(before - 1) if before else "") + chr(ord("a") + last)


def _epochs(rows: tuple[TrialRow, ...]) -> dict[int, list[int]]:
    """Return the environments in which each series ran, first to last."""
    found: dict[int, set[int]] = {}
    for row in rows:
        if row.epoch is not None and row.status == "finished":
            found.setdefault(row.series, set()).add(row.epoch)
    return {series: sorted(epochs) for series, epochs in found.items()}
