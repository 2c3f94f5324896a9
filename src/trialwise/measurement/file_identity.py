"""One file that trials run or read: the name that commands use for it, and a digest of its content.

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import hashlib
import os
import stat
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    Signature = tuple[int, int, int, int, int]
    Described = tuple[str, str, int]

Role = Literal["program", "interpreter", "script", "library", "input"]

WHOLE = 1 << 30
"""Size in bytes up to which a file is hashed whole; the digest of a larger one covers its ends and its size."""
END = 32 << 20
"""Bytes hashed at each end of a larger file."""
_PART = 1 << 20


class NamedFile(NamedTuple):
    """A file as a command names it, links not resolved, and what the command does with it."""

    path: Path
    role: Role = "program"


def signature(path: str | Path) -> Signature | None:
    """Return the state of a file, links resolved; None if there is no regular file.

    Device, inode, size, and the times of change of content and of status in nanoseconds: new content changes the signature.
    """
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def digest_of(path: str | Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; it is read again only when its signature changes.

    Raises
    ------
    OSError
        The file is not regular or cannot be read.
    """
    found = signature(path)
    if found is None:
        raise FileNotFoundError(f"{path}: no regular file")
    return _digest(os.fspath(path), found)


def described(path: str | Path) -> Described | None:
    """Return the resolved path of a file, its SHA-256 and its size in bytes; None if it is absent or unreadable."""
    try:
        real = os.path.realpath(path)
        return real, digest_of(real), os.stat(real).st_size
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=1 << 14)
def _digest(path: str, state: Signature) -> str:
    digest = hashlib.sha256()
    with open(path, "rb", opener=without_waiting) as file:
        if state[2] > WHOLE:
            _take_ends(file, state[2], digest.update)
            return digest.hexdigest()
        for part in iter(lambda: file.read(_PART), b""):
            digest.update(part)
    return digest.hexdigest()


def without_waiting(path: str, flags: int) -> int:
    """Open without blocking, in case the file has meanwhile become a named pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def _take_ends(file: BinaryIO, size: int, take: Callable[[bytes], object]) -> None:
    take(f"ends of {size}\0".encode())
    take(file.read(END))
    file.seek(-END, os.SEEK_END)
    take(file.read(END))
