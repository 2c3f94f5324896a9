"""What two ends saw, joined: against the truth from which both files were made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sighting_files import Crossed, write_sightings
from trialwise.errors import AnalysisError
from trialwise.measurement.joining import Joined, join_sightings
from trialwise.measurement.packets import DELIVERED, DROPPED, HELD, Packets
from trialwise.measurement.sightings import RECORD, UNFINISHED, Sightings, read_sightings


def joined(crossed: Crossed) -> Joined:
    return join_sightings(*crossed.ends(), seed=1)


def check(crossed: Crossed, found: Joined, within: float = 2e-4) -> None:
    """Every packet has the fate and the delay that it had; what was sent in the last seconds may be held."""
    for direction, (truth, crossing) in enumerate(
        zip(crossed.truth, (found.uplink, found.downlink), strict=True)
    ):
        packets = found.packets.where(found.packets.direction == direction)
        assert len(packets) == crossing.sent == truth["sent"].size
        assert np.all(np.diff(packets.time) >= 0)
        order = np.argsort(packets.arrival, kind="stable")
        event, delay, size = packets.event[order], packets.delay[order], packets.size[order]
        came = np.isfinite(truth["came"])
        assert np.array_equal(event == DELIVERED, came)
        assert np.array_equal(size, truth["size"])
        assert delay[came] == pytest.approx((truth["came"] - truth["sent"])[came], abs=within)
        late = truth["sent"] > crossed.seconds - 2.2
        assert np.all(event[~came & ~late] == DROPPED)
        assert np.all(event[~came] >= HELD)


def test_every_packet_has_its_fate():
    crossed = Crossed()
    found = joined(crossed)
    check(crossed, found)
    lost = [int(np.isnan(truth["came"]).sum()) for truth in crossed.truth]
    for crossing, number in zip((found.uplink, found.downlink), lost, strict=True):
        assert crossing.delivered == crossing.sent - number
        assert crossing.dropped + crossing.held == number
        assert (crossing.ambiguous, crossing.strangers, crossing.merged) == (0, 0, 0)
        assert crossing.duplicates > 0
    assert found.uplink.held > 0
    assert not found.proxied
    assert found.lost == (0, 0)
    skew = found.clocks.skew
    assert skew is not None
    assert skew.low <= 50e-6 <= skew.high
    found.check_delays()


def test_equal_identities_are_matched_in_order():
    """One in a thousand looks like one that was sent 0.15 s before: as keep-alives do."""
    crossed = Crossed(alike=4e-4, loss=0.0, duplicates=0.0, reordered=0.0)
    found = joined(crossed)
    check(crossed, found)
    assert 0 < found.uplink.ambiguous < 0.001 * found.uplink.sent
    found.check_delays()


def test_too_many_alike_are_refused_where_a_packets_delay_is_asked():
    found = joined(Crossed(alike=0.02))
    assert found.uplink.ambiguity > 0.001
    with pytest.raises(
        AnalysisError, match=r"% of the packets from the first to the second end look like others"
    ) as refused:
        found.check_delays()
    assert "tcp_timestamps" in str(refused.value.hint)


def test_equal_identities_far_apart_are_apart():
    """A keep-alive each ten seconds: the window ends between, so that a lost one is the one that is missed."""
    crossed = Crossed(seconds=60, loss=0.0, duplicates=0.0)
    one, other = crossed.ends()
    times = crossed.truth[0]["sent"]
    places = np.searchsorted(times, [5, 15, 25, 35, 45])
    identity = one.records["identity"].copy()
    alike = np.isin(identity, crossed.truth[0]["identity"][places])
    one.records["identity"][alike & (one.records["direction"] == 0)] = 77
    rows = np.isin(other.records["identity"], crossed.truth[0]["identity"][places]) & (
        other.records["direction"] == 1
    )
    other.records["identity"][rows] = 77
    third = np.flatnonzero(rows)[2]
    found = join_sightings(one, Sightings("other", np.delete(other.records, third), 0), seed=1)
    crossed.truth[0]["came"][places[2]] = np.nan
    check(crossed, found)
    assert found.uplink.ambiguous == 0


def test_a_proxy_is_told_from_a_path_that_loses_all():
    crossed = Crossed(tcp_passes=False)
    found = joined(crossed)
    assert found.proxied
    assert found.uplink.dropped > found.uplink.sent / 3


def test_one_way_alone_leaves_delays_above_the_lowest():
    for rates in ((2000, 0), (0, 2000)):
        crossed = Crossed(rates=rates)
        found = joined(crossed)
        assert found.clocks.bound == np.inf
        way = found.packets.where(found.packets.delivered)
        truth = crossed.truth[0 if rates[0] else 1]
        waits = (truth["came"] - truth["sent"])[np.isfinite(truth["came"])]
        assert np.sort(way.delay) == pytest.approx(np.sort(waits) - waits.min(), abs=2e-4)


def test_files_of_different_runs_are_refused():
    one, other = Crossed().ends()
    other.records["identity"] += np.uint64(1)
    with pytest.raises(AnalysisError, match="none of 50000 packets that left one end was seen at the other"):
        join_sightings(one, other, seed=1)


def test_an_end_that_saw_nothing_is_refused():
    one, _ = Crossed().ends()
    with pytest.raises(AnalysisError, match="none of"):
        join_sightings(one, Sightings("other", np.empty(0, RECORD), 0), seed=1)


def test_a_capture_that_missed_a_packet_does_not_spoil_the_clocks():
    """A's capture missed one that came; an equal one that A sent three seconds later was lost on the way."""
    crossed = Crossed(loss=0.0, duplicates=0.0)
    one, other = crossed.ends()
    sent = np.flatnonzero(one.records["direction"] == 0)
    early, late = sent[10_000], sent[16_000]
    identity, lost = one.records["identity"][early], one.records["identity"][late]
    one.records["identity"][late] = identity
    keep = np.arange(len(one)) != early
    came = (other.records["identity"] != lost) | (other.records["direction"] == 0)
    found = join_sightings(
        Sightings("one", one.records[keep], 1), Sightings("other", other.records[came], 0), seed=1
    )
    assert found.clocks.changes == ()
    assert found.clocks.pieces[0].round_trip == pytest.approx(0.056, abs=1e-4)
    assert (found.uplink.dropped, found.uplink.strangers) == (1, 1)
    assert found.lost == (1, 0)


