"""The results of a Pantheon test as a reading, and back: what an import keeps of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from trialwise.exchange.pantheon_archive import is_packed
from trialwise.exchange.pantheon_folder import (
    PantheonRuns,
    is_pantheon_file,
    is_pantheon_folder,
    metric_facts,
    pantheon_runs,
)
from trialwise.exchange.pantheon_results import packed_runs
from trialwise.exchange.pantheon_tunnels import Run
from trialwise.foreign_files import open_foreign
from trialwise.readers.gathering import Group
from trialwise.readers.records import Note, Reading, Row

FORMAT = "pantheon"
_TURN = "pantheon_throughput"
"""The metric of a row without a value: a run that does not count took its place in the order."""
_NOTE, _RUNTIME = "pantheon", "runtime"
_IGNORED = "Pantheon ignores this run"
_PIECE = 1 << 20


def is_of_pantheon(path: Path) -> bool:
    """Return True if a path is a folder, or an archive, that a test of Pantheon left."""
    return is_packed(path) if path.is_file() else path.is_dir() and is_pantheon_folder(path)


def pantheon_group(path: Path) -> Group:
    """Read the results of a test.

    Raises
    ------
    AnalysisError
        They cannot be read, or hold no run.
    """
    runs = packed_runs(path) if path.is_file() else pantheon_runs(path)
    rows = (*_counted(runs), *_uncounted(runs))
    reading = Reading(
        path=str(path),
        digest=digest_of(path),
        format=FORMAT,
        tool="Pantheon",
        version="",
        replicated="file",
        unit="run of a scheme",
        rows=rows,
        notes=tuple(Note(_NOTE, text) for text in runs.notes),
        facts={} if runs.runtime is None else {_RUNTIME: repr(runs.runtime)},
    )
    return Group(reading.tool, FORMAT, (reading,))


def _counted(runs: PantheonRuns) -> Iterator[Row]:
    for (scheme, run), values in runs.values.items():
        for metric, value in values.items():
            facts = metric_facts(metric)
            yield Row(
                treatment={"scheme": scheme},
                metric=metric,
                value=value,
                unit=facts.unit,
                better=facts.better,
                levels={"run": run},
                start=runs.began.get((scheme, run)),
                seconds=runs.runtime,
            )


def _uncounted(runs: PantheonRuns) -> Iterator[Row]:
    facts = metric_facts(_TURN)
    for scheme, run in sorted(runs.began.keys() - runs.values.keys()):
        yield Row(
            treatment={"scheme": scheme},
            metric=_TURN,
            value=None,
            unit=facts.unit,
            better=facts.better,
            levels={"run": run},
            start=runs.began[scheme, run],
            status="failed",
            reason=_IGNORED,
        )


def runs_of(reading: Reading) -> PantheonRuns:
    """Return the runs of a reading that `pantheon_group` made."""
    values: dict[Run, dict[str, float]] = {}
    began: dict[Run, float] = {}
    for row in reading.rows:
        run = row.treatment["scheme"], row.levels["run"]
        if row.value is not None:
            values.setdefault(run, {})[row.metric] = row.value
        if row.start is not None:
            began[run] = row.start
    runtime = reading.facts.get(_RUNTIME)
    notes = tuple(note.text for note in reading.notes)
    return PantheonRuns(values, None if runtime is None else float(runtime), notes, began)


def parts_of(folder: Path) -> list[Path]:
    """Return the files of a folder that are read, in order."""
    return sorted(path for path in folder.iterdir() if is_pantheon_file(path.name) and path.is_file())


def digest_of(path: Path) -> str:
    """Return the SHA-256 of an archive, of a folder that of its files' names and hashes.

    Raises
    ------
    AnalysisError
        A file cannot be read.
    """
    if path.is_file():
        return _hash_of(path, None)
    whole = hashlib.sha256()
    for part in parts_of(path):
        whole.update(f"{part.name}\0{_hash_of(part, path)}\n".encode(errors="surrogateescape"))
    return whole.hexdigest()


def _hash_of(path: Path, within: Path | None) -> str:
    found = hashlib.sha256()
    with open_foreign(path, within=within) as file:
        while piece := file.read(_PIECE):
            found.update(piece)
    return found.hexdigest()
