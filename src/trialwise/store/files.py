"""Write files that are complete or absent, whatever happens: written aside, synced, renamed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

from trialwise.errors import StoreError, not_written, reason_of

WRITERS = 8
"""Number of files of `write_together` that wait for the disk at the same time."""


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let `write` fill a file beside `path`, sync it, and rename it; after a crash the file is complete or absent.

    Raises
    ------
    StoreError
        The disk is full or the folder cannot be written.
    """
    with _told_of(path):
        _put(path, write)
        sync_folder(path.parent)


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write many files, each as `write_whole` does, but much faster: the disk syncs waiting files together.

    Raises
    ------
    StoreError
        The disk is full or a folder cannot be written; some of the files may exist then.
    """

    def put(path: Path) -> None:
        with _told_of(path):
            _put(path, lambda file: file.write(contents[path]))

    with ThreadPoolExecutor(WRITERS, "files") as writers:
        for _ in writers.map(put, contents):
            pass
    for folder in {path.parent for path in contents}:
        with _told_of(folder):
            sync_folder(folder)


@contextlib.contextmanager
def _told_of(path: Path) -> Generator[None]:
    """Turn errors of the system into ones that name the file that could not be written."""
    try:
        yield
    except FileNotFoundError as error:
        raise gone(path.parent) from error
    except OSError as error:
        raise not_written(path, error, hint="free some space and run again") from error


def gone(path: Path) -> StoreError:
    """Return the error for a directory, or a file in it, that is no longer where the experiment began."""
    return StoreError(
        f"{path}: was removed, moved or replaced while the experiment ran",
        hint="put the directory back, or run the directory where it is now: what was finished is in it",
    )


def _put(path: Path, write: Callable[[BinaryIO], object]) -> None:
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.unlink(missing_ok=True)  # also if it is a link to another place
        with temporary.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def keep(file: Path, path: Path) -> None:
    """Move a finished file to its final place, synced.

    Raises
    ------
    StoreError
        The disk is full or the folder cannot be written.
    """
    try:
        with file.open("rb") as written:
            os.fsync(written.fileno())
        file.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be kept: {reason_of(error)}", hint="free some space and run again"
        ) from error


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
