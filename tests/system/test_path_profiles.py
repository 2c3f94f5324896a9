"""The condition of a real path: ends in namespaces of their own, with ssh and an emulated path between them."""

import itertools
import json
import os
import signal
import subprocess
import time
from datetime import UTC, datetime

import numpy as np
import pytest
from tests.system import worker_machines
from tests.system.real_path import EXPERIMENT, FROM_HERE, TRIALWISE, RealPath

from in_process import trialwise
from trialwise.measurement.condition_files import profiled_rates, read_conditions_of_path

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
            *self.rate,
        ]

    length = "12s"
    rate: tuple[str, ...] = ()

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
    real.length = "44s"
    delays = real.folder / "delays"
    # Another route again and again: whenever the probes begin, a whole row of either is among them.
    routes = itertools.cycle(("10ms", "25ms"))
    steps = zip(range(0, 601, 20), routes, strict=False)
    delays.write_text("".join(f"{second * 1000} {delay}\n" for second, delay in steps))
    done = real.run_inside("--rate", "100Mbit/s", "--delay", f"series:{delays}", "--loss", "5%")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    trips = np.array([row.round_trip_ms for row in real.rows()])
    assert trips.min() == pytest.approx(20, abs=1.5)
    assert trips.max() == pytest.approx(50, abs=1.5)
    sent, lost = np.array(found["probes_sent"]), np.array(found["probes_lost"])
    assert (sent > 150).all()
    # Four standard deviations.
    assert (np.abs(lost / sent - 0.05) < 4 * np.sqrt(0.05 * 0.95 / sent)).all()
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
    real.length = "26s"
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


@pytest.mark.soak
def test_rates_are_measured_if_they_are_asked_for(real):
    real.length, real.rate = "40s", ("--rate", "1min")
    done = real.run_inside("--rate", "20Mbit/s", "--delay", "10ms")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    # 20 Mbit/s with the headers of the link, of which packets of IP are all but 14 of 1514 bytes.
    assert found["rates"] == [pytest.approx(20, rel=0.05)] * 2
    assert profiled_rates(real.rows_file) == tuple(rate * 1e6 for rate in found["rates"])
    assert found["n"] >= 2
    assert not real.left()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--for", "soon"], 2, "--for soon"),
        (["--for", "1s"], 2, "expected a time from 5s to"),
        (["--for", "1y"], 2, "--for 1y"),
        (["--rate", "5min"], 2, "--rate is for a path that is probed"),
        (["--for", "1h", "--rate", "1s"], 2, "--rate 1s: expected a time from 1min"),
        (["--path", "home"], 2, "no real path is called 'home'"),
        (["--margin", "wide"], 2, "not a valid margin"),
        (["--value", "x"], 2, "--value is for data, not for a path"),
        (["--out", "nothing.csv"], 7, "nothing.csv"),
        (["--for", "10s", "--out", "real.toml"], 7, "no record of the condition of a path"),
        (["--for", "10s", "--out", "none/x.csv"], 5, "none/x.csv"),
    ],
)
def test_wrong_input_is_refused_before_anything_is_sent(tmp_path, words, code, says):
    write_experiment(tmp_path)
    before = (tmp_path / "real.toml").read_bytes()
    done = trialwise("profile", "real.toml", *words, cwd=tmp_path)
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr
    assert (tmp_path / "real.toml").read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["real.toml"]


def test_data_have_no_path_and_emulated_paths_no_ends(tmp_path):
    write_experiment(tmp_path)
    (tmp_path / "a.csv").write_text("time,value\n1,2\n2,3\n")
    done = trialwise("profile", "a.csv", "--for", "10m", cwd=tmp_path)
    assert done.returncode == 2
    assert "--for is for the path of an experiment file" in done.stderr
    file = tmp_path / "real.toml"
    text = file.read_text()
    start, stop = text.index("path = {"), text.index("}", text.index("path = {")) + 1
    file.write_text(text[:start] + 'path = { rate = "10Mbit/s" }' + text[stop:])
    done = trialwise("profile", "real.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "no path of this experiment leads from one machine to another" in done.stderr


def write_experiment(folder):
    values = {"runtime": "2s", "quiet": "1s", "more": "", "trial": 'scheme = "udp-copa"', "rounds": 1}
    text = EXPERIMENT.format(ends=FROM_HERE, folder=folder / "home", **values)
    (folder / "real.toml").write_text(text)


@pytest.mark.soak
def test_ssh_may_be_gone_and_what_ends_kept_meanwhile_is_fetched(real):
    file = real.folder / "real.toml"
    file.write_text(file.read_text().replace('heartbeat = "1s"', 'heartbeat = "1s"\nreconnect = "2s"'))
    real.length = "45s"
    with real.start() as run:
        wait_for(lambda: real.machine.processes("agent.execution"))
        time.sleep(8)
        real.machine.stop()
        gone = time.time()
        time.sleep(12)
        real.machine.start()
        output, errors = run.communicate(timeout=120)
    assert run.returncode == 0, output + errors
    assert "going on" in errors
    times = np.array([row.time for row in real.rows()])
    # Rows from before the cut were still at both ends when it came.
    assert (times < gone).sum() >= 2
    assert (times > gone + 12).sum() >= 2
    assert not real.left()
