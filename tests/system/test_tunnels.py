"""Real paths whose packets are seen in a tunnel, beside what the emulator's own log says of the datagrams around them."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from tests.system import worker_machines
from tests.system.real_path import BETWEEN_BOTH, RealPath, assert_same

from trialwise.measurement.packets import read_packet_log

pytestmark = pytest.mark.skipif(bool(worker_machines.missing()), reason=str(worker_machines.missing()))

AROUND = 28 + 12
"""Bytes of IPv4, UDP and the tunnel's header."""
PROBE = 28 + 64
TUNNEL = ', see = "tunnel"'


@pytest.fixture
def real(tmp_path):
    path = RealPath(tmp_path)
    yield path
    path.machines.close()


def assert_same_datagrams(packets, log):
    """Every packet that one log has the other has too as a datagram, by size and in the order in which they left, with its fate.

    Probes are left out, and with them what is as large: acknowledgements of TCP with time stamps.
    """
    ours, theirs = (each.where(each.size + around != PROBE) for each, around in ((packets, AROUND), (log, 0)))
    ours, theirs = (each.where(np.lexsort((each.arrival, each.size))) for each in (ours, theirs))
    assert len(theirs) > 300
    assert np.array_equal(ours.size + AROUND, theirs.size)
    # What came at one instant stands in the emulator's log in the order in which it left.
    starts = (np.diff(theirs.arrival, prepend=-1.0) > 1e-6) | (np.diff(theirs.size, prepend=0) != 0)
    kept = [
        np.add.reduceat(each.delivered.astype(int), np.flatnonzero(starts)).tolist()
        for each in (ours, theirs)
    ]
    assert kept[0] == kept[1]
    return ours, theirs


def test_the_joined_log_is_that_of_the_emulator_packet_by_packet(real):
    # TCP sends in bursts that the kernel splits.
    flows = 'flows = [{ scheme = "cubic" }, { scheme = "cubic", direction = "downlink" }]'
    real.write(trial=flows, more=TUNNEL)
    path = "--rate", "10Mbit/s", "--delay", "10ms", "--loss", "1%", "--queue", "droptail:packets=50"
    done = real.run_inside(*path)
    assert done.returncode == 0, done.stdout + done.stderr
    log, found = read_packet_log(real.log, {5200: 1}), real.packets()
    # Sizes of packets are tried long before the first flow opens its connection (60 bytes of SYN).
    log = log.where(log.flow == 1)
    log = log.where(log.time > log.time[log.size == 60 + AROUND].min() - 0.1)
    for way in (0, 1):
        packets = log.where(log.direction == way)
        ours, theirs = assert_same_datagrams(found.where(found.direction == way), packets)
        assert (~theirs.delivered).sum() > 3
        # Half of the lowest round trip is taken for each way.
        waits = theirs.delay[theirs.delivered] - packets.delay[packets.delivered].min() + 0.010
        assert abs(np.median(ours.delay[ours.delivered]) - np.median(waits)) < 0.002
    assert real.told("strangers") == 0
    assert not real.left()


def ours(real, *words):
    """Processes of the ends with all of these words in their command lines."""
    found = []
    for process in real.left():
        with contextlib.suppress(OSError):
            line = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ")
            found += [process] * all(word in line for word in words)
    return found


def network_of(process):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/ns/net").readlink()
    return None


def wait_until(is_so, seconds=60):
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert is_so()


