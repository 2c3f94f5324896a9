"""What is laid out to describe another machine vanishes, also with a runner that is killed meanwhile."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

KILLED = """
import os, signal
from trialwise.execution.workers import machine

def die(*, root):
    assert (root / "etc/machine-id").read_text() == "0"
    os.kill(os.getpid(), signal.SIGKILL)

machine.capture = die
machine.described_by({"files": {"etc/machine-id": "0"}})
"""


def test_a_killed_runner_leaves_no_files_of_a_described_machine(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False
    )
    assert done.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 30
    while list(tmp_path.iterdir()):
        assert time.monotonic() < deadline, list(tmp_path.iterdir())
        time.sleep(0.05)
