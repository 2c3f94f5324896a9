"""Means over drawn flow lists, kept in the experiment directory so that the next command does not draw them again."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from trialwise.errors import StoreError
from trialwise.foreign_files import read_foreign
from trialwise.store.files import write_whole

NAME = "drawn-means.json"
_LARGEST = 64 << 20
"""Bytes of the file that are read."""
Entry = tuple[float, list[float], int]
"""Of one metric: the level that its control is of, the means of its controls, and over how many lists."""
_FORMAT = TypeAdapter(dict[str, list[Entry]])


class KeptMeans:
    """The file `drawn-means.json` of an experiment directory.

    It holds nothing that cannot be computed again: to delete it costs seconds, a file that is broken counts as none, and where
    none can be written nothing is kept.
    """

    def __init__(self, directory: Path) -> None:
        """Nothing is read or written yet."""
        self._path = directory / NAME

    def read(self, key: str) -> list[Entry] | None:
        """What was written under a key."""
        return self._entries().get(key)

    def write(self, key: str, entries: Sequence[Entry]) -> None:
        """Put entries beside those that are there, as one whole file."""
        packed = _FORMAT.dump_json(self._entries() | {key: list(entries)}, indent=1)
        with contextlib.suppress(StoreError):
            write_whole(self._path, lambda file: file.write(packed))

    def _entries(self) -> dict[str, list[Entry]]:
        try:
            packed = read_foreign(self._path, _LARGEST, within=self._path.parent, error=StoreError)
            return _FORMAT.validate_json(packed)
        except (StoreError, ValidationError):
            return {}
