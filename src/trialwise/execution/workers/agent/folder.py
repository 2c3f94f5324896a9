"""The folder of an experiment on this worker, and its durable files."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time

from trialwise.trials.removing import remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    Json = dict[str, Any]

RESERVE = 4 * 1024 * 1024
"""Bytes reserved for the result of a trial before it starts, so that a disk that fills up meanwhile loses nothing."""


def write_durably(path: str, content: bytes) -> None:
    """Write a file whole or not at all."""
    with open(path + ".tmp", "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".tmp", path)
    sync_folder(os.path.dirname(path))


def sync_folder(path: str) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: str) -> None:
    """Remove a file that may be gone."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def set_aside(path: str, task: bytes) -> None:
    """Write a task, with room after it for its result."""
    try:
        with open(path, "wb") as file:
            file.write(task)
            file.flush()
            os.posix_fallocate(file.fileno(), 0, len(task) + RESERVE)
            os.fsync(file.fileno())
    except OSError:
        remove(path)
        raise


class Folder:
    """The folder of an experiment on this worker."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(os.path.expanduser(path))

    def at(self, *names: str) -> str:
        """Return a path in the folder."""
        return os.path.join(self.path, *names)

    def make(self) -> None:
        """Create the folder and its parts, for this user alone."""
        for name in ("", "spool", "files", "scratch", "setup", "services"):
            os.makedirs(self.at(name), mode=0o700, exist_ok=True)

    def known(self) -> dict[str, str]:
        """Return the state of unacknowledged trials: "started" or "result"."""
        found: dict[str, str] = {}
        for name in sorted(os.listdir(self.at("spool"))):  # "result" sorts before "started" and wins
            key, _, state = name.rpartition(".")
            if state in ("started", "result"):
                found.setdefault(key, state)
        return found

    def result(self, key: str) -> str:
        """Return the path of a trial's result."""
        return self.at("spool", key + ".result")

    def started(self, key: str) -> str:
        """Return the path of the file that says a trial was started."""
        return self.at("spool", key + ".started")

    def lease(self) -> str:
        """Return the path of the file that is touched with every sign of the runner's life."""
        return self.at("lease")

    def renew(self) -> None:
        """Touch the lease: the runner is there."""
        with open(self.lease(), "ab"):
            os.utime(self.lease())

    def listening(self, key: str) -> str:
        """Return the path of the file that is there once an end of a path listens."""
        return self.at("spool", key + ".listening")

    def settings(self) -> str:
        """Return the path of the file with settings of the kernel that a trial changes, as they were before it."""
        return self.at("settings")

    def all_with_settings(self) -> list[Folder]:
        """Return the folders of experiments on this worker, this one among them, that keep such a file."""
        parent = os.path.dirname(self.path)
        found = (Folder(os.path.join(parent, name)) for name in sorted(os.listdir(parent)))
        return [each for each in found if os.path.isfile(each.settings())]

    def free(self) -> int:
        """Return the bytes that this user may still write."""
        status = os.statvfs(self.path)
        return status.f_bavail * status.f_frsize

    def forget(self, key: str) -> None:
        """Forget a trial whose result is safe elsewhere."""
        remove(self.started(key))
        remove(self.result(key))
        remove(self.listening(key))
        remove(self.at("spool", key + ".tmp"))
        self.clear(key)

    def clear(self, key: str) -> None:
        """Remove what a trial that has ended left in its folder."""
        remove_tree(self.at("scratch", key))

    @contextlib.contextmanager
    def hand(self) -> Generator[int | None, None, None]:
        """Yield the lock of the process that executes a trial, or None if it is held."""
        descriptor = self.lock_file()
        try:
            yield descriptor if self.acquired(descriptor) else None
        finally:
            os.close(descriptor)

    def acquired(self, descriptor: int) -> bool:
        """Try 50 times in half a second: a process that checks whether a trial runs holds the lock for an instant.

        Tries are counted, not time: a process that the machine holds up for a second must not take that check for a trial.
        """
        for _ in range(50):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.01)
            else:
                return True
        return False

    def lock_file(self) -> int:
        return os.open(self.at("hand.lock"), os.O_RDWR | os.O_CREAT, 0o600)

    def in_hand(self) -> Json | None:
        """Return the key of the running trial, and the process that executes it; None if there is none."""
        descriptor = self.lock_file()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return json.loads(os.pread(descriptor, 4096, 0) or '{"key": "", "pid": 0}')
        else:
            return None
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def receiving(self) -> Generator[None, None, None]:
        """Be the only agent that works on files that are sent, as one whose connection was lost may still do."""
        descriptor = os.open(self.at("incoming.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def wait(self) -> None:
        """Sleep until no trial is running."""
        descriptor = self.lock_file()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        finally:
            os.close(descriptor)


def note_hand(lock: int, key: str, process: int) -> None:
    """Write the holder into the lock, at a fixed length, so that a reader never sees half of it."""
    os.pwrite(lock, json.dumps({"key": key, "pid": process}).ljust(256).encode(), 0)
