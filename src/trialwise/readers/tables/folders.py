"""The contents of a folder that is not an experiment directory, for the error message."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from trialwise.errors import AnalysisError, StoreError
from trialwise.readers.tables.content import content_of
from trialwise.readers.tables.foreign import foreign

_MAX_FILES = 100
_MAX_BYTES = 4 << 20
_PANTHEON = re.compile(
    r"pantheon_(?:perf|metadata)\.json|.+_(?:datalink|acklink)_run\d+(?:_flow\d+_uid.+)?\.log(?:\.\w+)?"
)


def folder_error(path: Path) -> StoreError:
    """Return the error for a folder given to a command that reads experiment directories and tables."""
    try:
        kinds = Counter(islice(_kinds(path), _MAX_FILES))
    except OSError as error:
        return StoreError(f"{path}: cannot be read: {error.strerror}")
    if not kinds:
        return StoreError(f"{path}: no ledger here: the folder is empty", hint="name an experiment directory")
    kind, count = kinds.most_common(1)[0]
    files = "1 file" if count == 1 else f"{count} files"
    hints = {
        "of a Pantheon test": "`trialwise analyze`, `report`, `order` and `compare` read it",
        "other folders": "name one of them",
        "tables or texts": "name one of its files",
    }
    what = (
        kind
        if kind == "other folders"
        else f"{files}: {kind}"
        if kind.startswith("JSON")
        else f"{files} {kind}"
    )
    if kind == "tables or texts":
        what = f"{files}, {kind}"
    return StoreError(
        f"{path}: no ledger here: the folder is not an experiment directory, and holds {what}",
        hint=hints.get(kind, "name an experiment directory, or a table of their values (CSV)"),
    )


def _kinds(path: Path) -> Iterator[str]:
    """Yield the type of each file in a folder, except hidden files and links."""
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            if entry.is_dir():
                yield "other folders"
            elif entry.is_file() and _PANTHEON.fullmatch(entry.name):
                yield "of a Pantheon test"
            elif entry.is_file() and entry.stat().st_size <= _MAX_BYTES:
                yield _kind(Path(entry.path))


def _kind(path: Path) -> str:
    try:
        found = foreign(content_of(path))
    except AnalysisError:
        found = None
    return "tables or texts" if found is None else found.what