@pytest.mark.parametrize("who", ["far end", "tunnel"])
def test_whoever_is_killed_no_device_namespace_or_process_is_left(real, who):
    real.write(more=TUNNEL + ', lease = "3s"')
    with subprocess.Popen(
        real.words, env=real.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        wait_until(lambda: len(ours(real, b" flow ", b" 5201")) == 2)
        tunnels = ours(real, b" tunnel ", b"5201=1")
        networks = {network_of(each) for each in tunnels}
        assert len(networks) == 2
        assert networks.isdisjoint({network_of("self"), network_of(real.machine.holder.pid)})
        assert {network_of(each) for each in ours(real, b" flow ", b" 5201")} == networks
        if who == "tunnel":
            os.kill(tunnels[0], signal.SIGKILL)
        else:
            there = set(real.machine.processes("agent.execution"))
            for process in ours(real, b"agent.execution"):
                if (process in there) == (who == "far end"):
                    os.kill(process, signal.SIGKILL)
        run.wait(120)
    assert who != "tunnel" or "the tunnel failed: it was killed" in real.reason()
    wait_until(lambda: not real.left(), 30)
    assert networks.isdisjoint(network_of(each.name) for each in Path("/proc").iterdir())
    real.run_again()
    assert real.packets().delivered.sum() > 500
    assert not real.left()


def test_an_end_without_the_rights_of_root_tunnels_in_a_user_namespace(real):
    rights = "-net_raw,-net_admin,-sys_admin"
    real.restart(command=f'exec setpriv --bounding-set={rights} sh -c "$SSH_ORIGINAL_COMMAND"')
    real.write(more=TUNNEL, runtime="1s")
    done = real.run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert real.packets().delivered.sum() > 100
    assert not real.left()


def test_a_tunnel_that_cannot_be_made_is_known_before_the_first_trial(real):
    real.machine.run("mount", "-t", "tmpfs", "tmpfs", "/dev/net")
    real.write(more=TUNNEL)
    done = real.run()
    assert done.returncode == 6
    assert (
        "ssh://machine1: this user may not make a tunnel there: /dev/net/tun: No such file or directory"
        in done.stderr
    )
    assert "user namespaces" in done.stderr
    assert 'see = "capture"' in done.stderr
    assert not (real.results / "samples").exists()


GATE = """
table ip gate {
    chain out {
        type nat hook postrouting priority 100;
        masquerade random;
    }
    chain through {
        type filter hook forward priority 0; policy drop;
        ct state established accept
        iifname "inside" udp dport 5200 accept
    }
}
"""


def test_several_programs_pass_a_nat_that_lets_one_udp_port_through(tmp_path):
    if shutil.which("nft") is None:
        pytest.skip("needs nft")
    real = RealPath(tmp_path, machines=3)
    try:
        inside, outside, gate = real.machines.all
        (tmp_path / "rules").write_text(GATE)
        for name, machine, network in (("inside", inside, "10.78.0"), ("outside", outside, "10.79.0")):
            peer = ["type", "veth", "peer", "name", "gate", "netns", str(machine.holder.pid)]
            gate.run("ip", "link", "add", name, *peer)
            for place, device, last in ((gate, name, 1), (machine, "gate", 2)):
                place.run("ip", "address", "add", f"{network}.{last}/24", "dev", device)
                place.run("ip", "link", "set", device, "up")
        inside.run("ip", "route", "add", "10.79.0.0/24", "via", "10.78.0.1")
        gate.run("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        gate.run("nft", "-f", tmp_path / "rules")
        flows = 'flows = [{ scheme = "cubic" }, { scheme = "udp-copa", direction = "downlink" }]'
        real.write(
            trial=flows,
            ends=BETWEEN_BOTH,
            more=TUNNEL + ', address = "10.79.0.2", rate_cap = "10Gbit/s", bytes_cap = "10GB"',
            runtime="1s",
        )
        done = real.run()
        # A machine that cannot carry so much says so, and the trial is invalid.
        assert done.returncode == 0 or "the tunnel at" in real.reason(), (
            done.stdout + done.stderr + real.reason()
        )
        if done.returncode == 0:
            found = real.packets()
            assert all((found.delivered & (found.flow == flow)).sum() > 100 for flow in (1, 2))
        assert real.told("strangers") == 0
        assert not real.left()
    finally:
        real.machines.close()


def test_our_own_programs_note_what_the_emulator_logs_packet_by_packet(real):
    rights = "-net_raw,-net_admin,-sys_admin"
    flows = 'flows = [{ scheme = "udp-cubic" }, { scheme = "udp-copa", direction = "downlink" }]'
    real.write(trial=flows, more=', see = "programs"')
    real.machine.command = f'exec setpriv --bounding-set={rights} sh -c "$SSH_ORIGINAL_COMMAND"'
    path = "--rate", "10Mbit/s", "--delay", "10ms", "--loss", "1%", "--queue", "droptail:packets=50"
    done = real.run_inside(*path)
    assert done.returncode == 0, done.stdout + done.stderr
    log = read_packet_log(real.log, {5201: 1, 5202: 2})
    # Acknowledgements that come when the sender has ended reach nobody who notes them.
    assert_same(real.packets(), log, 0, 1, 1)
    assert_same(real.packets(), log, 1, 2, 2)
    for way, flow in ((0, 2), (1, 1)):
        assert len(real.packets().of(("uplink", "downlink")[way], flow)) == len(
            log.of(("uplink", "downlink")[way], flow)
        )
    assert not real.left()


def test_programs_that_note_nothing_are_refused(real):
    real.write(trial='scheme = "cubic"', more=', see = "programs"')
    done = real.run()
    assert done.returncode == 2
    assert "scheme cubic: its programs do not note their packets" in done.stderr
    assert 'see = "capture" or "tunnel"' in done.stderr
