"""The content of a file or pipe, within bounds of memory and time."""

from __future__ import annotations

import os
import re
import select
import stat
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from trialwise.errors import AnalysisError

MOST_BYTES = 1 << 30
"""Bytes of a file that is read whole."""
MOST_STREAMED = 300 << 20
"""Bytes of what tells no size beforehand: a pipe, or the content of a compressed file."""
PATIENCE = 60.0
"""Seconds without a byte after which a pipe is given up."""

_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 20
_URL = re.compile(r"^([a-z][a-z0-9+.-]+):/", re.IGNORECASE)
_DESCRIPTOR = re.compile(r"^/(?:dev|proc/self)/fd/(\d+)$")


def content_of(path: Path) -> bytes:
    """Read a regular file or a pipe, and unpack what gzip packed.

    Raises
    ------
    AnalysisError
        There is no such file, it is a URL, a folder or a device, it cannot be read, or it is larger than the bounds.
    """
    try:
        with _opened(path) as descriptor:
            content = _read(path, descriptor)
    except OSError as error:
        raise unreadable(path, error) from error
    return unpacked(path, content) if content.startswith(_GZIP) else content


def unreadable(path: Path, error: OSError) -> AnalysisError:
    """What to say of a file that could not be opened or read; of a URL that it is one."""
    if is_url(path) and isinstance(error, FileNotFoundError):
        return absent(path, "")
    return AnalysisError(f"{path}: cannot be read: {error.strerror or error}")


def absent(path: Path, hint: str) -> AnalysisError:
    """What to say where there is no such file or folder; of a URL, that it is one."""
    if is_url(path):
        address = str(path).replace(":/", "://", 1)
        return AnalysisError(f"{address}: URLs are not read", hint="fetch the file first, and name the file")
    return AnalysisError(f"{path}: no such file or directory", hint=hint)


def is_url(path: Path) -> bool:
    """Whether a path was written as a URL (a path has lost one of its slashes)."""
    return _URL.match(str(path)) is not None


@contextmanager
def _opened(path: Path) -> Generator[int]:
    """A descriptor whose opening never waits."""
    own = _DESCRIPTOR.match("/dev/fd/0" if str(path) == "/dev/stdin" else str(path))
    # A pipe that is opened anew does not tell that its writer has gone.
    descriptor = (
        os.dup(int(own[1]))
        if own
        else os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    )
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read(path: Path, descriptor: int) -> bytes:
    found = os.fstat(descriptor)
    if stat.S_ISDIR(found.st_mode):
        raise AnalysisError(f"{path}: is a directory", hint="name a CSV or Parquet file")
    if stat.S_ISFIFO(found.st_mode):
        return b"".join(_streamed(path, descriptor))
    if not stat.S_ISREG(found.st_mode):
        raise AnalysisError(
            f"{path}: is a device or a socket", hint="name a file, or give its data by a pipe"
        )
    if found.st_size > MOST_BYTES:
        raise AnalysisError(
            f"{path}: holds {found.st_size >> 20} MiB; at most {MOST_BYTES >> 20} MiB are read",
            hint="keep the columns and rows that are wanted, or write it as Parquet",
        )
    with os.fdopen(os.dup(descriptor), "rb") as file:
        # A file that grows meanwhile, or one of /proc, is bounded too.
        return file.read(MOST_BYTES)


def _streamed(path: Path, descriptor: int) -> Iterator[bytes]:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    room = MOST_STREAMED
    while True:
        if not poll.poll(PATIENCE * 1000):
            raise AnalysisError(
                f"{path}: nothing came through this pipe for {PATIENCE:g} s",
                hint="start what writes into it, or name a file",
            )
        chunk = os.read(descriptor, _CHUNK)
        if not chunk:
            return
        room -= len(chunk)
        if room < 0:
            raise AnalysisError(
                f"{path}: gave more than {MOST_STREAMED >> 20} MiB without an end", hint="name a file instead"
            )
        yield chunk


def unpacked(path: Path, content: bytes) -> bytes:
    """What gzip packed.

    Raises
    ------
    AnalysisError
        It is damaged or cut off, or unpacks to more than `MOST_STREAMED` bytes.
    """
    parts: list[bytes] = []
    room, rest = MOST_STREAMED, content
    while rest.startswith(_GZIP):
        member = zlib.decompressobj(wbits=31)
        try:
            part = member.decompress(rest, room + 1)
        except zlib.error as error:
            raise AnalysisError(f"{path}: cannot be read: its gzip compression is damaged") from error
        room -= len(part)
        if room < 0:
            raise AnalysisError(
                f"{path}: unpacks to more than {MOST_STREAMED >> 20} MiB", hint="unpack it, and name the file"
            )
        if not member.eof:
            raise AnalysisError(f"{path}: cannot be read: its gzip compression ends in the middle")
        parts.append(part)
        rest = member.unused_data
    return b"".join(parts)
