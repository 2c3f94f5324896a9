"""What cheap engines gave for flow lists, kept in the experiment directory so that the next command need not simulate them again."""

from __future__ import annotations

import contextlib
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from trialwise.errors import StoreError
from trialwise.experiment.kept_lists import KeptLists
from trialwise.foreign_files import read_foreign
from trialwise.store.files import write_whole
from trialwise.store.untouched import scratch_folder

NAME = "engine-lists.json"
_LARGEST = 256 << 20
"""Maximum bytes of the file that are read."""


_FORMAT = TypeAdapter(dict[str, KeptLists])


class KeptEngines:
    """The file `engine-lists.json` of an experiment directory: as easily lost as `drawn-means.json`, and dearer to make again."""

    def __init__(self, directory: Path) -> None:
        """Neither read nor write anything yet."""
        self._path = directory / NAME
        self._entries: dict[str, KeptLists] | None = None

    def read(self, key: str) -> KeptLists:
        """Return what was written under a key; empty if nothing was."""
        return self._read().get(key, KeptLists())

    def write(self, key: str, lists: KeptLists) -> None:
        """Put lists under a key, and write the file as a whole, unless directories are to be left untouched."""
        entries = self._read()
        entries[key] = lists
        if scratch_folder() is not None:
            return
        packed = _FORMAT.dump_json(entries)
        with contextlib.suppress(StoreError):
            write_whole(self._path, lambda file: file.write(packed))

    def _read(self) -> dict[str, KeptLists]:
        if self._entries is None:
            try:
                packed = read_foreign(self._path, _LARGEST, within=self._path.parent, error=StoreError)
                self._entries = _FORMAT.validate_json(packed)
            except (StoreError, ValidationError):
                self._entries = {}
        return self._entries
