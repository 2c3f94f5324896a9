"""Imported results: a read-only directory with the rows that readers found, and where they come from.

It has no ledger: a ledger says what Trialwise drew, ran and saw, and its columns for the plan would have to be made up.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from trialwise import __version__
from trialwise.analysis.recorded import Recorded
from trialwise.asides import aside_folder
from trialwise.errors import AnalysisError, StoreError, not_written
from trialwise.exchange import pantheon_reading
from trialwise.exchange.pantheon_folder import PantheonRuns
from trialwise.exchange.pantheon_results import results_of
from trialwise.exchange.readings_tables import not_whole, rows_of, samples_parts, trials_parts
from trialwise.exchange.recorded_readings import recorded
from trialwise.exchange.table_parts import TableParts
from trialwise.foreign_files import MEBIBYTE, read_foreign
from trialwise.late import pl
from trialwise.readers.content import MOST_BYTES, read_content
from trialwise.readers.gathering import Gathered, Group
from trialwise.readers.records import Level, Note, Reading
from trialwise.readers.register import recognised_folder
from trialwise.readers.tables.parquet import read_parquet
from trialwise.store.directory import IMPORT, is_imported
from trialwise.store.files import sync_folder, write_together

FORMAT = "trialwise.import/1"
TRIALS, SAMPLES = "trials.parquet", "samples.parquet"
_MOST = 256 * MEBIBYTE


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NoteRecord(_Record):
    """What to know about a file."""

    code: str
    text: str


class FileRecord(_Record):
    """A file that was imported: `sha256` is of what it holds unpacked, of a folder of its parts' names and hashes."""

    path: str
    sha256: str
    bytes: int | None
    modified: int | None
    version: str
    replicated: Level
    unit: str
    notes: tuple[NoteRecord, ...]
    facts: Mapping[str, str]
    options: Mapping[str, str]
    named: tuple[str, ...]
    subjects: tuple[str, ...]
    commits: Mapping[str, float | None]


class UnreadRecord(_Record):
    """A file that was not read, and why."""

    path: str
    why: str


class ImportRecord(_Record):
    """The origin of an imported directory; `tables` has the SHA-256 of each."""

    format: Literal["trialwise.import/1"]
    trialwise: str
    imported: str
    tool: str
    reader: str
    pattern: str
    files: tuple[FileRecord, ...]
    unread: tuple[UnreadRecord, ...]
    copies: tuple[tuple[str, str], ...]
    tables: Mapping[str, str]


