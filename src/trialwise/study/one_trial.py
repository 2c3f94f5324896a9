"""One trial of a directory: how it ran, what it reported, and what was kept of what it printed and wrote."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from trialwise.errors import StoreError, not_written
from trialwise.measurement.keeping import kept_files, unpack
from trialwise.store.directory import ExperimentDirectory, latest
from trialwise.store.ledger import Ledger
from trialwise.store.outputs import (
    KeptOutput,
    Output,
    files_name,
    log_name,
    output_name,
    read_files,
    read_output,
)
from trialwise.store.records import NOT_BEGUN, TrialRow
from trialwise.study.documents import KeptFileDocument, OutputDocument, TrialDocument, ValueDocument


@dataclass(frozen=True, slots=True)
class OneTrial:
    """An attempt at a trial with everything that it left behind: its outputs, and the archive of its kept files."""

    document: TrialDocument
    outputs: dict[Output, KeptOutput]
    archive: bytes

    def unpack(self, folder: Path) -> None:
        """Write what was kept into a new folder: stdout.txt, stderr.txt, and the kept files below files/.

        Raises
        ------
        StoreError
            The folder exists, or cannot be written.
        """
        try:
            folder.mkdir()
            for what, output in self.outputs.items():
                (folder / f"{what}.txt").write_bytes(output.data)
            if self.archive:
                unpack(self.archive, folder / "files")
        except OSError as error:
            raise not_written(folder, error, hint="name a folder that does not exist yet") from error


def one_trial(path: Path, number: int, attempt: int | None = None) -> OneTrial:
    """Read an attempt at a trial from a directory, by default the last that has begun.

    Raises
    ------
    StoreError
        There is no such trial or attempt.
    """
    directory = ExperimentDirectory(latest(path))
    ledger = directory.ledger()
    try:
        rows = [row for row in ledger.trials() if row.number == number]
        row = _chosen(rows, directory.path, number, attempt)
        values = tuple(_values(ledger, row))
    finally:
        ledger.close()
    found = {what: read_output(directory.path, number, row.attempt, what) for what in get_args(Output)}
    outputs = {what: output for what, output in found.items() if output is not None}
    archive = read_files(directory.path, number, row.attempt) or b""
    return OneTrial(_document(directory.path, rows, row, values, outputs, archive), outputs, archive)


def _chosen(rows: list[TrialRow], path: Path, number: int, attempt: int | None) -> TrialRow:
    if not rows:
        raise StoreError(f"{path}: has no trial {number}", hint=f"`trialwise status {path}` names them")
    if attempt is None:
        begun = [row for row in rows if row.status not in NOT_BEGUN]
        return (begun or rows)[-1]
    for row in rows:
        if row.attempt == attempt:
            return row
    raise StoreError(f"{path}: trial {number} has no attempt {attempt}", hint=f"it has {len(rows)}")


def _values(ledger: Ledger, row: TrialRow) -> Iterator[ValueDocument]:
    for number, attempt, source, value, samples, file in ledger.values():
        if (number, attempt) == (row.number, row.attempt):
            yield ValueDocument(source, value, samples, file)


def _document(
    path: Path,
    rows: list[TrialRow],
    row: TrialRow,
    values: tuple[ValueDocument, ...],
    outputs: dict[Output, KeptOutput],
    archive: bytes,
) -> TrialDocument:
    log = log_name(row.number, row.attempt)
    return TrialDocument(
        number=row.number,
        attempt=row.attempt,
        attempts=len([each for each in rows if each.status not in NOT_BEGUN]),
        treatment=row.treatment,
        factors=dict(row.factors),
        status=row.status,
        reason=row.reason,
        series=row.series,
        round=row.round,
        position=row.position,
        seed=row.seed,
        worker=row.worker,
        started=row.started,
        finished=row.finished,
        exit_code=row.exit_code,
        values=list(values),
        outputs=[
            OutputDocument(
                what, output_name(row.number, row.attempt, what, cut=kept.cut), len(kept.data), kept.cut
            )
            for what, kept in outputs.items()
        ],
        files=[KeptFileDocument(name, size) for name, size in kept_files(archive)],
        archive=files_name(row.number, row.attempt) if archive else None,
        log=log if os.path.lexists(path / log) else None,
    )
