"""Open files from others: regular, of bounded size, and inside the folder that was named.

Code that reads such a file opens it here. Nothing blocks for ever (a FIFO without a writer), nothing grows without bound (`/dev/zero`,
a packed file of zeros), and no name inside a foreign folder leads out of it (links, `..`). A file named on the command
line may be a pipe (`<(…)`, `/dev/stdin`) if its reader allows it.
"""

from __future__ import annotations

import os
import re
import select
import stat
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from trialwise.errors import AnalysisError, TrialwiseError

MEBIBYTE = 1 << 20
PATIENCE = 30.0
"""Seconds without data after which a pipe is given up."""
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
_AT_ONCE = 1 << 20
_URL = re.compile(r"^([a-z][a-z0-9+.-]+:)/+", re.IGNORECASE)
_GZIP = 16 + zlib.MAX_WBITS
_KINDS = (
    (stat.S_ISDIR, "is a folder"),
    (stat.S_ISFIFO, "is a pipe"),
    (stat.S_ISCHR, "is a device"),
    (stat.S_ISBLK, "is a device"),
    (stat.S_ISSOCK, "is a socket"),
)


def is_url(path: str | Path) -> bool:
    """Return True for a path that was written as a URL (a path has lost one of its slashes)."""
    return _URL.match(str(path)) is not None


def named(path: str | Path) -> str:
    """Return a path as it was written: a URL has both of its slashes."""
    return _URL.sub(r"\1//", str(path))


def absent(
    path: Path, hint: str | None = None, error: type[TrialwiseError] = AnalysisError
) -> TrialwiseError:
    """Return the error for a missing file or folder, or for a URL in place of one."""
    if is_url(path):
        return error(f"{named(path)}: URLs are not read", hint="fetch the file first, and name the file")
    return error(f"{path}: no such file or directory", hint=hint)


def open_foreign(
    path: Path, *, within: Path | None = None, error: type[TrialwiseError] = AnalysisError
) -> BinaryIO:
    """Open a regular file for reading, without blocking.

    Parameters
    ----------
    path
        The file.
    within
        A folder filled by others: `path` has to lie below it, and no link on the way is followed.
    error
        Class of the error raised.

    Raises
    ------
    TrialwiseError
        The file cannot be opened, is not regular, or lies outside `within`; of the class `error`.
    """
    descriptor = _descriptor(path, within, error)
    try:
        _check_kind(path, os.fstat(descriptor).st_mode, error, pipe=False)
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def check_foreign(path: Path, *, within: Path, error: type[TrialwiseError] = AnalysisError) -> None:
    """Check that `open_foreign` opens a file, before a library that accepts only names opens it.

    Raises
    ------
    TrialwiseError
        As `open_foreign` raises it.
    """
    open_foreign(path, within=within, error=error).close()


def read_foreign(
    path: Path,
    most: int,
    *,
    within: Path | None = None,
    pipe: bool = False,
    error: type[TrialwiseError] = AnalysisError,
) -> bytes:
    """Read a file of at most `most` bytes.

    Parameters
    ----------
    path
        The file.
    most
        Bytes; a larger file is rejected before it is read.
    within
        As for `open_foreign`.
    pipe
        Whether a pipe is accepted too; it is read to its end.
    error
        Class of the error raised.

    Raises
    ------
    TrialwiseError
        The file cannot be read, is not regular (or a pipe), is larger, or lies outside `within`; of the class `error`.
    """
    descriptor = _descriptor(path, within, error)
    try:
        found = os.fstat(descriptor)
        _check_kind(path, found.st_mode, error, pipe=pipe)
        if found.st_size > most:
            raise too_large(path, most, error)
        content = b"".join(_chunks(path, descriptor, most, error))
    except OSError as failure:
        raise unreadable(path, failure, error) from failure
    finally:
        os.close(descriptor)
    return content


