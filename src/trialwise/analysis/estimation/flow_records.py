"""The kept records of simulated flows, trial by trial, read as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt
import polars as pl

from trialwise.experiment.model import Experiment
from trialwise.experiment.simulation import SimulationSource, SimulationTrial
from trialwise.experiment.simulation_quantities import size_class
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.records import TrialRow
from trialwise.store.samples import TOGETHER, record_name

Array = npt.NDArray[np.float64]
COLUMNS = ("size_bytes", "start_ps", "fct_ps", "ideal_ps")


@dataclass(frozen=True, slots=True, eq=False)
class FlowRecords:
    """The flows of some trials, all of one treatment: arrays of shape (flows,), flows of a trial together.

    `trial` is the place of each flow's trial in `rows`. Times are in seconds, `size` is payload in bytes; `fct` is NaN for a flow
    that did not finish.
    """

    rows: tuple[TrialRow, ...]
    trial: npt.NDArray[np.int64]
    size: Array
    start: Array
    fct: Array
    ideal: Array

    @property
    def slowdown(self) -> Array:
        """Completion times over those of the flows alone."""
        return self.fct / self.ideal

    def values(self, quantity: str) -> Array:
        """A quantity of flows: fct (s), slowdown, or throughput (bit/s)."""
        return {"fct": self.fct, "slowdown": self.slowdown, "throughput": 8 * self.size / self.fct}[quantity]

    def of_class(self, source: SimulationSource) -> npt.NDArray[np.bool_]:
        """Which flows finished and are of the sizes that a source is about."""
        chosen = np.isfinite(self.fct)
        if source.sizes:
            ends = size_class(source.sizes)
            chosen &= (self.size >= ends.low) & (self.size < (inf if ends.high is None else ends.high))
        return chosen

    def split(self, values: Array, chosen: npt.NDArray[np.bool_]) -> list[Array]:
        """Values of the chosen flows, an array for each trial."""
        counts = np.bincount(self.trial[chosen], minlength=len(self.rows))
        return np.split(values[chosen], np.cumsum(counts)[:-1])


def treatments_of(rows: Sequence[TrialRow]) -> dict[str, list[TrialRow]]:
    """The finished trials that count of each treatment, in plan order."""
    found: dict[str, list[TrialRow]] = {}
    for row in rows:
        if row.status == "finished" and not row.warmup:
            found.setdefault(row.treatment, []).append(row)
    return found


def keeps_records(experiment: Experiment) -> bool:
    """Whether the trials of an experiment are simulated and keep a record of every flow."""
    return isinstance(experiment.trial, SimulationTrial) and experiment.trial.records == "keep"


def read_flows(directory: ExperimentDirectory, rows: Sequence[TrialRow]) -> FlowRecords:
    """The flow records of trials; those whose file is not there are left out."""
    there = tuple(row for row in rows if (directory.path / _file(row)).is_file())
    batches = [there[first : first + TOGETHER] for first in range(0, len(there), TOGETHER)]
    empty = pl.DataFrame(schema={"file": pl.String, **dict.fromkeys(COLUMNS, pl.Int64)})
    flows = pl.concat([empty, *_frames(directory, batches)])
    places = {str(directory.path / _file(row)): place for place, row in enumerate(there)}
    trial = flows["file"].replace_strict(places, return_dtype=pl.Int64) if there else flows["start_ps"]
    columns = {name: flows[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in COLUMNS}
    return FlowRecords(
        rows=there,
        trial=trial.to_numpy(),
        size=columns["size_bytes"],
        start=columns["start_ps"] / 1e12,
        fct=columns["fct_ps"] / 1e12,
        ideal=columns["ideal_ps"] / 1e12,
    )


def _frames(directory: ExperimentDirectory, batches: Sequence[Sequence[TrialRow]]) -> Iterator[pl.DataFrame]:
    for batch in batches:
        paths = [str(directory.path / _file(row)) for row in batch]
        read = pl.scan_parquet(paths, include_file_paths="file")
        yield read.select("file", *(pl.col(name).cast(pl.Int64) for name in COLUMNS)).collect()


def _file(row: TrialRow) -> str:
    return record_name(row.number, row.attempt, "flows")
