"""Stored records of simulated flows, read trial by trial as a stream."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from trialwise import statistics as st
from trialwise.arrays import Array
from trialwise.errors import StoreError
from trialwise.experiment.model import Experiment
from trialwise.experiment.simulation import SimulationSource
from trialwise.experiment.simulation_quantities import size_class
from trialwise.foreign_files import check_foreign
from trialwise.foreign_frames import library_errors
from trialwise.late import pl
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.records import TrialRow
from trialwise.store.samples import TOGETHER, record_name, require_room

COLUMNS = ("size_bytes", "start_ps", "fct_ps", "ideal_ps")


@dataclass(frozen=True, slots=True, eq=False)
class FlowRecords:
    """The flows of some trials of one treatment: arrays of shape (flows,), with the flows of a trial contiguous.

    `trial` is the index of each flow's trial in `rows`. Times are in seconds, `size` is payload in bytes; `fct` is NaN for an
    unfinished flow.
    """

    rows: tuple[TrialRow, ...]
    trial: npt.NDArray[np.int64]
    size: Array
    start: Array
    fct: Array
    ideal: Array

    @property
    def slowdown(self) -> Array:
        """Return completion times relative to those of the flows alone on the network."""
        return self.fct / self.ideal

    def values(self, quantity: str) -> Array:
        """Return a quantity of flows: fct (s), slowdown, or throughput (bit/s)."""
        return {"fct": self.fct, "slowdown": self.slowdown, "throughput": 8 * self.size / self.fct}[quantity]

    def of_class(self, source: SimulationSource) -> npt.NDArray[np.bool_]:
        """Return which flows finished and are in the size range of a source."""
        chosen = np.isfinite(self.fct)
        if source.sizes:
            ends = size_class(source.sizes)
            chosen &= (self.size >= ends.low) & (self.size < (inf if ends.high is None else ends.high))
        return chosen

    def samples(self, quantity: str) -> st.TrialSamples:
        """Return a quantity of all flows (`values`) by trial, for selection; unfinished flows are NaN."""
        counts = np.bincount(self.trial, minlength=len(self.rows))
        return st.TrialSamples(self.values(quantity), counts)


def treatments_of(rows: Sequence[TrialRow]) -> dict[str, list[TrialRow]]:
    """Group the finished trials that count by treatment, in plan order."""
    found: dict[str, list[TrialRow]] = {}
    for row in rows:
        if row.status == "finished" and not row.warmup:
            found.setdefault(row.treatment, []).append(row)
    return found


def keeps_records(experiment: Experiment) -> bool:
    """Return True if the trials of an experiment store a record of every flow."""
    return experiment.trial.traits.flow_records == "keep"


def read_flows(directory: ExperimentDirectory, rows: Sequence[TrialRow]) -> FlowRecords:
    """Read the flow records of trials; those without a file are omitted."""
    there = tuple(row for row in rows if os.path.lexists(directory.path / _file(row)))
    parts = [_read(directory, there, first) for first in range(0, len(there), TOGETHER)]
    trial = np.concatenate([np.empty(0, dtype=np.int64), *(trials for trials, _ in parts)])
    size, start, fct, ideal = (
        np.concatenate([np.empty(0), *(columns[place] for _, columns in parts)])
        for place in range(len(COLUMNS))
    )
    return FlowRecords(there, trial, size, start / 1e12, fct / 1e12, ideal / 1e12)


def _read(
    directory: ExperimentDirectory, rows: Sequence[TrialRow], first: int
) -> tuple[npt.NDArray[np.int64], list[Array]]:
    """Read some files from the first one on; return the index of each flow's trial, and the columns of the flows."""
    batch = rows[first : first + TOGETHER]
    paths = [str(directory.path / _file(row)) for row in batch]
    places = {path: first + place for place, path in enumerate(paths)}
    columns = [pl.col(name).cast(pl.Int64) for name in COLUMNS]
    for row in batch:
        check_foreign(directory.path / _file(row), within=directory.path, error=StoreError)
    with library_errors(directory.samples):
        require_room(paths)
        plan = pl.scan_parquet(paths, include_file_paths="file", glob=False)
        frame = plan.select("file", *columns).collect()
    files = frame["file"].rle().struct.unnest()
    trials = np.repeat(
        np.array([places[path] for path in files["value"]], dtype=np.int64), files["len"].to_numpy()
    )
    values = [frame[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in COLUMNS]
    return trials, values


def _file(row: TrialRow) -> str:
    return record_name(row.number, row.attempt, "flows")
