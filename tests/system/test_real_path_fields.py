"""ECN fields over a real path: what leaves, what arrives, and schemes that need ECT(1)."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.system import worker_machines
from tests.system.real_path import RealPath

from trialwise.store.ledger import Ledger

pytestmark = pytest.mark.skipif(bool(worker_machines.missing()), reason=str(worker_machines.missing()))


@pytest.fixture
def real(tmp_path: Path) -> Generator[RealPath]:
    path = RealPath(tmp_path)
    yield path
    path.machines.close()


@pytest.mark.parametrize("see", ["capture", "tunnel"])
@pytest.mark.parametrize(("gate", "status"), [((), "finished"), (("--ecn", "bleach"), "invalid")])
def test_a_scheme_that_needs_ect1_is_not_compared_over_a_path_that_clears_it(
    real: RealPath, gate: tuple[str, ...], status: str, see: str
):
    """The field of a packet in a tunnel survives what the path does to that of the datagram around it (RFC 6040)."""
    real.write(trial='scheme = "udp-prague"\nload = "rate:4Mbit/s"', runtime="1s", more=f', see = "{see}"')
    done = real.run_inside("--delay", "5ms", "--rate", "20Mbit/s", *gate)
    ledger = Ledger.open(real.results / "ledger.sqlite", read_only=True)
    try:
        (trial,) = ledger.trials()
        facts = {source: value or 0.0 for _, _, source, value, _, _ in ledger.values() if "ect1" in source}
    finally:
        ledger.close()
    assert trial.status == status, done.stderr + (trial.reason or "")
    sent, kept = facts["ends:uplink_ect1_sent"], facts["ends:uplink_ect1_kept"]
    assert sent > 5
    if gate:
        assert kept == 0
        assert facts["ends:uplink_ect1_cleared"] > 0
        assert "needs ECT(1), and on the uplink" in real.reason()
    else:
        assert kept > 0.9 * sent
        assert facts["ends:uplink_ect1_cleared"] == 0
