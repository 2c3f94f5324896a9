"""Read results of other tools: recognise which tool wrote files or a folder, and return what they say of trials."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from trialwise.analysis.recorded import Recorded
from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import AnalysisError
from trialwise.exchange.imported import imported_results
from trialwise.exchange.pantheon_archive import is_packed
from trialwise.exchange.pantheon_folder import is_pantheon_folder
from trialwise.exchange.pantheon_results import NO_ORDER, folder_results, packed_results
from trialwise.exchange.recorded_readings import recorded
from trialwise.exchange.trials_table import TrialColumns, table_trials
from trialwise.foreign_files import absent
from trialwise.numbers import counted
from trialwise.readers.content import Content
from trialwise.readers.distinguishing import told_apart
from trialwise.readers.gathering import Gathered, Group, gather
from trialwise.readers.register import recognised
from trialwise.readers.tables.content import content_of
from trialwise.readers.tables.foreign import tool_in, tool_of
from trialwise.readers.tables.reader import TABLES
from trialwise.store.directory import is_imported

KNOWN = (
    "an experiment directory, a Pantheon folder (also packed), files of a tool that `trialwise look` knows, "
    "or a table (CSV or Parquet)"
)


class NothingKnownError(AnalysisError):
    """A folder without a file of a known tool."""


_MARK = b"\xef\xbb\xbf"


def read_trials(path: Path, columns: TrialColumns | None = None) -> TrialSet:
    """Read the trials of one file or folder; as `read_results`."""
    return read_results([path], columns).trials


def read_results(
    paths: Sequence[Path], columns: TrialColumns | None = None, pattern: str | None = None
) -> Recorded:
    """Read what other programs recorded in files and folders that belong together.

    Parameters
    ----------
    paths
        A Pantheon folder (also packed), a table, or files and folders with files of one tool.
    columns
        The roles of a table's columns.
    pattern
        How names of files give factors; None: guessed where the files do not tell.

    Raises
    ------
    AnalysisError
        A file does not exist, was not written by a known tool, or holds no value; or there are results of several tools.
    """
    told = columns is not None and columns != TrialColumns()
    path, name = paths[0], str(paths[0])
    found = tool_results(paths, pattern, told=told, guess=True)
    if isinstance(found, Recorded):
        if told and path.is_file() and not is_packed(path):
            raise _no_table(path)
        return found
    content = found
    _check_json(path, content, told=told)
    return Recorded(trials=table_trials(path, columns or TrialColumns(), name, content))


def tool_results(
    paths: Sequence[Path], pattern: str | None = None, *, told: bool = False, guess: bool = False
) -> Recorded | bytes:
    """Read what a known tool wrote; the content of one file that no reader of a tool knows, which may be a table.

    Parameters
    ----------
    paths, pattern
        As in `read_results`.
    told
        Whether the roles of columns are given: then a file that is a table, too, is read as one.
    guess
        Whether the tables of a folder are read, whose columns nobody names.

    Raises
    ------
    AnalysisError
        As `read_results`.
    """
    path, name = paths[0], _name(paths)
    if len(paths) > 1:
        return _of_one_tool(paths, name, pattern, guess=guess)
    if path.is_dir():
        return _folder(path, name, pattern, guess=guess)
    if not path.exists():
        raise absent(path, f"name {KNOWN}")
    if is_packed(path):
        return packed_results(path, name)
    content = Content(path, content_of(path))
    reader = recognised(content)
    if reader is None:
        return _of_pantheon(path, content.data, name) or content.data
    if reader.is_table and told:
        return content.data
    return _of_group(Group(reader.tool, reader.name, (reader.reading(content),)), name, pattern)


def _name(paths: Sequence[Path]) -> str:
    return str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def _no_table(path: Path) -> AnalysisError:
    return AnalysisError(f"{path}: is no table; --value and the like are for tables")


def _folder(path: Path, name: str, pattern: str | None, *, guess: bool) -> Recorded:
    if is_imported(path):
        return imported_results(path, name)
    try:
        empty, pantheon = not any(path.iterdir()), is_pantheon_folder(path)
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be read: {error.strerror}") from error
    if pantheon:
        return folder_results(path, name)
    if empty:
        raise NothingKnownError(f"{path}: the folder is empty", hint=f"name {KNOWN}")
    return _of_one_tool([path], name, pattern, guess=guess)


def _of_one_tool(paths: Sequence[Path], name: str, pattern: str | None, *, guess: bool) -> Recorded:
    """Read files of one tool; what they do not tell apart, their names do."""
    gathered = gather(paths)
    if not guess and all(group.format in TABLES for group in gathered.groups):
        gathered = replace(gathered, groups=())
    if not gathered.groups:
        raise _nothing_known(paths, gathered)
    notes = [f"{one.path}: {one.why}, not read" for one in gathered.unread]
    notes += [f"{copy} is a copy of {first}, and counts once" for copy, first in gathered.copies]
    return _of_group(of_one_tool(gathered, name), name, pattern, notes)


def of_one_tool(gathered: Gathered, name: str) -> Group:
    """Return the only group of files.

    Raises
    ------
    AnalysisError
        There are several.
    """
    first, *others = gathered.groups
    if others:
        tools = ", ".join(
            f"{group.tool} ({group.format}, {counted(len(group.readings), 'file')})"
            for group in gathered.groups
        )
        raise AnalysisError(
            f"{name}: holds results of several tools: {tools}",
            hint="name a folder, or a file, of one of them",
        )
    return first


def _nothing_known(paths: Sequence[Path], gathered: Gathered) -> AnalysisError:
    if len(paths) > 1 and gathered.unread:
        first = gathered.unread[0]
        return AnalysisError(f"{first.path}: {first.why}", hint=first.hint or f"name {KNOWN}")
    said = "is neither an experiment directory nor a Pantheon folder, and holds no file of a known tool"
    return NothingKnownError(f"{paths[0]}: {said}", hint=f"name {KNOWN}")


def _of_group(group: Group, name: str, pattern: str | None, notes: Sequence[str] = ()) -> Recorded:
    named, shown = told_apart(group, pattern)
    found = recorded(named.readings, name)
    shown_notes = [f"factors come from names of files: {shown}"] if shown else []
    trials = replace(found.trials, notes=(*found.trials.notes, *notes, *shown_notes))
    return replace(found, trials=trials)


def _of_pantheon(path: Path, content: bytes, name: str) -> Recorded | None:
    """Read a `pantheon_perf.json`, whatever its name is; None if it is something else."""
    tool = tool_in(content)
    if tool is None or not tool.reader:
        return None
    trials = import_module(f"trialwise.exchange.{tool.reader}").trials(path, name)
    return Recorded(trials=trials, no_order=NO_ORDER)


def _check_json(path: Path, content: bytes, *, told: bool) -> None:
    """Refuse a file whose first character opens an object or a list, if it is JSON or called so: it is no table."""
    if path.suffix != ".json" and content.removeprefix(_MARK).lstrip()[:1] not in (b"{", b"["):
        return
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        if path.suffix == ".json" or path.name.endswith(".json.gz"):
            raise AnalysisError(
                f"{path}: is not a complete JSON document: {error}",
                hint="was the program that wrote it stopped?",
            ) from error
        return
    tool = tool_of(document)
    if told:
        raise _no_table(path)
    if tool is not None:
        raise AnalysisError(f"{path}: is a result of {tool.name}, which is not read", hint=tool.hint)
    raise AnalysisError(f"{path}: is not a result of a known tool", hint=f"name {KNOWN}")
