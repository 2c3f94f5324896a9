"""Files that are whole or not there, whatever happens: written aside, synced, renamed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from trialwise.errors import StoreError


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let `write` fill a file beside `path`, sync it, and rename it; a crash leaves the whole file or none.

    Raises
    ------
    StoreError
        When the disk is full or the folder cannot be written.
    """
    temporary = path.with_name(path.name + ".tmp")
    try:
        try:
            with temporary.open("wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be written: {error.strerror}", hint="free some space and run again"
        ) from error


def keep(file: Path, path: Path) -> None:
    """Move a file that is written already to its place for good, synced.

    Raises
    ------
    StoreError
        When the disk is full or the folder cannot be written.
    """
    try:
        with file.open("rb") as written:
            os.fsync(written.fileno())
        file.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be kept: {error.strerror}", hint="free some space and run again"
        ) from error


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
