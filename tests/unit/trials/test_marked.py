"""Processes that carry a marker: none is missed because it is in the middle of execve(2), where the kernel tells no environment."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from trialwise.trials.marked import MARKER, carries, end_left, end_leftovers, environment_of


@pytest.fixture
def restless(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that does nothing but replace itself by itself."""
    script = tmp_path / "again.sh"
    script.write_text('exec sh "$0"\n')
    environment = {**os.environ, MARKER: f"{tmp_path}:1"}
    with subprocess.Popen(["sh", str(script)], env=environment, start_new_session=True) as process:
        yield process
        process.kill()


def test_a_process_that_starts_another_program_is_seen_at_any_moment(
    restless: subprocess.Popen[bytes], tmp_path: Path
):
    assert all(carries(restless.pid, str(tmp_path)) for _ in range(2000))


def test_a_process_that_starts_another_program_is_ended(restless: subprocess.Popen[bytes], tmp_path: Path):
    assert end_leftovers(str(tmp_path)) == 1
    restless.wait(60)


def test_only_what_carries_exactly_the_marker_is_ended(restless: subprocess.Popen[bytes], tmp_path: Path):
    assert end_left(str(tmp_path)) == 0
    assert restless.poll() is None
    assert end_left(f"{tmp_path}:1") == 1
    restless.wait(60)


def test_no_environment_is_waited_for_where_there_is_none():
    words = [sys.executable, "-Ic", "print(flush=True); input()"]
    with subprocess.Popen(words, env={}, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as bare:
        assert bare.stdout is not None
        bare.stdout.readline()
        begun = time.process_time()
        assert not any(entry for _ in range(200) for entry in environment_of(bare.pid))
        assert time.process_time() - begun < 1
        bare.kill()
        while Path(f"/proc/{bare.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.01)
        assert not carries(bare.pid, "")
        assert not carries(2, "")  # a thread of the kernel, or no process
