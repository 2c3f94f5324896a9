"""What computed trials depend on besides their tasks: files and a build, which each node must also have, or its bits would differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict

from trialwise.execution.tasks.worker_process import Batch
from trialwise.measurement.build import Build, own_build
from trialwise.measurement.file_identity import described
from trialwise.measurement.identity import Change, FileIdentity, Identity


class FileDigests:
    """The files of each treatment as they were at its first request."""

    def __init__(self) -> None:
        self._of: dict[tuple[object, ...], tuple[FileIdentity, ...]] = {}

    def of(self, batch: Batch) -> Identity:
        """Return what the trials of a batch need: their files, and our build."""
        found: dict[str, FileIdentity] = {}
        for task in batch.tasks:
            treatment = tuple(task.factors.items())
            if treatment not in self._of:
                attached = batch.kind.attachments(task.experiment, [task.factors])
                self._of[treatment] = tuple(map(_needed, (str(path) for _, path in attached)))
            found |= {each.name: each for each in self._of[treatment]}
        return computed_from(own_build(), found.values())


def computed_from(build: Build, files: Iterable[FileIdentity] = ()) -> Identity:
    """Return what computed trials depend on: no machine, but a build and files."""
    return Identity({}, tuple(files), build=asdict(build))


def differing(needed: Identity) -> tuple[Change, ...]:
    """Return how this process differs from what trials need."""
    here = computed_from(own_build(), _identified(each.name for each in needed.files))
    return here.changes(needed)


def in_words(changes: Iterable[Change]) -> str:
    """Describe how a node differs."""
    return ", ".join(_text(change) for change in changes)


_WORDS = {"core": "the compiled core", "code": "the code of trialwise", "python": "Python", "numpy": "NumPy"}


def _text(change: Change) -> str:
    if change.kind == "file":
        return f"no file {change.name}" if change.after is None else f"another file {change.name}"
    return f"{_WORDS.get(change.name, change.name)} {change.after} instead of {change.before}"


def _needed(path: str) -> FileIdentity:
    """Describe a file; one that is missing here matches no other, so that no node has it."""
    return next(_identified([path]), FileIdentity(path, path, "", 0, role="input"))


def _identified(paths: Iterable[str]) -> Iterator[FileIdentity]:
    """Describe the files that exist."""
    for path in paths:
        if (found := described(path)) is not None:
            yield FileIdentity(path, *found, role="input")
