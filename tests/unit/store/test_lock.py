"""Who asks for the state of a directory keeps no runner out; another runner does."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from trialwise.errors import StoreError
from trialwise.store.directory import LOCK, DirectoryLock, ExperimentDirectory, is_locked


@pytest.fixture
def held(tmp_path: Path) -> Iterator[int]:
    """The lock, held by another open file as `is_locked` holds it."""
    descriptor = os.open(tmp_path / LOCK, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    yield descriptor
    os.close(descriptor)


def test_a_lock_that_is_held_for_an_instant_is_waited_for(tmp_path: Path, held: int):
    before = signal.signal(signal.SIGALRM, lambda *_: fcntl.flock(held, fcntl.LOCK_UN))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with DirectoryLock(ExperimentDirectory(tmp_path)):
            assert is_locked(ExperimentDirectory(tmp_path))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not is_locked(ExperimentDirectory(tmp_path))


def test_a_lock_that_stays_held_is_refused_after_half_a_second(tmp_path: Path, held: int):
    os.write(held, b"4711\n")
    began = time.monotonic()
    with (
        pytest.raises(StoreError, match=r"another runner is at work here \(process 4711\)"),
        DirectoryLock(ExperimentDirectory(tmp_path)),
    ):
        pass
    assert time.monotonic() - began >= 0.5


def test_a_directory_without_a_lock_or_with_a_link_in_its_place_is_not_locked(tmp_path: Path, held: int):
    assert is_locked(ExperimentDirectory(tmp_path)) is False  # whoever else only asks shares it
    fcntl.flock(held, fcntl.LOCK_EX)
    assert is_locked(ExperimentDirectory(tmp_path)) is True
    (tmp_path / "other").mkdir()
    assert is_locked(ExperimentDirectory(tmp_path / "other")) is False
    (tmp_path / "other" / LOCK).symlink_to(tmp_path / LOCK)
    assert is_locked(ExperimentDirectory(tmp_path / "other")) is False
