"""Schemes that change the machines at the ends of a real path, and leave nothing of it: laws of the kernel, its settings, uTP."""

import os
import re
import signal
import time
from pathlib import Path

import pytest
from tests.system import worker_machines
from tests.system.real_path import RealPath

pytestmark = pytest.mark.skipif(bool(worker_machines.missing()), reason=str(worker_machines.missing()))
SETTING = "/proc/sys/net/ipv4/tcp_congestion_control"


@pytest.fixture
def real(tmp_path):
    path = RealPath(tmp_path)
    yield path
    path.machines.close()


def setting(real):
    return real.machine.run("cat", SETTING).strip()


def run_well(real):
    done = real.run()
    if found := re.search(r"cannot run there: (.*)", done.stderr):
        pytest.skip(found[1])
    assert done.returncode == 0, done.stdout + done.stderr
    found = real.packets().of("uplink", 1)
    assert found.delivered.sum() > 100
    assert not real.left()


@pytest.mark.parametrize("scheme", ["vegas", "dctcp"])
def test_a_law_of_the_kernel_is_attached_at_the_ends_and_its_settings_are_put_back(real, scheme):
    before = setting(real)
    real.write(trial=f'scheme = "{scheme}"\nload = "rate:4Mbit/s"', runtime="2s")
    run_well(real)
    assert setting(real) == before
    assert f"tw_{scheme}" not in before


def test_utp_runs_between_two_machines(real):
    real.write(trial='scheme = "libutp-ledbat"\nload = "bytes:1MB"', runtime="3s")
    run_well(real)


@pytest.mark.parametrize("who", ["end", "end and guardian"])
def test_settings_are_put_back_when_the_end_that_changed_them_is_killed(real, who):
    before = setting(real)
    other = next(each for each in ("reno", "cubic") if each != before)
    scheme = real.folder / "changing.toml"
    scheme.write_text(
        f"""title = "Changing"
[loads]
rate = "rate:{{amount}}bit/s"
[receiver]
command = "sh -c 'echo {other} >{SETTING} && exec {{flow}} tcp receive --port {{port}}'"
ready = {{ line = "ready" }}
[sender]
command = "{{flow}} tcp send {{peer}} {{port}} --congestion cubic --time {{time}}s --report {{report}} --load {{load}}"
"""
    )
    trial = 'scheme = "changing"\nload = "rate:4Mbit/s"\n[schemes]\nfolders = ["."]'
    real.write(trial=trial, runtime="20s", more=', lease = "3s"')
    run = real.begin()
    deadline = time.monotonic() + 20
    while setting(real) != other and time.monotonic() < deadline:
        time.sleep(0.1)
    assert setting(real) == other
    ends = real.machine.processes("agent.execution")
    parents = {
        each: int(Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()[1]) for each in ends
    }
    guardians = [each for each in ends if parents[each] in ends]
    assert len(ends) == 2
    assert len(guardians) == 1
    for process in guardians if who != "end" else []:
        os.kill(process, signal.SIGKILL)
    for process in set(ends) - set(guardians):
        os.kill(process, signal.SIGKILL)
    assert run.communicate(timeout=120)
    if who == "end":
        deadline = time.monotonic() + 20
        while setting(real) != before and time.monotonic() < deadline:
            time.sleep(0.1)
    else:
        real.write(trial=trial, runtime="1s", more=', lease = "3s"')
        real.results = real.results.with_name("second")
        assert real.run().returncode == 0
    assert setting(real) == before
