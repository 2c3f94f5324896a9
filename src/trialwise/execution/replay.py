"""Replay what earlier sessions finished, for observers and stopping rules that need all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from trialwise.execution.events import TrialRecalled
from trialwise.measurement.samples import Samples
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import TrialRow
from trialwise.store.samples import TOGETHER, read_many

_AT_ONCE = 100
"""Number of trials whose samples are held in memory together, requested or not."""
_Value = tuple[str, float | None, str | None]
_Part = list[tuple[TrialRow, list[_Value]]]
"""Trials that are read together, with the location of what they reported."""


def recalled(directory: ExperimentDirectory, ledger: Ledger) -> Iterator[TrialRecalled]:
    """Yield one event for each finished trial, in plan order; samples are read only on request."""
    parts = list(_parts(ledger, (), _AT_ONCE))
    reader = _Reader(directory.path, parts)
    for at, part in enumerate(parts):
        for place, (row, _) in enumerate(part):
            yield TrialRecalled(row, partial(reader.samples, at, place))


def recalled_together(
    directory: ExperimentDirectory, ledger: Ledger, sources: Sequence[str]
) -> Iterator[list[tuple[TrialRow, dict[str, Samples]]]]:
    """Yield what finished trials reported from some sources, in plan order, many trials at a time."""
    for part in _parts(ledger, sources, TOGETHER):
        yield [(row, found) for (row, _), found in zip(part, _read(directory.path, part), strict=True)]


class _Reader:
    """Reads the samples of one part of the trials at once, and holds them until another part is requested."""

    def __init__(self, folder: Path, parts: Sequence[_Part]) -> None:
        self._folder = folder
        self._parts = parts
        self._held: tuple[int, list[dict[str, Samples]]] = -1, []

    def samples(self, at: int, place: int) -> dict[str, Samples]:
        """Return what trial `place` of part `at` reported."""
        if self._held[0] != at:
            self._held = at, list(_read(self._folder, self._parts[at]))
        return self._held[1][place]


def _parts(ledger: Ledger, sources: Sequence[str], size: int) -> Iterator[_Part]:
    values: dict[tuple[int, int], list[_Value]] = {}
    for number, attempt, source, value, _, file in ledger.values(sources):
        values.setdefault((number, attempt), []).append((source, value, file))
    rows = ledger.present_trials("finished")
    for first in range(0, len(rows), size):
        yield [(row, values.get((row.number, row.attempt), [])) for row in rows[first : first + size]]


def _read(folder: Path, part: _Part) -> Iterator[dict[str, Samples]]:
    """Yield what each trial of a part reported, by source."""
    wanted = [
        (file, row.number, row.attempt, source)
        for row, reported in part
        for source, _, file in reported
        if file is not None
    ]
    read = read_many(folder, wanted)
    for _, reported in part:
        yield {
            source: _single(value) if file is None else Samples(*next(read))
            for source, value, file in reported
        }


def _single(value: float | None) -> Samples:
    return Samples(np.array([] if value is None else [value], dtype=np.float64))
