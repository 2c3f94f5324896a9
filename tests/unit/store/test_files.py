"""Files that are written together are as whole as others, and wait for the disk at the same time."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from simulation_directory import run_simulation
from trialwise.errors import StoreError, not_written
from trialwise.execution.tasks import runner
from trialwise.store.files import WRITERS, write_together

SECONDS = 60.0


def test_they_wait_for_the_disk_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sync = os.fsync
    folders: list[int] = []
    all_of_them = threading.Barrier(WRITERS, timeout=SECONDS)

    def synced(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            folders.append(descriptor)
        else:
            all_of_them.wait()
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    contents = {tmp_path / f"{number}.txt": str(number).encode() for number in range(3 * WRITERS)}
    write_together(contents)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == contents
    assert len(folders) == 1


def test_one_that_cannot_be_written_is_named_and_leaves_no_half(tmp_path: Path):
    (tmp_path / "taken").mkdir()
    contents = {tmp_path / name: b"text" for name in ("first", "taken", "last")}
    with pytest.raises(StoreError, match=f"{tmp_path}/taken: cannot be written"):
        write_together(contents)
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.EACCES, "one that you may write to"),
        (errno.EROFS, "one that you may write to"),
        (errno.ENOSPC, "free some space"),
    ],
)
def test_who_may_not_write_is_not_asked_to_free_space(tmp_path: Path, number: int, says: str):
    error = not_written(tmp_path / "a", OSError(number, os.strerror(number)))
    assert error.hint is not None
    assert says in error.hint


def test_the_records_of_flows_of_many_trials_are_written_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(runner, "RECORD_SECONDS", SECONDS)
    sync = os.fsync
    folders: list[int] = []

    def synced(descriptor: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").readlink().name == "samples":
            folders.append(descriptor)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    directory = run_simulation(tmp_path)
    assert len(list(directory.glob("samples/*-flows.parquet"))) == 60
    assert len(folders) <= 4, (
        "the samples of the metrics, and the records: of the first trial, and of the others"
    )
