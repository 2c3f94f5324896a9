"""The files that trials are computed from beside their tasks: a node has to have the same ones, or it would give other bits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from trialwise.execution.tasks.computing import Batch

Files = Mapping[str, str]
"""Digests of files by their paths."""


class FileBook:
    """Knows the files of each treatment as they were when it was first asked for them."""

    def __init__(self) -> None:
        self._of: dict[tuple[object, ...], Files] = {}

    def of(self, batch: Batch) -> Files:
        """The files that the trials of a batch need."""
        found: dict[str, str] = {}
        for task in batch.tasks:
            treatment = tuple(task.factors.items())
            if treatment not in self._of:
                attached = batch.kind.attachments(task.experiment, [task.factors])
                self._of[treatment] = {str(path): digest_of(path) for _, path in attached}
            found |= self._of[treatment]
        return found


def differing(files: Files) -> Iterator[str]:
    """What of these files is not the same here, in words."""
    for name, digest in files.items():
        path = Path(name)
        if not path.is_file():
            yield f"no file {name}"
        elif digest_of(path) != digest:
            yield f"another file {name}"


def digest_of(path: Path) -> str:
    """The digest of a file.

    Raises
    ------
    OSError
        It cannot be read.
    """
    state = path.stat()
    return _digest(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=256)
def _digest(path: Path, _size: int, _changed: int) -> str:
    """Read it once, as long as nobody changes it."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
