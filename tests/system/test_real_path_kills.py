"""Kills at random instants of whoever takes part in trials over a real path: nothing is left at either end, and trials go on."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.system import worker_machines
from tests.system.real_path import RealPath
from tests.system.test_service_kills import SECONDS_TO_START, SECONDS_TO_VANISH, wait_for

pytestmark = pytest.mark.skipif(bool(worker_machines.missing()), reason=str(worker_machines.missing()))
KILLS = 100
VICTIMS = {
    "runner": ("trialwise run",),
    "end or guardian": ("agent.execution",),
    "agent": ("agent.attachment",),
    "what sees packets, or a program": ("/programs/",),
}
"""Who is killed, and what its command line holds."""


class Victims:
    """A run that is started again and again, and what is killed of it."""

    def __init__(self, real: RealPath) -> None:
        self.real = real
        self.runner: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        """Have a runner at work."""
        if self.runner is None or self.runner.poll() is not None:
            quiet = subprocess.DEVNULL
            self.runner = subprocess.Popen(
                [*self.real.words, "--quiet"], env=self.real.environment, stdout=quiet, stderr=quiet
            )

    def is_at_work(self) -> bool:
        """Have a runner at work; return True once an end runs."""
        self.run()
        return bool(self.of("end or guardian"))

    def has_finished(self, before: int) -> bool:
        """Have a runner at work; return True once more trials have finished than before."""
        self.run()
        return len(self.real.finished()) > before

    def of(self, what: str) -> list[int]:
        """The processes at this machine and at the other one that are of a kind."""
        found = []
        for process in self.real.left():
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ")
                if any(each.encode() in words for each in VICTIMS[what]):
                    found.append(process)
        return found

    def hit(self, rng: random.Random) -> None:
        """Kill one of them, or all of its kind at once."""
        found = self.of(rng.choice(list(VICTIMS)))
        for process in found if rng.random() < 0.3 else rng.sample(found, min(len(found), 1)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def end(self) -> None:
        if self.runner is not None:
            self.runner.send_signal(signal.SIGTERM)
            self.runner.wait(SECONDS_TO_VANISH)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("see", ["capture", "tunnel"])
def test_kills_leave_nothing_at_either_end(tmp_path, see):
    real = RealPath(tmp_path)
    rng, victims = random.Random(see), Victims(real)
    try:
        devices = real.machine.run("ip", "-o", "link").count("\n")
        real.write(runtime="0.5s", quiet="0.2s", more=f', lease = "5s", see = "{see}"', rounds=20_000)
        for _ in range(KILLS):
            wait_for(victims.is_at_work, "no end runs", SECONDS_TO_START)
            time.sleep(rng.uniform(0, 2))
            victims.hit(rng)
        # What is left where an end, its guardian and the runner were killed together goes with the next run.
        before = len(real.finished())
        wait_for(lambda: victims.has_finished(before), "no trial finishes", SECONDS_TO_START)
        victims.end()
        wait_for(lambda: not real.left(), f"left: {real.left()}", SECONDS_TO_VANISH)
        assert not list((real.folder / "home").glob("*/scratch/*"))
        assert real.machine.run("ip", "-o", "link").count("\n") == devices
    finally:
        victims.end()
        real.machines.close()
