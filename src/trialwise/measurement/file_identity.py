"""One file that trials run or read: the name that commands have for it, and a digest of its content.

Standard library only and for Python 3.8, because it is also sent to workers.
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
"""Bytes up to which a file is read whole; of a larger one its ends and its size make the digest."""
END = 32 << 20
"""Bytes of each end of a larger file."""
_PART = 1 << 20


class NamedFile(NamedTuple):
    """A file as a command names it, links not followed, and what the command does with it."""

    path: Path
    role: Role = "program"


def signature(path: str | Path) -> Signature | None:
    """Look at a file, links followed; None where no regular file is there.

    Device, inode, size, times of change of content and of status in nanoseconds: another content has another signature.
    """
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def digest_of(path: str | Path) -> str:
    """SHA-256 of a file in hexadecimal digits, read once as long as its signature stays.

    Raises
    ------
    OSError
        It is no regular file, or cannot be read.
    """
    found = signature(path)
    if found is None:
        raise FileNotFoundError(f"{path}: no regular file")
    return _digest(os.fspath(path), found)


def described(path: str | Path) -> Described | None:
    """The path of a file with links followed, its SHA-256 and its size in bytes; None where it is absent or unreadable."""
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
    """Open what may have become a named pipe since it was looked at."""
    return os.open(path, flags | os.O_NONBLOCK)


def _take_ends(file: BinaryIO, size: int, take: Callable[[bytes], object]) -> None:
    take(f"ends of {size}\0".encode())
    take(file.read(END))
    file.seek(-END, os.SEEK_END)
    take(file.read(END))
