"""Copies and ECN fields of packets: in metrics, and in what two ends saw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sighting_files import Crossed
from trialwise.measurement import path_metrics as metrics
from trialwise.measurement.joining import join_sightings
from trialwise.measurement.packets import CE, ECT_0, ECT_1, EVENTS, Packets, joined
from trialwise.measurement.sightings import SENT


def packets(*rows: tuple[float, float, int, str]) -> Packets:
    """Uplink packets of (time, delay in ms, size, event)."""
    return Packets(
        time=np.array([row[0] for row in rows], dtype=np.float64),
        delay=np.array([row[1] / 1e3 for row in rows], dtype=np.float64),
        direction=np.zeros(len(rows), np.uint8),
        flow=np.full(len(rows), 1, np.uint16),
        size=np.array([row[2] for row in rows], np.uint32),
        event=np.array([EVENTS.index(row[3]) for row in rows], np.uint8),
    )


SOME = packets(
    (1.0, 28, 1500, "delivered"),
    (1.5, 40, 1500, "delivered"),
    (1.6, 0, 1500, "dropped:overflow"),
    (2.0, 60, 500, "delivered"),
    (3.0, 1000, 1500, "held"),
)


def test_copies_change_nothing_but_their_own_share():
    copies = packets(
        (1.1, 29, 1500, "duplicate"),
        (1.9, 29, 1500, "duplicate"),
        (2.0, 0, 1500, "duplicate:dropped"),
        (3.0, 0, 1500, "duplicate:held"),
    )
    both = joined([SOME, copies])
    for measure in ("loss", "pantheon_loss", "pantheon_throughput", "pantheon_delay", "delay_percentile"):
        assert getattr(metrics, measure)(both) == getattr(metrics, measure)(SOME)
    assert metrics.throughput(both, 0.0, 4.0) == metrics.throughput(SOME, 0.0, 4.0)
    assert metrics.duplicates(both) == pytest.approx(100 * 2 / 3)
    assert metrics.duplicates(SOME) == 0


def test_shares_of_the_ecn_field_are_of_those_that_arrived_with_a_known_one():
    fields = np.array([CE, ECT_1, CE, ECT_1, ECT_0], np.uint8)
    found = replace(SOME, ecn=fields)
    assert [metrics.ecn_share(found, field) for field in (CE, ECT_1, ECT_0)] == pytest.approx(
        [100 / 3, 200 / 3, 0]
    )
    assert np.isnan(metrics.ecn_share(SOME, CE))


def test_fields_that_change_on_the_way_are_counted_by_what_they_were():
    crossed = Crossed(duplicates=0.0)
    ends = [replace(end, records=end.records.copy()) for end in crossed.ends()]
    for end in ends:
        # By the identity, which is the same at both ends: all leave with ECT(1) or ECT(0), and arrive with any field.
        kind = end.records["identity"] % np.uint64(8)
        sent = end.records["direction"] == SENT
        end.records["ecn"] = np.where(sent, np.where(kind < 4, ECT_1, ECT_0), kind % 4)
    found = join_sightings(*ends, seed=1)
    for source, target, crossing in ((*ends, found.uplink), (*reversed(ends), found.downlink)):
        left = source.records["identity"][source.records["direction"] == SENT]
        came = target.records["identity"][target.records["direction"] != SENT]
        count = np.bincount((np.intersect1d(left, came) % np.uint64(8)).astype(int), minlength=8)
        assert crossing.ect1_sent == int((left % np.uint64(8) < 4).sum())
        assert crossing.ect0_sent == crossing.sent - crossing.ect1_sent
        fates = crossing.ect1_cleared, crossing.ect1_kept, crossing.ect1_as_ect0, crossing.ect1_marked
        assert fates == tuple(count[:4])
        fates = crossing.ect0_cleared, crossing.ect0_as_ect1, crossing.ect0_kept, crossing.ect0_marked
        assert fates == tuple(count[4:])
    packets = found.packets
    assert np.bincount(packets.ecn[packets.delivered], minlength=4).min() > 0
