"""What is finished stays: the runner is killed at every write and sync of its directory, at random instants, and on a full disk."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

FAULTS = Path(__file__).with_name("faults")
TRIALS = 4
EXPERIMENT = """
[experiment]
name = "faults"

[factors]
step = [1, 2]

[trial]
command = "sh -c 'echo {trial} >> {log}; echo value,t > out.csv; echo {step}1,0 >> out.csv; echo {step}2,1 >> out.csv; echo {step}'"

[metrics.samples]
file = "out.csv"
csv = "value"
time = "t"

[metrics.number]
stdout = '(\\d+)'

[metrics.wall]
resource = "wall"

[design]
rounds = 2
series = 1
"""


class Driver:
    """A preloaded process that runs experiments in forks of itself."""

    def __init__(self, shim: Path, folder: Path) -> None:
        environment = os.environ | {"LD_PRELOAD": str(shim)}
        command = [sys.executable, str(FAULTS / "driver.py")]
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.folder = folder
        self.count = 0

    def run(
        self, fault: dict[str, str], *, kill_after: float | None = None, rounds: int = 1
    ) -> tuple[Path, list[list[object]]]:
        """Run one experiment with a fault, then without; return its folder and how the runs ended."""
        self.count += 1
        folder = self.folder / str(self.count)
        folder.mkdir()
        directory = folder / "results"
        (folder / "experiment.toml").write_text(EXPERIMENT.replace("{log}", str(folder / "executions")))
        order = {
            "experiment": str(folder / "experiment.toml"),
            "directory": str(directory),
            "environment": {"FAULT_FOLDER": str(directory), **fault},
            "kill_after": kill_after,
            "rounds": rounds,
        }
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return folder, json.loads(self.process.stdout.readline())["endings"]

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    # In memory where that is to be had: a kill loses nothing that was written, synced or not, and syncing takes time.
    memory = Path("/dev/shm")  # noqa: S108
    folder = Path(
        tempfile.mkdtemp(prefix="trialwise-faults-", dir=memory if os.access(memory, os.W_OK) else None)
    )
    shim = folder / "shim.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", shim, FAULTS / "shim.c", "-ldl"], check=True)
    driver = Driver(shim, folder)
    yield driver
    driver.close()
    shutil.rmtree(folder)


def count_calls(driver: Driver) -> int:
    count = driver.folder / "count"
    folder, endings = driver.run({"FAULT_AT": "0", "FAULT_COUNT": str(count)}, rounds=0)
    assert endings == [["exit", 40]]
    check_whole(folder, kills=0)
    return int(count.read_text())


def check_whole(folder: Path, *, kills: int) -> None:
    """Every trial finished once, its values stand once, and at most `kills` trials were executed twice."""
    ledger = sqlite3.connect(folder / "results" / "ledger.sqlite")
    try:
        finished = ledger.execute("SELECT number, attempt FROM trial WHERE status = 'finished'").fetchall()
        others = ledger.execute(
            "SELECT count(*) FROM trial WHERE status NOT IN ('finished', 'abandoned')"
        ).fetchone()[0]
        values = ledger.execute(
            "SELECT number, attempt, file FROM value WHERE source NOT LIKE 'instrument:%'"
        ).fetchall()
        assert ledger.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    finally:
        ledger.close()
    assert sorted(number for number, _ in finished) == list(range(1, TRIALS + 1))
    assert others == 0
    assert Counter(value[:2] for value in values) == dict.fromkeys(finished, 3)
    files = {file for _, _, file in values if file}
    assert {f"samples/{path.name}" for path in (folder / "results" / "samples").glob("*.parquet")} >= files
    executions = Counter((folder / "executions").read_text().split())
    assert sum(executions.values()) - TRIALS <= kills
    assert set(executions) == {str(number) for number in range(1, TRIALS + 1)}


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.soak)])
def test_a_kill_at_any_write_or_sync_loses_at_most_the_trial_in_flight(driver: Driver, step: int) -> None:
    """How often the disk is synced hangs on the time that passes, so the last calls of one run may not be there in another."""
    total, kills = count_calls(driver), 0
    count = driver.folder / "count"
    for at in range(step, total + 1, step):
        folder, endings = driver.run({"FAULT_AT": str(at), "FAULT_KIND": "kill", "FAULT_COUNT": str(count)})
        if int(count.read_text()) < at:
            assert endings[0] == ["exit", 40], at
        else:
            assert endings[0] == ["signal", 9], at
            kills += 1
        assert endings[1] == ["exit", 40], at
        check_whole(folder, kills=1)
        shutil.rmtree(folder)
    assert kills > 40 // step


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.soak)])
def test_a_torn_write_loses_at_most_the_trial_in_flight(driver: Driver, step: int) -> None:
    total = count_calls(driver)
    for at in range(1, total + 1, step):
        folder, endings = driver.run({"FAULT_AT": str(at), "FAULT_KIND": "torn"})
        assert endings[1] == ["exit", 40], at
        check_whole(folder, kills=1)
        shutil.rmtree(folder)


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.soak)])
def test_a_full_disk_is_an_error_that_keeps_what_is_finished(driver: Driver, step: int) -> None:
    total = count_calls(driver)
    for at in range(1, total + 1, step):
        folder, endings = driver.run({"FAULT_AT": str(at), "FAULT_KIND": "full"})
        assert endings[0] in (["exit", 5], ["exit", 40]), at
        assert endings[1] == ["exit", 40], at
        check_whole(folder, kills=1)
        shutil.rmtree(folder)


def test_kills_at_random_instants(driver: Driver) -> None:
    rng = random.Random(7)
    for _ in range(20):
        folder, endings = driver.run({}, kill_after=rng.uniform(0.0, 0.12))
        assert endings[1] == ["exit", 40]
        check_whole(folder, kills=1)
        shutil.rmtree(folder)


@pytest.mark.soak
def test_hundreds_of_kills_at_random_instants(driver: Driver) -> None:
    rng = random.Random(8)
    for _ in range(500):
        folder, endings = driver.run({}, kill_after=rng.uniform(0.0, 0.15))
        assert endings[1] == ["exit", 40]
        check_whole(folder, kills=1)
        shutil.rmtree(folder)
