"""Decompress archives of others in bounded memory, and bound what they unpack to."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from trialwise.errors import AnalysisError
from trialwise.exchange.tar_members import Content, TarError
from trialwise.extras import module_of
from trialwise.foreign_files import MEBIBYTE, megabytes

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_BYTES = 16 * 2**30
"""Maximum unpacked bytes of an archive; one that declares more is rejected before that much is read."""
MAX_MEMBERS = 200_000
MAX_RATIO = 250
"""Maximum ratio of unpacked to packed size above `_FREE` bytes: packet logs reach at most 50, bombs thousands."""
_MAX_MEMORY = 256 * MEBIBYTE
"""Maximum memory to unpack xz: `xz -9` takes 65 MiB, and a header may ask for 4 GiB."""
_MAX_WINDOW = 128 * MEBIBYTE
"""Maximum window of zstd, which `zstd --ultra -22` asks for; a header may ask for 3.75 TiB."""
_FREE = 64 * MEBIBYTE
PADDING = 2**20
"""Maximum bytes after the last member, more than any program writes."""
_HEAD = 6
_AT_ONCE = MEBIBYTE
DAMAGED = (TarError, lzma.LZMAError, zlib.error, EOFError, ValueError, OverflowError)
"""What reading a damaged archive raises."""


class Bounds:
    """Counts what was unpacked of an archive, and refuses more than one of its size may hold.

    Parameters
    ----------
    path
        The archive, for messages.
    packed
        Its size in bytes.
    most
        Bytes that are unpacked at most.
    hint
        What to try with a larger one.
    """

    def __init__(self, path: Path, packed: int, most: int, hint: str) -> None:
        self._path, self._packed, self._most, self._hint = path, packed, most, hint
        self._read = 0
        self._members = 0
        self.last = ""
        """Name of the member that is unpacked, for messages."""

    def begin(self, name: str, size: int) -> None:
        """Count a member of a stated size.

        Raises
        ------
        AnalysisError
            There are too many, or it says that it is too large.
        """
        self.last = name
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise self.too_much(f"more than {MAX_MEMBERS} files")
        self._check(size)

    def add(self, size: int) -> None:
        """Count bytes before they are unpacked.

        Raises
        ------
        AnalysisError
            They are too many.
        """
        self._check(size)
        self._read += size

    def _check(self, more: int) -> None:
        size = self._read + more
        if size > self._most:
            raise self.too_much(f"more than {self._most / 2**30:.3g} GiB{self._up_to()}")
        if size > max(_FREE, MAX_RATIO * self._packed):
            raise AnalysisError(
                f"{self._path}: holds {megabytes(size)} in {megabytes(self._packed)}{self._up_to()}, as no measurements do",
                hint="look what it is with `tar --list --verbose --file` or `unzip -v`",
            )

    def _up_to(self) -> str:
        return f" up to {self.last}" if self.last else ""

    def too_much(self, what: str) -> AnalysisError:
        """Return the error for an archive that holds too much."""
        return AnalysisError(f"{self._path}: holds {what}", hint=self._hint)


class _Zstd(io.RawIOBase):
    """The content of one frame of zstd after another, in bounded memory."""

    def __init__(self, packed: BinaryIO) -> None:
        zstandard = module_of("zstd", "zstandard", "archives of zstd need zstandard")
        reader = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
        self._broken = zstandard.ZstdError
        self._content = reader.stream_reader(packed, read_size=_AT_ONCE, read_across_frames=True)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        wanted = memoryview(buffer).cast("B")
        try:
            found = self._content.read(len(wanted))
        except self._broken as error:
            raise EOFError(str(error)) from error
        wanted[: len(found)] = found
        return len(found)


class _Xz(io.RawIOBase):
    """The content of one xz stream after another; unlike `lzma.LZMAFile`, in bounded memory."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MAX_MEMORY)

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
        self._stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MAX_MEMORY)
        return False


_COMPRESSIONS: dict[bytes, Callable[[BinaryIO], Content]] = {
    b"\xfd7zXZ\0": lambda packed: io.BufferedReader(_Xz(packed), _AT_ONCE),
    b"\x28\xb5\x2f\xfd": lambda packed: io.BufferedReader(_Zstd(packed), _AT_ONCE),
    b"\x1f\x8b": lambda packed: gzip.GzipFile(fileobj=packed),
    b"BZh": bz2.BZ2File,
}


def decompressed(packed: BinaryIO) -> Content:
    """Decompress the archive, whose first bytes tell how."""
    head = packed.read(_HEAD)
    packed.seek(0)
    for magic, opened in _COMPRESSIONS.items():
        if head.startswith(magic):
            return opened(packed)
    return packed
