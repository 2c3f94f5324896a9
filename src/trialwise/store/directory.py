"""The experiment directory: everything that an experiment produced, in one place that can be copied and cited."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from trialwise.errors import StoreError, reason_of
from trialwise.store.files import sync_folder, write_together, write_whole
from trialwise.store.ledger import Ledger
from trialwise.store.outputs import FOLDER as OUTPUTS

LEDGER = "ledger.sqlite"
EXPERIMENT = "experiment.toml"
LOCK = ".lock"
IMPORT = "import.json"
"""The origin of results that other programs recorded, in a directory that has no ledger."""
FOLDERS = {"samples", "logs", "environments", OUTPUTS}
_PAIR = re.compile(r"[0-9a-f]{8}-[0-9a-f]{8}(-[0-9]+)?")


def is_pair(path: Path) -> bool:
    """Return True for the directory of a pair of versions, by its name."""
    return _PAIR.fullmatch(path.name) is not None


def pairs_below(place: Path) -> list[Path]:
    """List the directories of pairs of versions in a folder (`trialwise ab`), latest first."""
    try:
        found = [path for path in place.iterdir() if is_pair(path) and (path / LEDGER).is_file()]
        return sorted(found, key=lambda path: (path / LOCK).stat().st_mtime_ns, reverse=True)
    except OSError:
        return []


def latest(path: Path) -> Path:
    """Return the experiment directory that a path stands for: itself, or the latest pair of a folder of pairs."""
    if (path / LEDGER).is_file():
        return path
    return next(iter(pairs_below(path)), path)


def is_imported(path: Path) -> bool:
    """Return True if a directory holds what `trialwise import` read."""
    return (path / IMPORT).is_file() and not (path / LEDGER).exists()


class ExperimentDirectory:
    """The paths of an experiment directory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def ledger_file(self) -> Path:
        """The SQLite file with a row for every attempt at every trial."""
        return self.path / LEDGER

    @property
    def experiment_file(self) -> Path:
        """The experiment file as it was when the experiment began."""
        return self.path / EXPERIMENT

    @property
    def samples(self) -> Path:
        """Parquet files with the samples of trials that report many."""
        return self.path / "samples"

    @property
    def logs(self) -> Path:
        """Output of trials that did not finish."""
        return self.path / "logs"

    @property
    def scratch(self) -> Path:
        """Absolute path of the folder for files that live only as long as a trial."""
        return self.path.absolute() / "scratch"

    @property
    def is_begun(self) -> bool:
        """Return True if an experiment has begun here."""
        return self.ledger_file.is_file()

    def make(self) -> None:
        """Create the directory and its parts.

        Raises
        ------
        StoreError
            It cannot be made, or holds imported results, which nothing may join.
        """
        self._refuse_import()
        try:
            for name in ("", *sorted(FOLDERS)):
                if name and (self.path / name).is_symlink():
                    raise StoreError(
                        f"{self.path}: {name} is a link, which is not followed",
                        hint="put what it leads to into its place",
                    )
                (self.path / name).mkdir(parents=True, exist_ok=True)
            sync_folder(self.path)
            sync_folder(self.path.absolute().parent)
        except OSError as error:
            raise StoreError(
                f"{self.path}: cannot be made: {reason_of(error)}", hint="choose another with --directory"
            ) from error

    def ledger(self, *, read_only: bool = True, with_excluded: bool = False) -> Ledger:
        """Open the ledger; `with_excluded` takes trials that are left out for finished, as they once were.

        Raises
        ------
        StoreError
            There is none, or it cannot be opened.
        """
        self._refuse_import()
        return Ledger.open(self.ledger_file, read_only=read_only, with_excluded=with_excluded)

    def _refuse_import(self) -> None:
        if is_imported(self.path):
            raise StoreError(
                f"{self.path}: was imported from files of another program: it has no plan, and nothing runs in it",
                hint="to measure again, `trialwise new` writes an experiment file; `trialwise analyze` reads this directory",
            )

    def write_durably(self, relative: str, content: bytes) -> None:
        """Write a file whole or not at all: write a temporary file, sync it, then rename it."""
        write_whole(self.path / relative, lambda file: file.write(content))

    def write_together(self, contents: Mapping[str, bytes]) -> None:
        """Write many files as `write_durably` does, but faster."""
        write_together({self.path / relative: content for relative, content in contents.items()})

    @property
    def token(self) -> str:
        """Token that distinguishes this directory from a copy on the same machine."""
        status = (self.path / LOCK).stat()
        return f"{status.st_dev:x}.{status.st_ino:x}"


_TRIES, _PAUSE = 25, 0.02
"""Attempts at a lock that is held, and seconds between them."""


class DirectoryLock:
    """A lock that keeps a second runner out; the kernel releases it when the process ends, however it ends."""

    def __init__(self, directory: ExperimentDirectory) -> None:
        self._path = directory.path / LOCK
        self._descriptor = -1

    def __enter__(self) -> Self:
        self._descriptor = _open_lock(self._path, os.O_RDWR | os.O_CREAT)
        if not self._acquired():
            holder = os.pread(self._descriptor, 64, 0).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise StoreError(
                f"{self._path.parent}: another runner is at work here (process {holder or 'unknown'})",
                hint="wait for it, or watch it with `trialwise status`; use another --directory for a second experiment",
            )
        self._write_holder()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def _write_holder(self) -> None:
        """Record who holds the lock, for the message to a second runner; a full disk must not stop anyone."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def _acquired(self) -> bool:
        """Try a number of times, because a process that checks the directory's state holds the lock for an instant.

        Tries are counted, not time: a process that the machine holds up for a second must not take that check for a runner.
        """
        import fcntl  # absent on Windows, where no experiment runs

        for _ in range(_TRIES):
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_PAUSE)
            else:
                return True
        return False


def _open_lock(path: Path, flags: int) -> int:
    """Open the lock file, which is written to; reject a link, which leads elsewhere, and a pipe, which blocks."""
    if path.is_symlink():
        raise StoreError(
            f"{path}: is a link, which is not followed", hint="remove it; it is created again when missing"
        )
    descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StoreError(f"{path}: is not a regular file", hint="remove it; it is created again when missing")
    return descriptor


def is_locked(directory: ExperimentDirectory) -> bool:
    """Return True if a runner is working on the directory right now; always False on Windows."""
    if find_spec("fcntl") is None:
        return False
    import fcntl

    try:
        descriptor = _open_lock(directory.path / LOCK, os.O_RDONLY)
    except (OSError, StoreError):
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)
