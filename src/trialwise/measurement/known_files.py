"""The files of a machine's trials: those that commands name, and those seen in trials."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trialwise.measurement.file_identity import NamedFile, described
from trialwise.measurement.identity import FileIdentity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from trialwise.measurement.file_identity import Described, Role

    Describe = Callable[[Sequence[str]], Mapping[str, Described]]
    """Describes existing files: for each path the result of `file_identity.described`."""


@dataclass(frozen=True, slots=True)
class _Known:
    path: str
    role: Role
    treatments: tuple[str, ...]


def describe_here(paths: Sequence[str]) -> dict[str, Described]:
    """Describe files of this machine."""
    found = ((path, described(path)) for path in paths)
    return {path: each for path, each in found if each is not None}


class KnownFiles:
    """A set of files by name; names below `folder`, the experiment's, are relative to it."""

    def __init__(self, folder: Path) -> None:
        self._folder = os.path.abspath(folder)  # noqa: PTH100 links are not to be followed
        self._files: dict[str, _Known] = {}
        self.volatile: set[str] = set()
        self.of_services: set[str] = set()

    @property
    def paths(self) -> list[str]:
        """Return the paths of the files."""
        return [each.path for each in self._files.values()]

    def name(self, file: NamedFile) -> tuple[str, str]:
        """Return a file's name and its full path."""
        path = os.path.abspath(os.path.join(self._folder, file.path))  # noqa: PTH100, PTH118 as above
        inside = path.startswith(self._folder + os.sep)
        return (path[len(self._folder) + 1 :] if inside else path), path

    def add(self, files: Iterable[NamedFile], *, of_services: bool = False) -> None:
        """Add files that commands name; those that only `of_services` do may be written by these."""
        for file in files:
            name, path = self.name(file)
            if name not in self.volatile and name not in self._files:
                self._files[name] = _Known(path, file.role, ())
                self.of_services.update([name] if of_services else [])

    def recall(self, files: Iterable[FileIdentity], volatile: Iterable[str]) -> None:
        """Add files seen in trials of an earlier session, and leave out those that trials write."""
        self.drop(volatile)
        for file in files:
            path = os.path.join(self._folder, file.name)  # noqa: PTH118 as above
            if file.treatments and file.name not in self.volatile:
                self._files.setdefault(file.name, _Known(path, file.role, file.treatments))

    def learn(self, treatment: str, files: Iterable[NamedFile]) -> bool:
        """Add files seen in a trial of a treatment; return True if one is new."""
        news = False
        for file in files:
            name, path = self.name(file)
            known = self._files.get(name)
            news |= known is None and name not in self.volatile
            if name in self.volatile or (known is not None and not known.treatments):
                continue
            treatments = () if known is None else known.treatments
            if treatment not in treatments:
                self._files[name] = _Known(path, file.role, (*treatments, treatment))
        return news

    def is_of_command(self, name: str) -> bool:
        """Return True if a command names the file and runs it; such a file can never be left out."""
        known = self._files.get(name)
        return known is not None and not known.treatments and known.role != "input"

    def inputs(self) -> dict[str, str]:
        """Return the paths of input files by name."""
        return {name: each.path for name, each in self._files.items() if each.role == "input"}

    def drop(self, names: Iterable[str]) -> None:
        """Leave out files that trials write themselves."""
        for name in names:
            self.volatile.add(name)
            self._files.pop(name, None)

    def forget(self, names: Iterable[str | None]) -> None:
        """Leave out files that trials no longer use."""
        for name in names:
            self._files.pop(name or "", None)

    def identified(self, describe: Describe = describe_here) -> tuple[FileIdentity, ...]:
        """Describe the files that exist now."""
        found = describe(self.paths)
        return tuple(
            FileIdentity(name, *found[each.path], each.role, each.treatments)
            for name, each in self._files.items()
            if each.path in found
        )
