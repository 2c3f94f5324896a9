"""Read the results of a Pantheon test as Pantheon publishes them: a packed folder (`.tar.xz`, `.tar.gz`, `.tar.bz2`, `.tar`)."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeVar

from trialwise.errors import AnalysisError
from trialwise.exchange.pantheon_folder import is_pantheon_file, largest_file
from trialwise.exchange.tar_members import Content, Member, Tar
from trialwise.exchange.unpacking import DAMAGED, MAX_BYTES, PADDING, Bounds, decompressed
from trialwise.foreign_files import megabytes, open_foreign
from trialwise.temporary import vanishing_folder

ENDINGS = (".tar.xz", ".tar.gz", ".tar.bz2", ".txz", ".tgz", ".tbz2", ".tar")
MAX_RESULTS = 4 * 2**30
"""Maximum bytes of its result files, which are unpacked."""
Read = TypeVar("Read")


def is_packed(path: Path) -> bool:
    """Return True if a file's name is that of an archive."""
    return path.name.lower().endswith(ENDINGS)


def with_unpacked(
    path: Path, read: Callable[[Path], Read], most: int = MAX_BYTES
) -> tuple[Read, Callable[[Sequence[str]], tuple[str, ...]]]:
    """Return what `read` makes of the unpacked folder, and a function that turns its notes into those on the archive.

    The files needed are unpacked to the system's folder for temporary files, under names of our own, and removed again:
    wherever the archive says that its members go, nothing is written elsewhere. Links and devices are left out, and named in the
    notes.

    Raises
    ------
    AnalysisError
        The archive is damaged or too large, holds no folder of results, several, or a file twice, or its runs cannot be read.
    """
    with vanishing_folder("trialwise-") as folder:
        text = str(folder)
        left_out = _Unpacking(path, folder, most).run()
        try:
            found = read(folder)
        except AnalysisError as error:
            raise AnalysisError(error.message.replace(text, str(path)), hint=error.hint) from error
        return found, lambda notes: (*left_out, *(note.replace(text, str(path)) for note in notes))


class _Unpacking:
    """Unpacks the result files of an archive into one folder, and bounds what it reads and writes."""

    def __init__(self, path: Path, folder: Path, most: int) -> None:
        self._path, self._folder, self._most = path, folder, most
        self._content: Content = io.BytesIO()
        self._bounds = Bounds(path, 0, most, _TOO_MUCH)
        self._results = 0
        self._source: PurePosixPath | None = None
        self._notes: list[str] = []

    def run(self) -> list[str]:
        """Unpack; return notes on what was left out."""
        try:
            with open_foreign(self._path) as packed:
                self._bounds = Bounds(self._path, self._path.stat().st_size, self._most, _TOO_MUCH)
                self._content = decompressed(packed)
                tar = Tar(self)
                for member in tar:
                    self._take(tar, member)
                self._content.read(PADDING)  # the checksum follows it
        except DAMAGED as error:
            where = f", behind {self._bounds.last}" if self._bounds.last else ""
            raise AnalysisError(
                f"{self._path}: is not a complete archive{where}: {error}",
                hint="was it copied or downloaded to its end?",
            ) from error
        except OSError as error:
            raise AnalysisError(f"{self._path}: cannot be unpacked: {error.strerror or error}") from error
        if self._source is None:
            left = f" ({'; '.join(self._notes)})" if self._notes else ""
            raise AnalysisError(f"{self._path}: holds no results of a Pantheon test{left}", hint=_WANTED)
        return self._notes

    def read(self, size: int) -> bytes:
        """Read the unpacked archive, of which only so much is read."""
        self._bounds.add(size)
        return self._content.read(size)

    def _take(self, tar: Tar, member: Member) -> None:
        """Copy a member that holds results; skip any other."""
        self._bounds.begin(member.name, member.size)
        place = PurePosixPath(member.name)
        if not is_pantheon_file(place.name):
            return
        if member.kind != "file":
            self._notes.append(f"left out: {place} is a {member.kind}")
            return
        self._check_place(place)
        self._results += member.size
        if member.size > largest_file(place.name) or self._results > MAX_RESULTS:
            raise self._bounds.too_much(
                f"{place.name} of {megabytes(member.size)}, which is more than is read"
            )
        with (self._folder / place.name).open("xb") as file:
            file.writelines(tar.chunks())

    def _check_place(self, place: PurePosixPath) -> None:
        """Refuse a second folder of results, and a second file of a name."""
        if self._source not in (None, place.parent):
            raise AnalysisError(
                f"{self._path}: holds results in {self._source} and in {place.parent}",
                hint="unpack it and name one of the folders",
            )
        self._source = place.parent
        if (self._folder / place.name).exists():
            raise AnalysisError(
                f"{self._path}: holds {place} twice",
                hint="unpack it, look which one is right, and name the folder",
            )


_TOO_MUCH = "unpack it where there is room, and name the folder"
_WANTED = "pantheon_perf.json, or logs of runs (SCHEME_datalink_runN.log), are looked for"
