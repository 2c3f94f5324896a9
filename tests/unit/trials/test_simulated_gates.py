"""Simulated trials over paths that copy packets, swallow large ones, or take the ECN field away."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from simulated_trials import execute, packets_of
from trialwise import _core
from trialwise.errors import PlanError
from trialwise.measurement.packets import ECT_1, EVENTS

LINK = [("rate", "20Mbit/s"), ("queue", "droptail:packets=60"), ("delay", "10ms")]


def simulated(*more: tuple[str, str], congestion: str = "cubic", mtu: int = 1500, seconds: float = 3.0):
    way = [[*LINK, *more]]
    flows = [(congestion, "bulk", "uplink", 0.0, seconds)]
    return _core.simulate_path(way, [LINK], flows, directory=".", seed=3, mtu=mtu).packets


def events(columns: _core.PacketColumns) -> Counter[tuple[int, int]]:
    up = columns.direction == 0
    return Counter(zip((columns.event[up] % 128).tolist(), (columns.event[up] // 128).tolist(), strict=True))


def test_copies_have_records_of_their_own_and_change_no_drop_before_them():
    plain, copied = simulated(), simulated(("duplicate", "5%,after=0ms..2ms"), ("loss", "2%"))
    counts = events(copied)
    copies = sum(count for (_, is_copy), count in counts.items() if is_copy)
    passed = counts[0, 0] + counts[1, 0]
    assert abs(copies - 0.05 * passed) < 5 * (0.05 * passed) ** 0.5
    assert not any(event > 1 for event, is_copy in counts if is_copy), (
        "what copies comes after all that drops"
    )
    assert counts[2, 0] > 0
    assert not (plain.event >= 128).any()
    # Each copy came with a packet that arrived, to the nanosecond to which times are rounded.
    up = (copied.direction == 0) & (copied.event % 128 == 0)
    came, is_copy = (copied.time_ns - copied.delay_ns)[up].astype(np.int64), copied.event[up] == 128
    others = np.sort(came[~is_copy])
    near = np.searchsorted(others, came[is_copy] - 1)
    assert (others[np.minimum(near, others.size - 1)] - came[is_copy] <= 1).mean() > 0.97


def test_a_copy_that_meets_a_drop_later_on_is_known_as_a_copy():
    groups = [[("duplicate", "50%")], LINK, [("loss", "20%")]]
    flows = [("cubic", "bulk", "uplink", 0.0, 2.0)]
    columns = _core.simulate_path(groups, [LINK], flows, directory=".", seed=3).packets
    counts = events(columns)
    assert counts[2, 1] > 0
    assert counts[0, 1] > 0
    assert EVENTS[10:] == ("duplicate", "duplicate:held", "duplicate:dropped")


@pytest.mark.parametrize("mtu", [576, 1500, 9000])
def test_packets_of_any_size_fill_the_link(mtu: int):
    columns = simulated(mtu=mtu)
    up = (columns.direction == 0) & (columns.event == 0) & (columns.time_ns > 1_000_000_000)
    assert columns.size[up].max() == mtu
    carried = columns.size[up].astype(np.int64).sum() * 8 / 2.0 / 1e6
    assert carried == pytest.approx(20, rel=0.03)


def test_jumbo_packets_cross_a_recording(tmp_path: Path):
    (tmp_path / "some.path").write_text(
        "# trialwise.path/1 {}\ntime_ms,direction,rate_bps,base_delay_us,state\n0,uplink,12000000,10000,on\n"
        "0,downlink,12000000,10000,on\n5000,uplink,,,\n"
    )
    outcome = execute(tmp_path, 'scheme = "udp-cubic"', path='{ course = "recording:some.path", mtu = 9000 }')
    up = packets_of(tmp_path, outcome).of("uplink", start=1.0)
    arrived = up.where(up.delivered)
    assert arrived.size.max() == 9000
    # 9000 bytes take 6 ms at 12 Mbit/s.
    assert np.median(np.diff(arrived.time)) == pytest.approx(0.006, abs=2e-4)


def test_what_is_larger_than_the_path_carries_vanishes():
    columns = simulated(("pmtu", "1400"))
    up = columns.direction == 0
    assert (columns.size[up & (columns.event == 0)] <= 1400).all()
    assert (columns.size[up & (columns.event == 8)] > 1400).all()
    assert (columns.event[up] == 8).any()


@pytest.mark.parametrize(
    ("gate", "told"),
    [("bleach", "the uplink clears the ECN field"), ("drop-ect1", "the uplink drops packets with ECT(1)")],
)
def test_a_scheme_that_needs_ect1_is_invalid_where_it_does_not_pass(tmp_path: Path, gate: str, told: str):
    path = f'{{ rate = "12Mbit/s", delay = "20ms", ecn = "{gate}" }}'
    outcome = execute(tmp_path, 'scheme = "udp-prague"', path=path)
    assert outcome.status != "finished"
    if gate == "bleach":
        assert outcome.status == "invalid"
        assert outcome.reason == (
            f"flow 1 (udp-prague) needs ECT(1), and {told}: what was measured is not the scheme"
        )
    assert execute(tmp_path, 'scheme = "udp-cubic"', path=path).status == "finished"


def test_a_scheme_that_needs_ect1_is_valid_where_it_passes(tmp_path: Path):
    path = '{ rate = "12Mbit/s", delay = "20ms", queue = "dualpi2", downlink = { ecn = "bleach" } }'
    outcome = execute(
        tmp_path, 'scheme = "udp-prague"', "[metrics.ce_share]\n[metrics.ect1_share]\n", path=path
    )
    assert (outcome.status, outcome.reason) == ("finished", None)
    up = packets_of(tmp_path, outcome).of("uplink")
    assert (up.ecn[up.delivered] == ECT_1).mean() > 0.5
    shares = [float(outcome.samples[f"path:{name}"].values[0]) for name in ("ce_share", "ect1_share")]
    assert sum(shares) == pytest.approx(100)
    assert 0 < shares[0] < 50


def test_simulated_packets_have_no_payload_to_change(tmp_path: Path):
    with pytest.raises(PlanError, match="checksum=fix changes payloads"):
        execute(
            tmp_path,
            'scheme = "udp-cubic"',
            path='{ rate = "12Mbit/s", delay = "20ms", corrupt = "1%,checksum=fix" }',
        )
