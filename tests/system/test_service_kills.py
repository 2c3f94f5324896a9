"""Kills at random instants of runners, services and what watches them: nothing is left, and no trial counts without its service."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE, Bench
from tests.system.test_services import service
from tests.system.worker_machines import Machines, machines, missing

MARK = "TRIALWISE_TEST_OF_SERVICES"
SECONDS_TO_VANISH = 60.0
SECONDS_TO_START = 240.0
"""A runner that starts, and reaches a worker, shares the machine with other tests."""
SHORT, LONG = 10, 200
SERVICE = """["sh", "-c", "echo $$ >> FOLDER/pids; (setsid sleep 600 &) ; echo up; exec sleep 600"]"""


@dataclass
class Victims:
    """An experiment whose runner is started again and again, and the kills of its service: process, and time just after."""

    bench: Bench
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    kills: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    runner: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        """Have a runner at work."""
        if self.runner is None or self.runner.poll() is not None:
            self.runner = subprocess.Popen(
                [
                    *TRIALWISE,
                    "run",
                    str(self.bench.file),
                    "--directory",
                    str(self.bench.directory),
                    "--quiet",
                ],
                env={**os.environ, MARK: self.token},
                stderr=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )

    def serve(self) -> bool:
        """Have a runner at work; return True once its service runs."""
        self.run()
        return self.service() is not None

    def service(self) -> int | None:
        """The service that runs."""
        file = self.bench.folder / "pids"
        last = file.read_text().split()[-1:] if file.exists() else []
        return next((int(text) for text in last if state(int(text)) in "RSD"), None)

    def kill(self, process: int, number: signal.Signals = signal.SIGKILL) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)

    def hit(self, what: str) -> None:
        """Kill the runner, the service, or one of the processes that watch it: its supervisor (1), its keeper on a worker (2)."""
        running = self.service()
        if what == "runner" and self.runner is not None:
            self.kill(self.runner.pid)
            self.runner.wait()
        elif what == "asked" and self.runner is not None:
            self.kill(self.runner.pid, signal.SIGTERM)
        elif running is not None:
            victim = running
            for _ in range(int(what)):
                victim = parent(victim)
            if victim in (1, 0, os.getpid()) or (self.runner is not None and victim == self.runner.pid):
                return
            self.kill(victim)
            if victim == running:
                self.kills.append((running, time.time()))

    def left(self) -> list[int]:
        """The processes that have descended from runners."""
        entry = f"{MARK}={self.token}".encode()
        return [
            each
            for each in (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
            if entry in environment(each)
        ]


def state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "gone"


def parent(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def environment(process: int) -> list[bytes]:
    try:
        return Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def wait_for(condition, what: str, seconds: float = SECONDS_TO_VANISH) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def check(bench: Bench, rest: str, number: int, targets: list[str], seed: int) -> None:
    """Kill so many times, and see that nothing is left and that no trial counts during which the service was killed."""
    text = service("restarts = 1000", SERVICE.replace("FOLDER", str(bench.folder)))
    bench.write("sleep 0.2", rest=text + rest, rounds=20_000)
    victims, rng = Victims(bench), random.Random(seed)
    try:
        for _ in range(number):
            wait_for(victims.serve, "no service is started", SECONDS_TO_START)
            time.sleep(rng.uniform(0, 0.6))
            victims.hit(rng.choice(targets))
        wait_for(lambda: victims.serve() and bench.rows("finished"), "no trial finishes", SECONDS_TO_START)
    finally:
        if victims.runner is not None:
            victims.kill(victims.runner.pid, signal.SIGTERM)
            victims.runner.wait()
    wait_for(lambda: not victims.left(), f"left: {victims.left()}")
    rows = bench.rows()
    finished = [row for row in rows if row.status == "finished"]
    assert finished
    for process, moment in victims.kills:
        hit = [row.number for row in finished if row.started is not None and row.finished is not None
               and row.started <= moment <= row.finished]  # fmt: skip
        assert not hit, f"trials {hit} count, and service {process} was killed at {moment}"
    assert {row.status for row in rows} <= {"finished", "invalid", "abandoned", "planned"}


def of_many(seconds: int) -> list[object]:
    return [pytest.param(LONG, marks=[pytest.mark.soak, pytest.mark.timeout(seconds)])]


HERE = ["runner", "asked", "0", "0", "0", "1"]


@pytest.mark.parametrize("number", [SHORT, *of_many(3600)])
def test_kills_here(bench: Bench, number: int):
    check(bench, "", number, HERE, seed=number)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    if reason := missing():
        pytest.skip(reason)
    with machines(tmp_path_factory.mktemp("machines"), 1) as made:
        yield made


@pytest.mark.parametrize("number", [6, *of_many(7200)])
def test_kills_on_a_worker(bench: Bench, one: Machines, monkeypatch: pytest.MonkeyPatch, number: int):
    monkeypatch.setenv("TRIALWISE_SSH_CONFIG", str(one.configuration))
    there = f'[workers]\nuse = ["ssh://machine1"]\nfolder = "{one[0].home}"\nheartbeat = "1s"\nreconnect = "20s"\n'
    one[0].environment = ""
    check(bench, there, number, [*HERE, "2"], seed=number)
    wait_for(lambda: not one[0].processes("sleep 600"), "a service is left on the worker")
