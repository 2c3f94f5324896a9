"""A path between two real ends that carries less than it did, and programs of QUIC whose addresses are of IPv6."""

import threading
import time

import pytest
from tests.system import worker_machines
from tests.system.real_path import BETWEEN_BOTH, RealPath
from tests.system.test_tunnels import AROUND, TUNNEL, ours

from trialwise.schemes.library import scheme_named
from trialwise.schemes.needs import missing

pytestmark = pytest.mark.skipif(bool(worker_machines.missing()), reason=str(worker_machines.missing()))
NARROW = 1400


@pytest.fixture
def routed(tmp_path):
    """Two machines, and a third one that routes between them."""
    path = RealPath(tmp_path, machines=3)
    first, second, gate = path.machines.all
    for name, machine, network in (("first", first, "10.78.0"), ("second", second, "10.79.0")):
        peer = ("peer", "name", "gate", "netns", str(machine.holder.pid))
        gate.run("ip", "link", "add", name, "type", "veth", *peer)
        for place, device, last in ((gate, name, 1), (machine, "gate", 2)):
            place.run("ip", "address", "add", f"{network}.{last}/24", "dev", device)
            place.run("ip", "link", "set", device, "up")
    first.run("ip", "route", "add", "10.79.0.0/24", "via", "10.78.0.1")
    second.run("ip", "route", "add", "10.78.0.0/24", "via", "10.79.0.1")
    gate.run("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
    yield path
    path.machines.close()


def run_and_change(real, change):
    """Run; `change` is called three seconds after the flow's sender was started."""

    def wait_and_change():
        deadline = time.monotonic() + 60
        while not ours(real, b" send ") and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(3)
        change()

    thread = threading.Thread(target=wait_and_change)
    thread.start()
    done = real.run()
    thread.join()
    return done


def test_where_a_route_gets_narrow_the_programs_inside_are_told(routed):
    caps = 'address = "10.79.0.2", rate_cap = "10Gbit/s", bytes_cap = "10GB"'
    more = f'{TUNNEL}, inside = "ipv6", {caps}'
    routed.write(trial='scheme = "cubic"\nload = "rate:20Mbit/s"', ends=BETWEEN_BOTH, more=more, runtime="8s")
    gate = routed.machines.all[2]
    done = run_and_change(routed, lambda: gate.run("ip", "link", "set", "second", "mtu", str(NARROW)))
    assert done.returncode == 0, done.stdout + done.stderr
    assert routed.told("too_large") > 0
    found = routed.packets().of("uplink", 1)
    assert found.size.max() == 1500 - AROUND
    # RFC 8201: what is sent from then on fits through the narrow link, and arrives.
    late = found.where(found.time > found.time.max() - 0.5)
    assert late.delivered.sum() > 100
    assert late.size.max() == NARROW - AROUND
    assert not routed.left()


@pytest.mark.parametrize("scheme", ["ngtcp2-cubic", "tquic-cubic", "quiche-cubic"])
def test_quic_runs_between_addresses_of_ipv6(tmp_path, scheme):
    if lacks := missing(scheme_named(scheme)):
        pytest.skip("; ".join(lacks))
    real = RealPath(tmp_path, machines=2)
    try:
        real.write(
            trial=f'scheme = "{scheme}"\nload = "bytes:1MB"',
            more=TUNNEL + ', inside = "ipv6"',
            runtime="4s",
        )
        done = real.run()
        assert done.returncode == 0, done.stdout + done.stderr
        found = real.packets().of("uplink", 1)
        assert found.delivered.sum() > 700
        assert found.size.max() <= 1500 - AROUND
        assert not real.left()
    finally:
        real.machines.close()
