"""What earlier sessions have finished, for observers and stopping rules that need all of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from trialwise.execution.events import TrialRecalled
from trialwise.measurement.samples import Samples
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import TrialRow
from trialwise.store.samples import read_samples

_Value = tuple[str, float | None, str | None]


def recalled(directory: ExperimentDirectory, ledger: Ledger) -> Iterator[TrialRecalled]:
    """One event for each finished trial, in plan order; samples are read only when they are asked for."""
    values: dict[tuple[int, int], list[_Value]] = {}
    for number, attempt, source, value, _, file in ledger.values():
        values.setdefault((number, attempt), []).append((source, value, file))
    for row in ledger.trials("finished"):
        reported = values.get((row.number, row.attempt), [])
        yield TrialRecalled(row, partial(_samples, directory.path, row, reported))


def _samples(folder: Path, row: TrialRow, reported: list[_Value]) -> dict[str, Samples]:
    return {source: _one(folder, row, source, value, file) for source, value, file in reported}


def _one(folder: Path, row: TrialRow, source: str, value: float | None, file: str | None) -> Samples:
    if file is not None:
        return Samples(*read_samples(folder / file, row.number, row.attempt, source))
    return Samples(np.array([] if value is None else [value], dtype=np.float64))
