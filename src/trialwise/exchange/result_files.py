"""Read results of other tools: recognise which tool wrote a file or folder, and return its trials."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import AnalysisError
from trialwise.exchange.pantheon_archive import is_packed, packed_trials
from trialwise.exchange.pantheon_folder import is_pantheon_folder, pantheon_trials
from trialwise.exchange.readings import trial_set
from trialwise.exchange.trials_table import TrialColumns, table_trials
from trialwise.foreign_files import absent
from trialwise.readers.content import Content
from trialwise.readers.distinguishing import with_names, with_options
from trialwise.readers.gathering import gather
from trialwise.readers.register import recognised
from trialwise.readers.tables.content import content_of
from trialwise.readers.tables.foreign import tool_of

KNOWN = (
    "an experiment directory, a Pantheon folder (also packed), files of a tool that `trialwise look` knows, "
    "or a table (CSV or Parquet)"
)
_MARK = b"\xef\xbb\xbf"


def read_trials(path: Path, columns: TrialColumns | None = None) -> TrialSet:
    """Read the trials of a file or folder that another tool wrote; `columns` gives the roles of a table's columns.

    Raises
    ------
    AnalysisError
        The file does not exist, was not written by a known tool, or holds no value.
    """
    name = str(path)
    if path.is_dir():
        return _folder(path, name)
    if not path.exists():
        raise absent(path, f"name {KNOWN}")
    if is_packed(path):
        return packed_trials(path, name)
    content = content_of(path)
    reader = recognised(Content(path, content))
    if reader is not None and not (reader.is_table and columns not in (None, TrialColumns())):
        _refuse_columns(path, columns)
        return trial_set([reader.reading(Content(path, content))], name)
    document = _json(path, content)
    if document is None:
        return table_trials(path, columns or TrialColumns(), name, content)
    _refuse_columns(path, columns)
    return _document(path, document, name)


def _refuse_columns(path: Path, columns: TrialColumns | None) -> None:
    if columns is not None and columns != TrialColumns():
        raise AnalysisError(f"{path}: is no table; --value and the like are for tables")


def _folder(path: Path, name: str) -> TrialSet:
    try:
        empty, pantheon = not any(path.iterdir()), is_pantheon_folder(path)
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be read: {error.strerror}") from error
    if pantheon:
        return pantheon_trials(path, name)
    if empty:
        raise AnalysisError(f"{path}: the folder is empty", hint=f"name {KNOWN}")
    return _of_one_tool(path, name)


def _of_one_tool(path: Path, name: str) -> TrialSet:
    """Read a folder with the files of one tool; what they do not tell apart, their names do."""
    gathered = gather([path])
    if not gathered.groups:
        said = "is neither an experiment directory nor a Pantheon folder, and holds no file of a known tool"
        raise AnalysisError(f"{path}: {said}", hint=f"name {KNOWN}")
    first, *others = gathered.groups
    if others:
        tools = ", ".join(
            f"{group.tool} ({group.format}, {len(group.readings)} files)" for group in gathered.groups
        )
        raise AnalysisError(
            f"{path}: holds results of several tools: {tools}",
            hint="name a folder, or a file, of one of them",
        )
    group, pattern = with_names(with_options(first))
    found = trial_set(group.readings, name)
    notes = [f"{one.path}: {one.why}, not read" for one in gathered.unread]
    notes += [f"{copy} is a copy of {first}, and counts once" for copy, first in gathered.copies]
    notes += [f"factors come from names of files: {pattern}"] if pattern else []
    return replace(found, notes=(*found.notes, *notes))


def _json(path: Path, content: bytes) -> object | None:
    """Parse a file whose first character opens an object or a list; None if it is not JSON."""
    if path.suffix != ".json" and content.removeprefix(_MARK).lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        if path.suffix == ".json" or path.name.endswith(".json.gz"):
            raise AnalysisError(
                f"{path}: is not a complete JSON document: {error}",
                hint="was the program that wrote it stopped?",
            ) from error
        return None


def _document(path: Path, document: object, name: str) -> TrialSet:
    tool = tool_of(document)
    if tool is not None and tool.reader:
        return import_module(f"trialwise.exchange.{tool.reader}").trials(path, document, name)
    if tool is not None:
        raise AnalysisError(f"{path}: is a result of {tool.name}, which is not read", hint=tool.hint)
    raise AnalysisError(f"{path}: is not a result of a known tool", hint=f"name {KNOWN}")
