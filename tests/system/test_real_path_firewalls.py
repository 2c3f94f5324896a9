"""A firewall without memory at the end that calls: answers reach its interface, and no program."""

import shutil

import pytest
from tests.system import worker_machines
from tests.system.real_path import FROM_HERE, TOWARDS_HERE, RealPath

from trialwise.schemes.library import scheme_named
from trialwise.schemes.needs import missing

pytestmark = [
    pytest.mark.skipif(bool(worker_machines.missing()), reason=str(worker_machines.missing())),
    pytest.mark.skipif(shutil.which("nft") is None, reason="needs nft(8)"),
]
FIREWALL = """table inet own {
  chain in { type filter hook input priority 0; meta l4proto { tcp, udp } th sport 5201 drop; }
}"""


@pytest.fixture
def real(tmp_path):
    path = RealPath(tmp_path)
    yield path
    path.machines.close()


@pytest.mark.parametrize("scheme", ["cubic", "udp-copa", "ngtcp2-cubic"])
def test_answers_that_a_firewall_keeps_from_the_calling_program_fail_the_trial(real, scheme):
    """The machine is the end that calls: the sender over TCP and UDP, the client over QUIC, to which the server sends."""
    if lacks := missing(scheme_named(scheme)):
        pytest.skip("; ".join(lacks))
    (real.folder / "firewall").write_text(FIREWALL)
    real.machine.run("nft", "--file", real.folder / "firewall")
    is_client = scheme_named(scheme).first == "sender"
    ends, more = (FROM_HERE, "") if is_client else (TOWARDS_HERE, f', address = "{real.machine.ours}"')
    # Our own sender gives up after five seconds.
    runtime = "6s" if scheme == "udp-copa" else "2s"
    real.write(ends=ends, more=more, trial=f'scheme = "{scheme}"', runtime=runtime)
    assert real.run().returncode == 4
    assert "answers from local came to ssh://machine1, and the program there got none" in real.reason()
    assert "let answers from port 5201 pass the firewall of ssh://machine1" in real.reason()
    assert not real.left()
