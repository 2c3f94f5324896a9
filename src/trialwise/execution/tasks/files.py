"""The files that trials are computed from beside their tasks: a node has to have the same ones, or it would give other bits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from trialwise.execution.tasks.computing import Batch
from trialwise.measurement.file_identity import digest_of

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
