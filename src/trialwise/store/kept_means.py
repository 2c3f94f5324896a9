"""Means over sampled flow lists, kept in the experiment directory so that the next command need not compute them again."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from trialwise.errors import StoreError
from trialwise.foreign_files import read_foreign
from trialwise.store.files import write_whole
from trialwise.store.untouched import scratch_folder

if TYPE_CHECKING:
    from pydantic import TypeAdapter

NAME = "drawn-means.json"
_LARGEST = 64 << 20
"""Maximum bytes of the file that are read."""
Entry = tuple[float, list[float], int]
"""For one metric: the level of its control, the means of its controls, and the number of lists they cover."""


@cache
def _format() -> TypeAdapter[dict[str, list[Entry]]]:
    from pydantic import TypeAdapter

    return TypeAdapter(dict[str, list[Entry]])


class KeptMeans:
    """The file `drawn-means.json` of an experiment directory.

    Everything in it can be recomputed: deleting it costs seconds, a broken file counts as absent, and if it cannot be
    written, nothing is kept.
    """

    def __init__(self, directory: Path) -> None:
        """Neither read nor write anything yet."""
        self._path = directory / NAME

    def read(self, key: str) -> list[Entry] | None:
        """Return what was written under a key."""
        return self._entries().get(key)

    def write(self, key: str, entries: Sequence[Entry]) -> None:
        """Add entries to those in the file, and write it as a whole, unless directories are to be left untouched."""
        if scratch_folder() is not None:
            return
        packed = _format().dump_json(self._entries() | {key: list(entries)}, indent=1)
        with contextlib.suppress(StoreError):
            write_whole(self._path, lambda file: file.write(packed))

    def _entries(self) -> dict[str, list[Entry]]:
        from pydantic import ValidationError

        try:
            packed = read_foreign(self._path, _LARGEST, within=self._path.parent, error=StoreError)
            return _format().validate_json(packed)
        except (StoreError, ValidationError):
            return {}
