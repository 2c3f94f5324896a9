"""A disk that fills up while packets are recorded: the trial does not count, and runs go on once there is space."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE, Bench
from tests.system.paths import needs_paths, write_path_experiment

pytestmark = [needs_paths, pytest.mark.alone]

FILL = """
mount -t tmpfs -o size=1500k none results && shift || exit 99
"$@" run experiment.toml --directory results; echo $?
mount -o remount,size=60m results && "$@" run experiment.toml --directory results $AGAIN; echo $?
"$@" status results; find results -name '*.tmp' -o -path '*/scratch/*'
"""


def run_on_a_small_disk(bench: Bench, *, kept: str, again: str) -> tuple[str, str]:
    trial = f'scheme = "plain-cubic"\npackets = "{kept}"'
    path = '{ rate = "200Mbit/s", delay = "5ms", queue = "droptail:packets=300" }'
    write_path_experiment(bench, trial=trial, path=path, lateness="1s")
    (bench.folder / "results").mkdir()
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", FILL, "sh", "-", *TRIALWISE],
        cwd=bench.folder, env={"AGAIN": again, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(Path.home())},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    if done.returncode == 99:
        pytest.skip(f"no small file system can be made here: {done.stderr}")
    return done.stdout, done.stderr


def test_packets_that_cannot_be_kept_stop_the_run(bench: Bench):
    said, complained = run_on_a_small_disk(bench, kept="keep", again="")
    assert said.startswith("5\n0\n"), (said, complained)
    assert "cannot be written" in complained
    assert "try: free some space" in complained
    assert "1 of 1 trials" in said
    assert ".tmp" not in said


def test_a_record_of_packets_that_has_gaps_makes_the_trial_invalid(bench: Bench):
    said, complained = run_on_a_small_disk(bench, kept="drop", again="--again")
    assert said.startswith("4\n0\n"), (said, complained)
    assert "invalid" in complained
    assert "the packet log is incomplete: No space left on device" in complained
