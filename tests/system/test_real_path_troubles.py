"""What goes wrong between two machines: each trouble is planted, and what is told says what, where and what to try."""

import signal
import sys
import time
from pathlib import Path

import pytest
from tests.system import worker_machines
from tests.system.real_path import RealPath

pytestmark = pytest.mark.skipif(bool(worker_machines.missing()), reason=str(worker_machines.missing()))


@pytest.fixture
def real(tmp_path):
    path = RealPath(tmp_path)
    yield path
    path.machines.close()


def test_a_black_hole_is_found_before_the_flows_begin(real):
    real.machine.run("ip", "link", "set", "eth0", "mtu", "1410")
    real.write(quiet="0.2s")
    assert real.run().returncode == 4
    assert (
        "local: flow 1 (udp-copa): the sender: packets of 1500 bytes do not pass to the other end"
        in real.reason()
    )
    assert "the largest that passes has 1400 bytes" in real.reason()
    assert "mtu = 1400" in real.reason()
    real.results = real.results.with_name("second")
    real.write(
        quiet="0.2s",
        trial='scheme = "cubic"',
        more=', rate_cap = "10Gbit/s", bytes_cap = "10GB"',
        runtime="0.5s",
    )
    assert real.run().returncode == 4
    assert "packets of 1472 bytes vanish on the way to the other end, and no router says so" in real.reason()
    real.results = real.results.with_name("third")
    real.write(quiet="0.2s", more=", mtu = 1400")
    assert real.run().returncode == 0
    assert real.packets().size.max() == 1400


def test_a_clock_that_is_set_in_the_middle_makes_the_trial_invalid(real):
    real.restart(environment="TRIALWISE_CLOCK=step:2s@50ms")
    real.write()
    assert real.run().returncode == 4
    assert real.reason().startswith("the clock of ssh://machine1 was set during the trial: let NTP slew it")
    real.restart()
    real.run_again()
    assert real.packets().delivered.sum() > 500


def test_a_machine_that_sleeps_says_so(real):
    real.restart(environment="TRIALWISE_CLOCK=sleep:2s@60s")
    real.write()
    assert real.run().returncode == 4
    assert "ssh://machine1: this machine slept for 60 s" in real.reason()


def test_a_capture_that_is_not_permitted_is_known_before_the_first_trial(real):
    real.restart(command='exec setpriv --bounding-set=-net_raw sh -c "$SSH_ORIGINAL_COMMAND"')
    real.write()
    done = real.run()
    assert done.returncode == 6
    assert "ssh://machine1: this user may not capture packets there: Operation not permitted" in done.stderr
    assert "root" in done.stderr
    assert not (real.results / "samples").exists()


def test_a_disk_that_is_full_before_the_first_trial_is_named(real):
    (real.folder / "home").mkdir()
    real.machine.run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", real.folder / "home")
    real.write()
    done = real.run()
    assert done.returncode == 6
    assert "ssh://machine1" in done.stderr
    assert "the disk is full there" in done.stderr or "No space left on device" in done.stderr
    assert "free some space" in done.stderr


def test_a_disk_that_fills_up_in_the_middle_costs_that_trial_only(real):
    (real.folder / "home").mkdir()
    real.machine.run("mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", real.folder / "home")
    real.write(rounds=2)
    run = real.begin()
    filler = real.folder / "home" / "filler"
    real.machine.run("sh", "-c", f"cat /dev/zero > {filler} 2>&1 || true")
    output = run.communicate(timeout=120)[0]
    assert run.returncode == 4, output
    assert "ssh://machine1" in real.reason()
    assert "No space left on device" in real.reason()
    assert "(free some space there, or choose another place with workers.folder)" in real.reason()
    real.machine.run("rm", filler)
    real.run_again()


@pytest.mark.parametrize("seconds", [5, pytest.param(30, marks=pytest.mark.soak)])
def test_ssh_may_be_away_for_a_while_and_nothing_is_lost(real, seconds):
    lease = 45 if seconds == 30 else 12
    real.write(runtime=f"{seconds + 3}s", more=f', lease = "{lease}s"')
    run = real.begin()
    for way in ("sport", "dport"):
        real.machine.run("ip", "rule", "add", "priority", "1", "ipproto", "tcp", way, "22", "blackhole")
    time.sleep(seconds)
    for _ in range(2):
        real.machine.run("ip", "rule", "delete", "priority", "1")
    output = run.communicate(timeout=120)[0]
    assert run.returncode == 0, output
    found = real.packets().of("uplink", 1)
    assert found.delivered.sum() == pytest.approx(4e6 / 8 / 1500 * (seconds + 3), rel=0.1)
    assert found.delivered.all()


