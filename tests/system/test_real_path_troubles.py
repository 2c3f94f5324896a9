"""What goes wrong between two machines: each trouble is planted, and what is told says what, where and what to try."""

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
