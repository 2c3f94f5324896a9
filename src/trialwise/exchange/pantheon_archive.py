"""Read the results of a Pantheon test as Pantheon publishes them: a packed folder (`.tar.xz`, `.tar.gz`, `.tar.bz2`, `.tar`)."""

from __future__ import annotations

import bz2
import dataclasses
import gzip
import lzma
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import AnalysisError
from trialwise.exchange.pantheon_folder import is_pantheon_file, largest_file, pantheon_trials
from trialwise.foreign_files import MEBIBYTE, megabytes, open_foreign

ENDINGS = (".tar.xz", ".tar.gz", ".tar.bz2", ".txz", ".tgz", ".tbz2", ".tar")
MAX_BYTES = 16 * 2**30
"""Maximum unpacked bytes of an archive; one that declares more is rejected before that much is read."""
MAX_RESULTS = 4 * 2**30
"""Maximum bytes of its result files, which are unpacked."""
MAX_MEMBERS = 200_000
MAX_RATIO = 250
"""Maximum ratio of unpacked to packed size above `_FREE` bytes: packet logs reach at most 50, bombs thousands."""
_FREE = 64 * MEBIBYTE
_PADDING = 2**20
"""Maximum bytes after the last member, more than any program writes."""
_MAX_AT_ONCE = 2 * MEBIBYTE
_HEAD = 6
_Packed = lzma.LZMAFile | gzip.GzipFile | bz2.BZ2File
_Content = BinaryIO | _Packed
_COMPRESSIONS: dict[bytes, Callable[[BinaryIO], _Packed]] = {
    b"\xfd7zXZ\0": lzma.LZMAFile,
    b"\x1f\x8b": lambda packed: gzip.GzipFile(fileobj=packed),
    b"BZh": bz2.BZ2File,
}
_DAMAGED = (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, ValueError, OverflowError)


def is_packed(path: Path) -> bool:
    """Return True if a file's name is that of an archive."""
    return path.name.lower().endswith(ENDINGS)


def packed_trials(path: Path, name: str, most: int = MAX_BYTES) -> TrialSet:
    """Return the runs of all schemes of a packed folder as trials (`pantheon_trials`).

    The files needed are unpacked to the system's folder for temporary files, under names of our own, and removed again:
    wherever the archive says that its members go, nothing is written elsewhere. Links and devices are skipped.

    Raises
    ------
    AnalysisError
        The archive is damaged or too large, holds no folder of results or several, or its runs cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="trialwise-") as text:
        folder = Path(text)
        _unpack(path, folder, most)
        try:
            found = pantheon_trials(folder, name)
        except AnalysisError as error:
            raise AnalysisError(error.message.replace(text, str(path)), hint=error.hint) from error
        return dataclasses.replace(found, notes=tuple(note.replace(text, str(path)) for note in found.notes))


def _unpack(path: Path, folder: Path, most: int) -> None:
    """Unpack the result files into one folder."""
    try:
        with (
            open_foreign(path) as packed,
            _unpacked(packed) as content,
            tarfile.open(fileobj=cast("BinaryIO", _Sparing(content)), mode="r:") as archive,
        ):
            source = _copy(path, archive, folder, most)
            content.read(_PADDING)  # the checksum follows it
    except _DAMAGED as error:
        raise AnalysisError(
            f"{path}: is not a complete archive: {error}", hint="was it copied or downloaded to its end?"
        ) from error
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be unpacked: {error.strerror or error}") from error
    if source is None:
        raise AnalysisError(
            f"{path}: holds no results of a Pantheon test",
            hint="pantheon_perf.json, or logs of runs (SCHEME_datalink_runN.log), are looked for",
        )


def _unpacked(packed: BinaryIO) -> _Content:
    """Decompress the archive, whose first bytes tell how."""
    head = packed.read(_HEAD)
    packed.seek(0)
    for magic, opened in _COMPRESSIONS.items():
        if head.startswith(magic):
            return opened(packed)
    return packed


class _Sparing:
    """A file that limits the size of a read: tarfile reads a header of any length that the header declares."""

    def __init__(self, content: _Content) -> None:
        self._content = content
        self.seek, self.tell = content.seek, content.tell

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MAX_AT_ONCE:
            raise tarfile.ReadError(f"a header of {size} bytes")
        return self._content.read(size)


def _copy(path: Path, archive: tarfile.TarFile, folder: Path, most: int) -> PurePosixPath | None:
    """Copy the members that hold results into a folder; return their place in the archive, None if there are none."""
    source: PurePosixPath | None = None
    left = MAX_RESULTS
    for member in _wanted(path, archive, most):
        place = PurePosixPath(member.name)
        if source not in (None, place.parent):
            raise AnalysisError(
                f"{path}: holds results in {source} and in {place.parent}",
                hint="unpack it and name one of the folders",
            )
        source = place.parent
        left -= member.size
        if member.size > largest_file(place.name) or left < 0:
            raise _too_much(path, f"{place.name} of {megabytes(member.size)}, which is more than is read")
        content = archive.extractfile(member)
        if content is not None:
            with content, (folder / place.name).open("wb") as file:
                shutil.copyfileobj(content, file)
    return source


def _wanted(path: Path, archive: tarfile.TarFile, most: int) -> Iterator[tarfile.TarInfo]:
    """Yield the members that hold results, and check that all members together stay within the limit."""
    packed = path.stat().st_size
    size = 0
    for count, member in enumerate(iter(archive.next, None), start=1):
        size += member.size
        if size > most:
            raise _too_much(path, f"more than {most / 2**30:.3g} GiB")
        if size > max(_FREE, MAX_RATIO * packed):
            raise _too_much(path, f"{megabytes(size)} in {megabytes(packed)}, as no logs of packets do")
        if count > MAX_MEMBERS:
            raise _too_much(path, f"more than {MAX_MEMBERS} files")
        if member.isreg() and is_pantheon_file(PurePosixPath(member.name).name):
            yield member


def _too_much(path: Path, what: str) -> AnalysisError:
    return AnalysisError(f"{path}: holds {what}", hint="unpack it where there is room, and name the folder")
