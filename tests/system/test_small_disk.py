"""On a disk that is full: every command says so, what is finished stays, and the run goes on when there is room."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from small_disk import TRIALWISE, SmallDisk, refusal, small_disk

pytestmark = pytest.mark.skipif(refusal() is not None, reason=str(refusal()))
EXPERIMENT = """\
[experiment]
name = "sizes"
[factors]
size = [1, 2]
[trial]
command = ["sh", "-c", "head -c 60000 /dev/urandom >&2; echo value {size}.$$"]
[metrics.value]
stdout = 'value ([0-9.]+)'
better = "lower"
[design]
series = 1
rounds = 12
"""
FULL = "the disk is full"
RUN_AGAIN = "try: free some space and run again"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", 8 << 20) as made:
        yield made


def finished(disk: SmallDisk) -> int:
    """Trials of the run that have finished."""
    told = json.loads(disk.trialwise("status", "run", "--json").stdout)
    return sum(treatment.get("finished", 0) for treatment in told["treatments"].values())


def test_a_run_says_that_the_disk_is_full_keeps_what_is_finished_and_goes_on_when_there_is_room(
    disk: SmallDisk,
):
    disk.write("experiment.toml", EXPERIMENT)
    disk.fill(leave=1500 << 10)
    full = disk.trialwise("run", "experiment.toml", "-d", "run")
    assert full.returncode == 5
    assert f"cannot be written: {FULL}\n  {RUN_AGAIN}" in full.stderr
    assert "Traceback" not in full.stderr
    before = finished(disk)
    assert 0 < before < 24
    disk.make_room()
    went_on = disk.trialwise("run", "run")
    assert went_on.returncode == 0, went_on.stderr
    assert f"going on: {before} of 24 trials are done" in went_on.stderr
    assert finished(disk) == 24


def test_every_command_that_writes_says_that_the_disk_is_full(disk: SmallDisk):
    disk.write("experiment.toml", EXPERIMENT)
    disk.write("short.trace", "1\n")
    disk.write("table.csv", "lab,v\n" + "".join(f"{row % 2},{row * 7 % 13}\n" for row in range(40)))
    disk.fill(leave=512 << 10)
    assert f"run/ledger.sqlite: cannot be written: {FULL}" in refused(
        disk, "run", "experiment.toml", "-d", "run"
    )
    disk.make_room()
    disk.fill(leave=4 << 10)
    for words in (
        ("run", "experiment.toml", "-d", "other"),
        ("ab", "--base", "true", "--head", "true", "--trials", "5"),
        ("trace", "make", "100Mbit/s", "--length", "60s", "--out", "made.trace"),
        ("trace", "scale", "short.trace", "90000", "--out", "scaled.trace"),
        ("trace", "plot", "short.trace", "--out", "plot.svg"),
    ):
        assert f"cannot be written: {FULL}" in refused(disk, *words)
    redirected = disk.enter(
        "sh", "-c", f"{TRIALWISE} analyze table.csv --value v --group lab --json > out.json"
    )
    assert redirected.returncode == 5
    assert FULL in redirected.stderr


def refused(disk: SmallDisk, *words: str) -> str:
    """What `trialwise WORDS` says when it is refused."""
    done = disk.trialwise(*words)
    assert done.returncode == 5, (words, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stderr