def test_many_partitions_give_what_one_gives(monkeypatch: pytest.MonkeyPatch):
    crossed = Crossed(alike=4e-4)
    whole = joined(crossed).packets
    monkeypatch.setattr("trialwise.measurement.joining._AT_ONCE", 1000)
    parted = joined(Crossed(alike=4e-4)).packets
    for name in Packets.__slots__:
        assert np.array_equal(getattr(whole, name), getattr(parted, name)), name


def test_files_are_read_as_written(tmp_path: Path):
    one, other = Crossed().ends()
    paths = [write_sightings(tmp_path / name, each.records) for name, each in (("a", one), ("b", other))]
    found = join_sightings(*(read_sightings(path) for path in paths), seed=1)
    direct = join_sightings(one, other, seed=1)
    assert np.array_equal(found.packets.delay, direct.packets.delay)


def test_a_cut_file_is_read_up_to_its_last_whole_record(tmp_path: Path):
    one, _ = Crossed().ends()
    path = write_sightings(tmp_path / "a", one.records, UNFINISHED)
    path.write_bytes(path.read_bytes()[:-5])
    found = read_sightings(path)
    assert (len(found), found.lost) == (len(one) - 1, None)


@pytest.mark.parametrize(
    "content", [b"", b"TWSEEN\0\0", b"TWPACKET" + bytes(90), b"TWSEEN\0\0\2\0\0\0 \0\0\0" + bytes(80)]
)
def test_other_files_are_refused(tmp_path: Path, content: bytes):
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(AnalysisError, match="not a file of packets that one end saw"):
        read_sightings(path)


@pytest.mark.parametrize(("name", "value"), [("direction", 2), ("ecn", 4), ("size", 0), ("time", 2**63)])
def test_records_that_no_capture_writes_are_refused(tmp_path: Path, name: str, value: int):
    one, _ = Crossed().ends()
    one.records[name][1234] = value
    with pytest.raises(AnalysisError, match="record 1235 is damaged"):
        read_sightings(write_sightings(tmp_path / "a", one.records))


def test_a_clock_that_was_set_back_is_refused(tmp_path: Path):
    one, _ = Crossed().ends()
    one.records["time"][2000:] -= np.uint64(500_000_000)
    with pytest.raises(AnalysisError, match=r"a: the clock goes back by \d+ ms at record 2001"):
        read_sightings(write_sightings(tmp_path / "a", one.records))


def test_an_empty_file_has_no_packets(tmp_path: Path):
    assert len(read_sightings(write_sightings(tmp_path / "a", np.empty(0, RECORD)))) == 0


def test_the_time_of_day_bounds_the_offset():
    """Both realtime clocks agree within 2 ms; those of the records are a thousand seconds apart, and one gains 50 ppm."""
    crossed = Crossed(seconds=40)
    one, other = crossed.ends()
    noon = 10**18
    known = []
    for end, seen, error in ((0, one, 0), (1, other, 2_000_000)):
        raw = crossed._clock(end, np.array([0.0, 40.0])).astype(np.int64).tolist()
        clocks = (noon + error, raw[0], noon + error + 40_000_000_000, raw[1])
        known.append(Sightings(seen.name, seen.records, 0, 0, clocks))
    found = join_sightings(*known, seed=1, clock_error=0.003)
    (piece,) = found.clocks.pieces
    true = float(crossed.of_b(np.array([piece.middle]))[0]) - piece.middle
    assert piece.offset is not None
    assert not piece.contradicted
    assert piece.offset.low <= true <= piece.offset.high
    assert piece.offset.high - piece.offset.low == pytest.approx(0.006, abs=1e-4)
    check(crossed, found)


@pytest.mark.parametrize(
    ("steps", "clocks", "why"), [(1, (5, 1, 9, 5), "was set while it ran"), (0, (5, 1, 0, 0), "its end")]
)
def test_a_time_of_day_that_is_not_known_is_refused(steps: int, clocks: tuple[int, ...], why: str):
    one, other = Crossed().ends()
    with pytest.raises(AnalysisError, match=why):
        join_sightings(Sightings("one", one.records, 0, steps, clocks), other, seed=1, clock_error=0.01)
