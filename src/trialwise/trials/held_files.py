"""The files that a path names (traces, series of delay and loss), each read once, so that nothing depends on them afterwards.

A name may be a pipe (`<(…)` of a shell), a file that a script removes while the path is up, or one that is edited between two trials.
What is read the first time is held in memory, and links name that.
"""

from __future__ import annotations

import dataclasses
import os
import weakref
from collections.abc import Iterator
from pathlib import Path

from trialwise.errors import PlanError
from trialwise.experiment.trials import Groups, PathSettings
from trialwise.foreign_files import MEBIBYTE, read_foreign

LARGEST = 640 * MEBIBYTE
"""Bytes: more than the 50 million lines that a trace may have."""
_KINDS = ("trace", "series")


def files_named(groups: Groups) -> Iterator[str]:
    """The names of the files that links of these groups are read from."""
    for group in groups:
        yield from (found[1] for key, text in group if (found := _split(key, text)))


def _split(key: str, text: str) -> tuple[str, str, str] | None:
    """What stands before the name of a file, the name, and what stands behind it; None where a value names none."""
    kind, colon, rest = text.partition(":")
    if kind.strip() not in _KINDS or not colon:
        return None
    if (key, kind.strip()) == ("loss", "series"):  # which has no arguments
        return kind + colon, rest.strip(), ""
    name, comma, arguments = rest.partition(",")
    return kind + colon, name.strip(), comma + arguments


class HeldFiles:
    """Files as they were when they were first asked for; they end with this object."""

    def __init__(self) -> None:
        self._copies: dict[Path, int] = {}
        weakref.finalize(self, _close, self._copies)

    def __reduce__(self) -> tuple[type[HeldFiles], tuple[()]]:
        """Another process reads for itself."""
        return HeldFiles, ()

    def held(self, settings: PathSettings) -> PathSettings:
        """The same path, whose files are those held.

        Raises
        ------
        PlanError
            A file cannot be read.
        """
        return dataclasses.replace(
            settings,
            uplink=self.groups(settings.uplink, settings.folder),
            downlink=self.groups(settings.downlink, settings.folder),
        )

    def groups(self, groups: Groups, folder: str) -> Groups:
        """Links whose files, named as from `folder`, are those held; PlanError where one cannot be read."""
        return tuple(tuple((key, self._text(key, text, folder)) for key, text in group) for group in groups)

    def content(self, name: str, folder: str) -> str:
        """What stands in a file that is named as from `folder`; PlanError where it cannot be read or is no text."""
        copy = self._copy(Path(folder) / name)
        try:
            return Path(_name(copy)).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise PlanError(f"{Path(folder) / name}: is no text") from error

    def as_held(self, path: Path) -> Path:
        """Where a file can be read as it was: in memory if it is held, else in its place."""
        return Path(_name(self._copies[path])) if path in self._copies else path

    def in_own_words(self, message: str) -> str:
        """A message with the names of the files in place of those of what is held."""
        for path, copy in self._copies.items():
            message = message.replace(_name(copy), str(path))
        return message

    def _text(self, key: str, text: str, folder: str) -> str:
        found = _split(key, text)
        return f"{found[0]}{_name(self._copy(Path(folder) / found[1]))}{found[2]}" if found else text

    def _copy(self, path: Path) -> int:
        if path not in self._copies:
            content = read_foreign(path, LARGEST, pipe=True, error=PlanError)
            self._copies[path] = os.memfd_create("held", os.MFD_CLOEXEC)
            Path(_name(self._copies[path])).write_bytes(content)
        return self._copies[path]


def _name(copy: int) -> str:
    return f"/proc/{os.getpid()}/fd/{copy}"


def _close(copies: dict[Path, int]) -> None:
    for copy in copies.values():
        os.close(copy)
