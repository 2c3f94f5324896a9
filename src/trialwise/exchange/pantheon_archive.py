"""Read the results of a Pantheon test as Pantheon publishes them: a packed folder (`.tar.xz`, `.tar.gz`, `.tar.bz2`, `.tar`)."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from trialwise.errors import AnalysisError
from trialwise.exchange.pantheon_folder import is_pantheon_file, largest_file
from trialwise.exchange.tar_members import Content, Member, Tar, TarError
from trialwise.foreign_files import MEBIBYTE, megabytes, open_foreign
from trialwise.temporary import vanishing_folder

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

ENDINGS = (".tar.xz", ".tar.gz", ".tar.bz2", ".txz", ".tgz", ".tbz2", ".tar")
MAX_BYTES = 16 * 2**30
"""Maximum unpacked bytes of an archive; one that declares more is rejected before that much is read."""
MAX_RESULTS = 4 * 2**30
"""Maximum bytes of its result files, which are unpacked."""
MAX_MEMBERS = 200_000
MAX_RATIO = 250
"""Maximum ratio of unpacked to packed size above `_FREE` bytes: packet logs reach at most 50, bombs thousands."""
MAX_MEMORY = 256 * MEBIBYTE
"""Maximum memory to unpack xz: `xz -9` takes 65 MiB, and a header may ask for 4 GiB."""
_FREE = 64 * MEBIBYTE
_PADDING = 2**20
"""Maximum bytes after the last member, more than any program writes."""
_HEAD = 6
_AT_ONCE = MEBIBYTE
Read = TypeVar("Read")
_DAMAGED = (TarError, lzma.LZMAError, zlib.error, EOFError, ValueError, OverflowError)


class _Xz(io.RawIOBase):
    """The content of one xz stream after another; unlike `lzma.LZMAFile`, in bounded memory."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, MAX_MEMORY)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        wanted = memoryview(buffer).cast("B")
        found = b""
        while not found and not (self._stream.eof and self._is_last()):
            more = self._packed.read(_AT_ONCE) if self._stream.needs_input else b""
            if not more and self._stream.needs_input:
                raise EOFError("the compressed data end too early")
            found = self._stream.decompress(more, len(wanted))
        wanted[: len(found)] = found
        return len(found)

    def _is_last(self) -> bool:
        """Begin the next stream, which padding of zeros may precede; return True if there is none."""
        rest = self._stream.unused_data.lstrip(b"\0")
        while not rest:
            more = self._packed.read(_AT_ONCE)
            if not more:
                return True
            rest = more.lstrip(b"\0")
        self._packed.seek(-len(rest), io.SEEK_CUR)
        self._stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, MAX_MEMORY)
        return False


_COMPRESSIONS: dict[bytes, Callable[[BinaryIO], Content]] = {
    b"\xfd7zXZ\0": lambda packed: io.BufferedReader(_Xz(packed), _AT_ONCE),
    b"\x1f\x8b": lambda packed: gzip.GzipFile(fileobj=packed),
    b"BZh": bz2.BZ2File,
}


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
        self._packed_size = 0
        self._read = 0
        self._results = 0
        self._source: PurePosixPath | None = None
        self._last = ""
        self._notes: list[str] = []

    def run(self) -> list[str]:
        """Unpack; return notes on what was left out."""
        try:
            with open_foreign(self._path) as packed:
                self._packed_size = self._path.stat().st_size
                self._content = _unpacked(packed)
                tar = Tar(self)
                for count, member in enumerate(tar, start=1):
                    self._take(tar, member, count)
                self._content.read(_PADDING)  # the checksum follows it
        except _DAMAGED as error:
            where = f", behind {self._last}" if self._last else ""
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
        self._check(size)
        self._read += size
        return self._content.read(size)

    def _check(self, more: int) -> None:
        """Refuse more bytes than an archive of this size may hold."""
        size = self._read + more
        if size > self._most:
            raise self._too_much(f"more than {self._most / 2**30:.3g} GiB{self._up_to()}")
        if size > max(_FREE, MAX_RATIO * self._packed_size):
            packed = megabytes(self._packed_size)
            raise AnalysisError(
                f"{self._path}: holds {megabytes(size)} in {packed}{self._up_to()}, as no logs of packets do",
                hint="look what it is with `tar --list --verbose --file`",
            )

    def _up_to(self) -> str:
        return f" up to {self._last}" if self._last else ""

    def _take(self, tar: Tar, member: Member, count: int) -> None:
        """Copy a member that holds results; skip any other."""
        if count > MAX_MEMBERS:
            raise self._too_much(f"more than {MAX_MEMBERS} files")
        self._last = member.name
        self._check(member.size)
        place = PurePosixPath(member.name)
        if not is_pantheon_file(place.name):
            return
        if member.kind != "file":
            self._notes.append(f"left out: {place} is a {member.kind}")
            return
        self._check_place(place)
        self._results += member.size
        if member.size > largest_file(place.name) or self._results > MAX_RESULTS:
            raise self._too_much(f"{place.name} of {megabytes(member.size)}, which is more than is read")
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

    def _too_much(self, what: str) -> AnalysisError:
        hint = "unpack it where there is room, and name the folder"
        return AnalysisError(f"{self._path}: holds {what}", hint=hint)


_WANTED = "pantheon_perf.json, or logs of runs (SCHEME_datalink_runN.log), are looked for"


def _unpacked(packed: BinaryIO) -> Content:
    """Decompress the archive, whose first bytes tell how."""
    head = packed.read(_HEAD)
    packed.seek(0)
    for magic, opened in _COMPRESSIONS.items():
        if head.startswith(magic):
            return opened(packed)
    return packed
