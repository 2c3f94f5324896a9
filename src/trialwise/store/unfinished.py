"""Folders that an import fills beside its target: each is locked while its process lives, so that what a killed one left is known.

A process number says nothing: another process may have it by now, or run on another machine.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

_TRIES = 10


def unfinished_name(directory: Path) -> str:
    """Return how the names of the folders of a directory begin, before the number of a process."""
    return f".{directory.name}.importing-"


@contextmanager
def making(folder: Path) -> Generator[None]:
    """Make a folder, in place of one that a process of this number left, and hold it.

    Raises
    ------
    OSError
        It cannot be made.
    """
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        descriptor = _locked(folder)
        if descriptor is not None and not _is_same(descriptor, folder):
            os.close(descriptor)  # another import took it for left before it was locked
            continue
        try:
            yield
        finally:
            if descriptor is not None:
                os.close(descriptor)
        return
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))


def _is_same(descriptor: int, folder: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), folder.lstat())
    except FileNotFoundError:
        return False


def clear_unfinished(directory: Path) -> None:
    """Remove the folders beside a directory that no process holds; what cannot be removed stays."""
    named = re.compile(re.escape(unfinished_name(directory)) + "[0-9]+")
    with suppress(OSError):
        for folder in directory.parent.iterdir():
            if named.fullmatch(folder.name) and not folder.is_symlink():
                _remove_if_left(folder)


def _remove_if_left(folder: Path) -> None:
    if (descriptor := _locked(folder)) is None:
        return
    try:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)


def _locked(folder: Path) -> int | None:
    """Open a folder and lock it; None if another process holds it, or the system or the file system has no such locks."""
    if find_spec("fcntl") is None:
        return None
    import fcntl  # absent on Windows

    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