def unpacked_gzip(path: Path, packed: bytes, most: int, error: type[TrialwiseError] = AnalysisError) -> bytes:
    """Unpack gzip content (all its members, RFC 1952, 2.2), to at most `most` bytes.

    Raises
    ------
    TrialwiseError
        It is damaged, truncated, or larger; of the class `error`.
    """
    parts: list[bytes] = []
    left = most + 1
    rest = packed
    while rest:
        member = zlib.decompressobj(_GZIP)
        try:
            parts.append(member.decompress(rest, left))
        except zlib.error as failure:
            raise error(f"{path}: is not a complete gzip file: {failure}") from failure
        left -= len(parts[-1])
        if left <= 0:
            raise error(f"{path}: holds more than {megabytes(most)}", hint="unpack it, and cut it")
        if not member.eof:
            raise error(
                f"{path}: is not a complete gzip file", hint="was it copied or downloaded to its end?"
            )
        rest = member.unused_data.lstrip(b"\0")
    return b"".join(parts)


def too_large(path: Path, most: int, error: type[TrialwiseError] = AnalysisError) -> TrialwiseError:
    """Return the error for a file with more bytes than are read."""
    return error(f"{path}: is larger than {megabytes(most)}", hint="is it the right file? If it is, cut it")


def unreadable(path: Path, failure: OSError, error: type[TrialwiseError] = AnalysisError) -> TrialwiseError:
    """Return the error for a file that the system does not let us read."""
    if isinstance(failure, FileNotFoundError) and is_url(path):
        return absent(path, error=error)
    return error(f"{path}: cannot be read: {failure.strerror or failure}")


def megabytes(size: int) -> str:
    """Format a bound in bytes for people."""
    return f"{size / MEBIBYTE:.4g} MiB"


def _descriptor(path: Path, within: Path | None, error: type[TrialwiseError]) -> int:
    try:
        return os.open(path, _FLAGS) if within is None else _below(path, within, error)
    except OSError as failure:
        raise unreadable(path, failure, error) from failure
    except ValueError as failure:  # a NUL in the name
        raise error(f"{path!s}: cannot be read: {failure}") from failure


def _below(path: Path, within: Path, error: type[TrialwiseError]) -> int:
    """Open a file below a folder, step by step, so that no link leads out of it even if one is created meanwhile."""
    try:
        steps = path.relative_to(within).parts
    except ValueError:
        steps = ()
    if not steps or ".." in steps:
        raise error(f"{path}: lies outside {within}", hint="name a file inside the folder")
    folder = os.open(within, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for step in steps[:-1]:
        folder = _step(folder, step, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, path, error)
    return _step(folder, steps[-1], _FLAGS, path, error)


def _step(folder: int, name: str, flags: int, path: Path, error: type[TrialwiseError]) -> int:
    """Open a name in a folder, and close the folder; reject a link."""
    try:
        with suppress(FileNotFoundError):
            if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                raise error(
                    f"{path}: {name} is a link, which is not followed out of a folder that others made",
                    hint="copy what it leads to, if you trust it",
                )
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=folder)
    finally:
        os.close(folder)


def _check_kind(path: Path, mode: int, error: type[TrialwiseError], *, pipe: bool) -> None:
    if stat.S_ISREG(mode) or (pipe and stat.S_ISFIFO(mode)):
        return
    kind = next((words for is_one, words in _KINDS if is_one(mode)), "is no file")
    raise error(f"{path}: {kind}, but a file is expected")


def _chunks(path: Path, descriptor: int, most: int, error: type[TrialwiseError]) -> Iterator[bytes]:
    """Yield the content of a file or pipe, up to the limit."""
    found = os.fstat(descriptor)
    is_pipe = stat.S_ISFIFO(found.st_mode)
    size = 0
    at_once = max(_AT_ONCE, found.st_size)  # one piece, of which no second copy is made
    while True:
        if is_pipe:
            _wait(path, descriptor, error)
        chunk = os.read(descriptor, min(at_once, most + 1 - size))
        size += len(chunk)
        if size > most:
            raise too_large(path, most, error)
        if not chunk:
            return
        yield chunk
        at_once = _AT_ONCE


def _wait(path: Path, descriptor: int, error: type[TrialwiseError]) -> None:
    """Wait until a pipe has data or has ended."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    if not waiting.poll(PATIENCE * 1000):
        raise error(
            f"{path}: nothing came out of this pipe for {PATIENCE:.0f} s",
            hint="does the program still run that writes into it?",
        )
