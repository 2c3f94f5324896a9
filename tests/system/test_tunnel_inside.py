"""What is inside a tunnel between two real ends: IPv6, and what is too narrow for it."""

import numpy as np
import pytest
from tests.system import worker_machines
from tests.system.real_path import RealPath
from tests.system.test_tunnels import AROUND, TUNNEL, assert_same_datagrams

from trialwise.measurement.packets import read_packet_log

pytestmark = pytest.mark.skipif(bool(worker_machines.missing()), reason=str(worker_machines.missing()))

IPV6 = TUNNEL + ', inside = "ipv6"'
SYN = 80
"""Bytes over IPv6, with the options of Linux."""


@pytest.fixture
def real(tmp_path):
    path = RealPath(tmp_path, machines=2)
    yield path
    path.machines.close()


def test_flows_of_ipv6_join_to_the_log_of_the_emulator_packet_by_packet(real):
    flows = 'flows = [{ scheme = "cubic" }, { scheme = "cubic", direction = "downlink" }]'
    real.write(trial=flows, more=IPV6)
    path = "--rate", "10Mbit/s", "--delay", "10ms", "--loss", "1%", "--queue", "droptail:packets=50"
    done = real.run_inside(*path)
    assert done.returncode == 0, done.stdout + done.stderr
    log, found = read_packet_log(real.log, {5200: 1}), real.packets()
    log = log.where(log.flow == 1)
    log = log.where(log.time > log.time[log.size == SYN + AROUND].min() - 0.1)
    assert found.size.max() == 1500 - AROUND
    for way in (0, 1):
        ours, theirs = assert_same_datagrams(
            found.where(found.direction == way), log.where(log.direction == way)
        )
        assert (~theirs.delivered).sum() > 3
        assert ours.delivered.sum() == theirs.delivered.sum()
    assert {int(flow) for flow in np.unique(found.flow)} == {1, 2}
    assert real.told("strangers") == real.told("too_large") == 0
    assert not real.left()


def test_ipv6_inside_of_what_is_too_narrow_for_it_is_refused_before_anything_is_sent(real):
    real.write(more=IPV6 + ", mtu = 1300")
    done = real.run()
    assert done.returncode == 2, done.stdout + done.stderr
    assert "IPv6 inside a tunnel over IPv4 needs packets of 1320 bytes, and mtu is 1300" in done.stderr
    assert 'inside = "ipv4"' in done.stderr