def test_another_architecture_and_a_machine_without_python_are_named(real):
    real.restart(command='exec setarch i686 sh -c "$SSH_ORIGINAL_COMMAND"')
    real.write()
    done = real.run()
    assert done.returncode == 2
    assert "ssh://machine1: there is no program for the end of a path on i686" in done.stderr
    real.restart(command='PATH=/nowhere exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"')
    done = real.run()
    assert done.returncode == 6
    assert "ssh://machine1: there is no python3" in done.stderr
    assert "install Python 3.8 or newer there" in done.stderr


OTHER_PROTOCOL = "import trialwise.execution.workers.agent.attachment as other;other.PROTOCOL=1;"


def test_an_agent_of_another_version_is_named_and_finished_trials_stay(real):
    """The machine starts an agent that speaks another protocol, from the second trial on."""
    real.write(runtime="1s", quiet="0.5s", rounds=2)
    run = real.begin()
    program = f"sed 's/from trialwise/{OTHER_PROTOCOL}&/'"
    real.machine.command = f'exec sh -c "$(printf %s "$SSH_ORIGINAL_COMMAND" | {program})"'
    while not real.finished() and run.poll() is None:
        time.sleep(0.1)
    real.machine.stop()
    real.machine.start()
    output = run.communicate(timeout=120)[0]
    assert run.returncode == 4, output
    assert (
        "ssh://machine1: another agent answers there than the one that was sent, by protocol 1 and not 2"
        in real.reason(2)
    )
    assert "ForceCommand in sshd_config" in real.reason(2)
    assert real.finished() == [1]
    real.restart()
    real.run_again()
    assert real.finished() == [1, 2]


def test_an_agent_that_ignores_what_is_sent_is_named(real):
    """The machine starts an agent of its own, which takes the one that was sent for a request."""
    agent = "from trialwise.execution.workers.agent.attachment import attach; attach('/tmp', b'')"
    source = Path(__file__).parents[2] / "src"
    real.restart(command=f'exec env PYTHONPATH={source} python3 -c "{agent}"')
    real.write()
    text = real.toml.read_text().replace('heartbeat = "1s"', 'heartbeat = "1s"\nreconnect = "1s"')
    real.toml.write_text(text)
    done = real.run()
    assert done.returncode == 6
    assert "ssh://machine1: another agent answers there than the one that was sent" in done.stderr
    assert "ForceCommand in sshd_config" in done.stderr
    assert "Error" not in done.stderr


def test_a_device_that_goes_down_and_up_ends_the_trial_with_the_reason(real):
    real.write(runtime="6s")
    run = real.begin()
    time.sleep(1)
    real.machine.cut()
    time.sleep(1)
    real.machine.join()
    output = run.communicate(timeout=120)[0]
    assert run.returncode == 4, output
    assert "ssh://machine1: the capture failed: the interface" in real.reason()
    real.run_again()


def test_a_nat_that_takes_other_ports_in_the_middle_is_noted_and_packets_still_match(tmp_path):
    real = RealPath(tmp_path, machines=2)
    try:
        listener, nat = real.machines.all
        real.link()
        real.write(runtime="4s", more=f', address = "{nat.address}"')
        script = str(Path(__file__).with_name("rebinding.py"))
        passing = nat.begin(sys.executable, script, real.addresses[0], "5200", "5201")
        run = real.begin()
        time.sleep(2)
        assert nat.signal("rebinding.py", signal.SIGUSR1)
        output = run.communicate(timeout=120)[0]
        assert run.returncode == 0, output
        late = real.packets().of("uplink", 1, start=3.0)
        assert len(late) > 20
        assert late.delivered.all()
        assert real.told("peer_changes") == 1
        assert not listener.processes(" 5201")
    finally:
        real.machines.close()
        passing.wait()
