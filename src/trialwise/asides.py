"""Files and folders that are filled beside their target, each locked meanwhile, so that what a killed writer left is known.

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


@contextmanager
def aside_file(before: str, after: str, folder: Path) -> Generator[Path]:
    """Make an empty file whose name has the number of this process between two parts, and hold it.

    What killed processes left under such names is taken away first, and at the end what did not become the target.

    Raises
    ------
    OSError
        It cannot be made.
    """
    _clear(before, after, folder)
    path = folder / f"{before}{os.getpid()}{after}"
    with _held(path, is_folder=False):
        yield path


@contextmanager
def aside_folder(before: str, folder: Path) -> Generator[Path]:
    """Make an empty folder, as `aside_file` makes a file.

    Raises
    ------
    OSError
        It cannot be made.
    """
    _clear(before, "", folder)
    path = folder / f"{before}{os.getpid()}"
    with _held(path, is_folder=True):
        yield path


@contextmanager
def _held(path: Path, *, is_folder: bool) -> Generator[None]:
    for _ in range(_TRIES):
        _remove(path)
        path.mkdir() if is_folder else path.touch(exist_ok=False)
        descriptor = _locked(path)
        if descriptor is not None and not _is_same(descriptor, path):
            os.close(descriptor)  # another writer took it for left before it was locked
            continue
        try:
            yield
        finally:
            with suppress(OSError):
                _remove(path)
            if descriptor is not None:
                os.close(descriptor)
        return
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def _clear(before: str, after: str, folder: Path) -> None:
    """Remove what no process holds; what cannot be removed stays."""
    named = re.compile(f"{re.escape(before)}[0-9]+{re.escape(after)}")
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if named.fullmatch(entry.name) and not entry.is_symlink():
                _remove_if_left(Path(entry.path))


def _remove_if_left(path: Path) -> None:
    if (descriptor := _locked(path)) is None:
        return
    try:
        if _is_same(descriptor, path):
            _remove(path)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _is_same(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _locked(path: Path) -> int | None:
    """Open a file or folder and lock it; None if another process holds it, or the system or the file system has no such locks."""
    if find_spec("fcntl") is None:
        return None
    import fcntl  # absent on Windows

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
