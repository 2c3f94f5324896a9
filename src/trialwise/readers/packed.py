"""Files that are packed: gzip, bzip2, xz and zstd, told by their first bytes, each with all its parts one after another."""

from __future__ import annotations

import bz2
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trialwise.errors import AnalysisError, PlanError
from trialwise.extras import module_of
from trialwise.foreign_files import MEBIBYTE, megabytes, unpacked_gzip

_MOST_MEMORY = 256 * MEBIBYTE
"""Memory that xz, and the window of zstd, may ask for."""
_AT_ONCE = 4096
"""Bytes of zstd that are unpacked at once, since it has no limit: to at most 128 MiB."""


def unpacked(path: Path, data: bytes, most: int) -> bytes:
    """Unpack the content of a file that is packed, to at most `most` bytes; that of another is returned as it is.

    Raises
    ------
    AnalysisError
        It is damaged, cut, or too large; or it takes a package that is not installed.
    """
    for magic, unpack in _KINDS.items():
        if data.startswith(magic):
            return unpack(path, data, most)
    return data


def _unpacked_bzip2(path: Path, data: bytes, most: int) -> bytes:
    return _parts(path, data, most, bz2.BZ2Decompressor, "bzip2", (OSError, EOFError))


def _unpacked_xz(path: Path, data: bytes, most: int) -> bytes:
    def stream() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, _MOST_MEMORY)

    return _parts(path, data, most, stream, "xz", (lzma.LZMAError, EOFError))


def _parts(
    path: Path,
    data: bytes,
    most: int,
    opened: Callable[[], Any],
    kind: str,
    broken: tuple[type[Exception], ...],
) -> bytes:
    """Unpack one stream after another, as `pbzip2` and `cat` write them."""
    found: list[bytes] = []
    left = most + 1
    rest = data
    while rest:
        stream = opened()
        try:
            found.append(stream.decompress(rest, left))
        except broken as error:
            raise AnalysisError(f"{path}: is not a complete {kind} file: {error}") from error
        left -= len(found[-1])
        if left <= 0:
            raise _too_large(path, most)
        if not stream.eof:
            raise _cut(path, kind)
        rest = stream.unused_data.lstrip(b"\0")
    return b"".join(found)


def _unpacked_zstd(path: Path, data: bytes, most: int) -> bytes:
    try:
        zstandard = module_of("zstd", "zstandard", f"{path}: is compressed with zstd")
    except PlanError as error:
        raise AnalysisError(error.message, hint=f"{error.hint}; or unpack it with unzstd") from error
    unpacker = zstandard.ZstdDecompressor(max_window_size=_MOST_MEMORY)
    found: list[bytes] = []
    size = 0
    frame = unpacker.decompressobj()
    for begin in range(0, len(data), _AT_ONCE):
        rest = data[begin : begin + _AT_ONCE]
        while rest:
            if frame.eof:
                frame = unpacker.decompressobj()
            try:
                found.append(frame.decompress(rest))
            except zstandard.ZstdError as error:
                raise AnalysisError(f"{path}: is not a complete zstd file: {error}") from error
            size += len(found[-1])
            if size > most:
                raise _too_large(path, most)
            rest = frame.unused_data if frame.eof else b""
    if not frame.eof:
        raise _cut(path, "zstd")
    return b"".join(found)


def _too_large(path: Path, most: int) -> AnalysisError:
    return AnalysisError(f"{path}: holds more than {megabytes(most)}", hint="unpack it, and cut it")


def _cut(path: Path, kind: str) -> AnalysisError:
    return AnalysisError(
        f"{path}: is not a complete {kind} file", hint="was it copied or downloaded to its end?"
    )


_KINDS: dict[bytes, Callable[[Path, bytes, int], bytes]] = {
    b"\x1f\x8b": unpacked_gzip,
    b"BZh": _unpacked_bzip2,
    b"\xfd7zXZ\0": _unpacked_xz,
    b"\x28\xb5\x2f\xfd": _unpacked_zstd,
}
