"""Signals while the processes that compute are being started: the run ends as ever, and goes on afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE, Bench

TEXT = """
[experiment]
name = "flows"
[trial]
kind = "simulation"
scheme = "dctcp"
topology = "dumbbell:2x2,10Gbit/s,1us"
workload = { sizes = "fixed:20kB", load = "50%", duration = "1ms" }
[metrics.slowdown]
[design]
rounds = 600
"""


def started_by(process: int) -> list[str]:
    """The command lines of what a process has started."""
    found: list[str] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent == process:
                found.append((folder / "cmdline").read_text())
        except OSError:  # it has ended
            continue
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("delay", [0.0, 0.1])
def test_a_signal_to_the_group_while_processes_start_is_the_runners(bench: Bench, number: int, delay: float):
    bench.file.write_text(TEXT)
    runner = subprocess.Popen(
        [*TRIALWISE, "run", bench.file, "--directory", bench.directory, "--jobs", "2"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not any("multiprocessing.forkserver" in line for line in started_by(runner.pid)):
        assert time.monotonic() < deadline
        assert runner.poll() is None
    time.sleep(delay)
    os.killpg(runner.pid, number)
    _, said = runner.communicate(timeout=60)
    assert "Traceback" not in said
    assert runner.returncode == 130, said
    assert "interrupted: stopped on request; run again to go on" in said
    assert bench.run().counts == {"finished": 600}
