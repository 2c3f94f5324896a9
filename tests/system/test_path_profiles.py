"""The condition of a real path: ends in namespaces of their own, with ssh and an emulated path between them."""

import json
import os
import signal
import subprocess
import time
from datetime import UTC, datetime

import numpy as np
import pytest
from tests.system import worker_machines
from tests.system.test_real_paths import TRIALWISE, RealPath

from trialwise.measurement.condition_files import read_conditions_of_path

pytestmark = pytest.mark.skipif(bool(worker_machines.missing()), reason=str(worker_machines.missing()))


class Profiled(RealPath):
    """A real path whose condition is asked for."""

    @property
    def rows_file(self):
        return self.folder / "real.path.conditions.csv"

    @property
    def words(self):
        return [
            *TRIALWISE,
            "profile",
            str(self.folder / "real.toml"),
            "--for",
            self.length,
            "--out",
            str(self.rows_file),
            "--json",
        ]

    length = "12s"

    def rows(self):
        return read_conditions_of_path(self.rows_file).rows

    def start(self):
        return subprocess.Popen(
            self.words,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


@pytest.fixture
def real(tmp_path):
    path = Profiled(tmp_path)
    path.write(runtime="2s", more=', lease = "4s"')
    yield path
    path.machines.close()


def wait_for(found, seconds=60):
    deadline = time.monotonic() + seconds
    while not found() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert found()


def test_loss_delay_and_a_step_of_it_are_those_of_the_path(real):
    real.length = "22s"
    delays = real.folder / "delays"
    # Every eight seconds another route: nobody knows when ssh and the ends have found each other.
    delays.write_text("".join(f"{8000 * at} {(10, 25)[at % 2]}ms\n" for at in range(20)))
    done = real.run_inside("--rate", "100Mbit/s", "--delay", f"series:{delays}", "--loss", "5%")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    trips = np.array([row.round_trip_ms for row in real.rows()])
    assert trips.min() == pytest.approx(20, abs=1.5)
    assert trips.max() == pytest.approx(50, abs=1.5)
    sent, lost = np.array(found["probes_sent"]), np.array(found["probes_lost"])
    assert (sent > 300).all()
    # Four standard deviations of a share of 400.
    assert np.abs(lost / sent - 0.05).max() < 0.045
    assert found["route_changes"] >= 1
    assert not real.left()


def test_a_killed_run_is_gone_on_with_and_what_the_ends_kept_is_fetched(real):
    real.length = "300s"
    with real.start() as run:
        wait_for(lambda: real.machine.processes("trialwise-end") or real.machine.processes("capture"))
        time.sleep(6)
        run.kill()
    # The lease runs out, and both ends keep what they saw.
    wait_for(lambda: not real.machine.processes("agent.execution"))
    assert not real.rows()
    with real.rows_file.open("a") as file:
        file.write("2026-11-26T10:00:00.000,2,31.")
    real.length = "8s"
    done = subprocess.run(
        real.words, env=real.environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    times = np.array([row.time for row in real.rows()])
    assert len(times) >= 5
    assert np.diff(times).max() > 4
    assert datetime.now(UTC).timestamp() - times[0] < 120
    assert json.loads(done.stdout)["n"] == len(times)
    assert not real.left()


def test_the_far_end_may_be_gone_in_the_middle(real):
    real.length = "30s"
    with real.start() as run:
        wait_for(lambda: real.machine.processes("agent.execution"))
        time.sleep(5)
        real.machine.signal("agent.execution", signal.SIGKILL)
        output, errors = run.communicate(timeout=120)
    assert run.returncode == 0, output + errors
    assert "going on" in errors
    assert len(real.rows()) >= 3
    assert not real.left()


def test_control_c_keeps_what_there_is(real):
    real.length = "10m"
    with real.start() as run:
        wait_for(lambda: real.machine.processes("agent.execution"))
        time.sleep(6)
        os.kill(run.pid, signal.SIGINT)
        output, errors = run.communicate(timeout=60)
    assert run.returncode == 0, output + errors
    assert json.loads(output)["n"] >= 2
    assert not real.left()
