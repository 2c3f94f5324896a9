"""Schemes that change the machines at the ends of a real path, and leave nothing of it: laws of the kernel, its settings, uTP."""

import hashlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.system import worker_machines
from tests.system.real_path import TRIALWISE, RealPath

from trialwise.schemes.library import scheme_named
from trialwise.schemes.needs import missing

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


@pytest.mark.parametrize("scheme", ["tquic-cubic", "quiche-cubic"])
def test_quic_that_a_setup_built_is_captured_between_addresses_of_ipv6(real, scheme):
    if lacks := missing(scheme_named(scheme)):
        pytest.skip("; ".join(lacks))
    subprocess.run(["ip", "address", "add", "fd77::1/64", "dev", real.machine.link, "nodad"], check=True)
    real.machine.run("ip", "address", "add", "fd77::2/64", "dev", "eth0", "nodad")
    real.write(trial=f'scheme = "{scheme}"\nload = "bytes:1MB"', more=', address = "fd77::2"', runtime="3s")
    run_well(real)
    found = real.packets().of("uplink", 1)
    assert found.delivered.all()
    # RFC 9000, section 14.1, and the path's MTU; the headers around it are those of IPv6 and UDP.
    assert 1200 + 48 <= found.size.max() <= 1500
    assert found.size.sum() > 1e6


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


INSTALLED = """title = "Installed"
setup = "install -D -m 755 {folder}/own-program {prefix}/bin/own-program"
[needs]
programs = ["own-program"]
[loads]
rate = "rate:{amount}bit/s"
[receiver]
command = "own-program {flow} tcp receive --port {port}"
ready = { line = "ready" }
[sender]
command = "sh -c 'exec own-program {flow} tcp send {peer} {port} --congestion cubic --time {time}s --report {report} --load {load}'"
"""


@pytest.fixture
def installed(real):
    """A scheme whose setup is done here, in a folder of the test's own; the experiment takes it."""
    (real.folder / "own-program").write_text('#!/bin/sh\necho "own $0"; exec "$@"\n')
    (real.folder / "installed.toml").write_text(INSTALLED)
    real.environment["XDG_DATA_HOME"] = str(real.folder / "data")
    real.environment["XDG_STATE_HOME"] = str(real.folder / "state")
    trial = 'scheme = "installed"\nload = "rate:4Mbit/s"\n[schemes]\nfolders = ["."]'
    real.write(trial=trial, runtime="1s")
    return real


def set_up(real):
    words = [*TRIALWISE, "schemes", "setup", "installed", "--folder", str(real.folder)]
    done = subprocess.run(words, env=real.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_a_setup_installed_here_is_sent_to_both_ends(installed):
    done = installed.run()
    assert done.returncode == 6, done.stdout + done.stderr
    said = " ".join(done.stderr.split())
    assert "scheme installed: no program 'own-program' there" in said
    assert "or here, and it is sent along: trialwise schemes setup installed" in said
    set_up(installed)
    run_well(installed)
    (record,) = (installed.results / "environments").iterdir()
    digest = hashlib.sha256((installed.folder / "own-program").read_bytes()).hexdigest()
    ends = json.loads(record.read_text())["ends"]
    assert len(ends) == 2
    for end in ends.values():
        assert digest in end["programs"].values()
