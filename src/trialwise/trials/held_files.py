"""Hold the files that a path names (traces, series of delay and loss): each is read once, and nothing depends on it afterwards.

A name may be a pipe (`<(…)` of a shell), a file that a script removes while the path is up, or one edited between two trials.
The first content read is held in memory, and links refer to that.
"""

from __future__ import annotations

import dataclasses
import os
import weakref
from collections.abc import Iterator
from pathlib import Path

from trialwise.errors import PlanError
from trialwise.experiment.text import frozen_name
from trialwise.experiment.trials import Groups, PathSettings
from trialwise.foreign_files import MEBIBYTE, read_foreign

LARGEST = 640 * MEBIBYTE
"""Maximum bytes: enough for the 50 million lines that a trace may have."""
_BARE = {("loss", "series"), ("outage", "series"), ("rate", "series")}
"""Elements whose file has no arguments behind it, so that its name may have commas."""
_KINDS = ("trace", "series", "recording")


def files_named(groups: Groups) -> Iterator[str]:
    """Yield the names of the files that links of these groups are read from."""
    for group in groups:
        yield from (found[1] for key, text in group if (found := _split(key, text)))


def with_frozen(groups: Groups, folder: Path, home: Path, named_in: Path) -> Groups:
    """Return links with the copies of files that an experiment holds which runs again from an artifact; names begin at `folder`.

    `home` is the folder with the copies, and `named_in` is `folder` as the experiment names it: copies have their names by that.
    """
    return tuple(
        tuple((key, _frozen(key, text, folder, home, named_in)) for key, text in group) for group in groups
    )


def _frozen(key: str, text: str, folder: Path, home: Path, named_in: Path) -> str:
    if (found := _split(key, text)) is None:
        return text
    before, name, after = found
    copy = home / frozen_name(str(named_in / name))
    if copy == folder / name or not copy.is_file():
        return text
    return f"{before}{os.path.relpath(copy, folder)}{after}"


def _split(key: str, text: str) -> tuple[str, str, str] | None:
    """Split a value into the text before a file name, the name, and the text after it; None if it names no file."""
    kind, colon, rest = text.partition(":")
    if kind.strip() not in _KINDS or not colon:
        return None
    if (key, kind.strip()) in _BARE:
        return kind + colon, rest.strip(), ""
    name, comma, arguments = rest.partition(",")
    return kind + colon, name.strip(), comma + arguments


class HeldFiles:
    """Files as they were when first requested; they end with this object."""

    def __init__(self) -> None:
        self._copies: dict[Path, int] = {}
        weakref.finalize(self, _close, self._copies)

    def __reduce__(self) -> tuple[type[HeldFiles], tuple[()]]:
        """Pickle as empty: another process reads the files itself."""
        return HeldFiles, ()

    def held(self, settings: PathSettings) -> PathSettings:
        """Return the same path with the held files.

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
        """Return links with the held files; names are relative to `folder`. Raise PlanError if a file cannot be read."""
        return tuple(tuple((key, self._text(key, text, folder)) for key, text in group) for group in groups)

    def content(self, name: str, folder: str) -> str:
        """Return the content of a file named relative to `folder`; raise PlanError if it cannot be read or is not text."""
        copy = self._copy(Path(folder) / name)
        try:
            return Path(_name(copy)).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise PlanError(f"{Path(folder) / name}: is not text") from error

    def as_held(self, path: Path) -> Path:
        """Return a path at which a file can be read as it was: in memory if it is held, else its own path."""
        return Path(_name(self._copies[path])) if path in self._copies else path

    def in_own_words(self, message: str) -> str:
        """Replace the names of held files in a message by the files' own names."""
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