def write_import(directory: Path, group: Group, pattern: str, gathered: Gathered) -> ImportRecord:
    """Write results into a new directory, whole or not at all; return what was written.

    Where the directory has them already, nothing is written, and its record is returned.

    Raises
    ------
    StoreError
        The directory is there and has something else, or cannot be written.
    """
    tables = {TRIALS: _packed(trials_parts(group.readings)), SAMPLES: _packed(samples_parts(group.readings))}
    record = ImportRecord(
        format=FORMAT,
        trialwise=__version__,
        imported=datetime.now(UTC).isoformat(timespec="seconds"),
        tool=group.tool,
        reader=group.format,
        pattern=pattern,
        files=tuple(map(_file, group.readings)),
        unread=tuple(UnreadRecord(path=one.path, why=one.why) for one in gathered.unread),
        copies=gathered.copies,
        tables={name: hashlib.sha256(content).hexdigest() for name, content in tables.items()},
    )
    if directory.exists():
        return _there(directory, record)
    text = json.dumps(record.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"
    is_written = _write(directory, {**tables, IMPORT: text.encode(errors="surrogateescape")})
    return record if is_written else _there(directory, record)


def _write(directory: Path, contents: Mapping[str, bytes]) -> bool:
    """Fill a folder of this process beside the directory, and rename it; return False if another import was faster."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with aside_folder(f".{directory.name}.importing-", directory.parent) as temporary:
            write_together({temporary / name: content for name, content in contents.items()})
            for name in contents:
                (temporary / name).chmod(0o444)
            temporary.rename(directory)
        sync_folder(directory.absolute().parent)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            return False
        raise not_written(directory, error) from error
    return True


def _there(directory: Path, record: ImportRecord) -> ImportRecord:
    if not is_imported(directory):
        raise StoreError(f"{directory}: is there already", hint="name a new directory with --out")
    kept = _record_of(directory)
    before, now = ({one.path: one.sha256 for one in each.files} for each in (kept, record))
    changed = sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise StoreError(
            f"{directory}: holds an earlier import; since then changed, came or went: {changed[0]}{more}",
            hint="name a new directory with --out",
        )
    if kept.tables != record.tables:
        raise StoreError(
            f"{directory}: holds the same files, which were read in another way", hint="name a new directory"
        )
    return kept


def _packed(table: TableParts) -> bytes:
    packed = io.BytesIO()
    table.write(packed)
    return packed.getvalue()


def _file(reading: Reading) -> FileRecord:
    path = Path(reading.path)
    size, modified = _stamp(path)
    return FileRecord(
        path=str(path.absolute()),
        sha256=reading.digest,
        bytes=size,
        modified=modified,
        version=reading.version,
        replicated=reading.replicated,
        unit=reading.unit,
        notes=tuple(NoteRecord(code=note.code, text=note.text) for note in reading.notes),
        facts=reading.facts,
        options=reading.options,
        named=reading.named,
        subjects=reading.subjects,
        commits=reading.commits,
    )


def _stamp(path: Path) -> tuple[int | None, int | None]:
    """Return size and time of change of a file or of all that Pantheon left; none of it is hashed again while they are the same."""
    try:
        status = path.stat()
        if path.is_file():
            return status.st_size, status.st_mtime_ns
        if not pantheon_reading.is_of_pantheon(path):
            return None, None
        parts = [part.stat() for part in pantheon_reading.parts_of(path)]
    except OSError:
        return None, None
    return sum(part.st_size for part in parts), max(part.st_mtime_ns for part in parts)


def read_import(directory: Path) -> tuple[Group, ImportRecord]:
    """Return the results in a directory, and their origin.

    Raises
    ------
    StoreError
        It was changed since it was written, or cannot be read.
    """
    record = _record_of(directory)
    trials, samples = (_table(directory, name, record) for name in (TRIALS, SAMPLES))
    rows = rows_of(directory, trials, samples, len(record.files))
    readings = tuple(_reading(record, one, own) for one, own in zip(record.files, rows, strict=True))
    return Group(record.tool, record.reader, readings), record


def imported_results(directory: Path, name: str) -> Recorded:
    """Return what an imported directory says of trials; sources that have changed since are named in the notes.

    Raises
    ------
    StoreError
        As `read_import`.
    AnalysisError
        No trial has a value.
    """
    group, record = read_import(directory)
    if group.format == pantheon_reading.FORMAT:
        found = results_of(_runs(directory, group), name)
    else:
        found = recorded(group.readings, name)
    notes = [*said_of(record), *_changed(record)]
    return replace(found, trials=replace(found.trials, notes=(*found.trials.notes, *notes)))


def _runs(directory: Path, group: Group) -> PantheonRuns:
    try:
        (reading,) = group.readings
        return pantheon_reading.runs_of(reading)
    except (KeyError, ValueError) as error:
        raise not_whole(directory) from error


def said_of(record: ImportRecord) -> list[str]:
    """Return notes on files that were not read, on copies, and on names of files that gave factors."""
    notes = [f"{one.path}: {one.why}, not read" for one in record.unread]
    notes += [f"{copy} is a copy of {first}, and counts once" for copy, first in record.copies]
    return notes + ([f"factors come from names of files: {record.pattern}"] if record.pattern else [])


def _changed(record: ImportRecord) -> list[str]:
    return [
        f"{one.path} has changed since it was imported: import it again into another directory"
        for one in record.files
        if _is_changed(one)
    ]


def _is_changed(one: FileRecord) -> bool:
    """Return True if a source is there and holds something else; one that is gone has not changed."""
    path = Path(one.path)
    if (not path.exists()) or (one.bytes is not None and _stamp(path) == (one.bytes, one.modified)):
        return False
    try:
        if pantheon_reading.is_of_pantheon(path):
            return pantheon_reading.digest_of(path) != one.sha256
        folder = recognised_folder(path) if path.is_dir() else None
        content = folder[1] if folder is not None else read_content(path)
    except AnalysisError:
        return True
    return content.digest != one.sha256


def _record_of(directory: Path) -> ImportRecord:
    path = directory / IMPORT
    try:
        return ImportRecord.model_validate_json(read_foreign(path, _MOST, within=directory, error=StoreError))
    except ValidationError as error:
        first = error.errors()[0]
        raise StoreError(
            f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}", hint="import the files again"
        ) from error


def _table(directory: Path, name: str, record: ImportRecord) -> pl.DataFrame:
    path = directory / name
    content = read_foreign(path, MOST_BYTES, within=directory, error=StoreError)
    if hashlib.sha256(content).hexdigest() != record.tables.get(name):
        raise StoreError(f"{path}: was changed since it was written", hint="import the files again")
    return read_parquet(path, content)


def _reading(record: ImportRecord, one: FileRecord, rows: Sequence[object]) -> Reading:
    return Reading(
        path=one.path,
        digest=one.sha256,
        format=record.reader,
        tool=record.tool,
        version=one.version,
        replicated=one.replicated,
        unit=one.unit,
        rows=rows,  # pyright: ignore[reportArgumentType]
        notes=tuple(Note(note.code, note.text) for note in one.notes),
        facts=one.facts,
        options=one.options,
        named=one.named,
        subjects=one.subjects,
        commits=one.commits,
    )
