"""Metrics of a path trial: packets made by hand, a naive second implementation, and where the two voices differ."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from packet_logs import random_packets
from trialwise.measurement import path_metrics as metrics
from trialwise.measurement.packets import EVENTS, Packets


def packets(*rows: tuple[float, float, int, str], flow: int = 1) -> Packets:
    """Uplink packets of (time, delay in ms, size, event)."""
    return Packets(
        time=np.array([row[0] for row in rows], dtype=np.float64),
        delay=np.array([row[1] / 1e3 for row in rows], dtype=np.float64),
        direction=np.zeros(len(rows), np.uint8),
        flow=np.full(len(rows), flow, np.uint16),
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


def test_by_hand():
    assert metrics.throughput(SOME, 0.0, 4.0) == pytest.approx(3500 * 8 / 4 / 1e6)
    assert metrics.throughput(SOME, 1.5, 2.0) == pytest.approx(1500 * 8 / 0.5 / 1e6)
    assert metrics.one_way_delays(SOME) == pytest.approx([28, 40, 60])
    assert metrics.queueing_delays(SOME, 28) == pytest.approx([0, 12, 32])
    assert metrics.delay_percentile(SOME, 50) == pytest.approx(40)
    assert metrics.loss(SOME) == pytest.approx(25)
    assert metrics.utilisation(6, 12) == 50
    assert metrics.jain_index([4, 4]) == 1
    assert metrics.jain_index([1, 0, 0, 0]) == pytest.approx(0.25)
    assert metrics.jain_index([1, 2, 3]) == pytest.approx(36 / 42)
    assert metrics.pantheon_throughput(SOME) == pytest.approx(3500 * 8 / 1.0 / 1e6)
    assert metrics.pantheon_delay(SOME) == 60
    assert metrics.pantheon_loss(SOME) == pytest.approx(100 * (1 - 3500 / 6500))
    assert metrics.pantheon_capacity(np.array([1.0, 1.001, 1.002])) == pytest.approx(3 * 12_000 / 0.002 / 1e6)
    assert metrics.pantheon_utilization(SOME, 0.056) == pytest.approx(50)


def test_the_series_has_the_bins_of_the_schedule():
    ends, values = metrics.throughput_series(SOME, 0.5, 1.0, 2.2)
    assert ends == pytest.approx([1.5, 2.0, 2.2])
    assert values == pytest.approx([1500 * 8 / 0.5 / 1e6, 1500 * 8 / 0.5 / 1e6, 500 * 8 / 0.2 / 1e6])
    assert metrics.throughput_series(SOME, 0.1, 0.0, 0.3)[0].size == 3


def naive(found: Packets, start: float, stop: float) -> dict[str, float]:
    """All of it in plain loops over packets, as the definitions read."""
    names = ("time", "delay", "size", "event")
    rows = [
        dict(zip(names, row, strict=True))
        for row in zip(*(getattr(found, name).tolist() for name in names), strict=True)
    ]
    delivered = [row for row in rows if row["event"] == 0]
    dropped = [row for row in rows if EVENTS[row["event"]].startswith("dropped")]
    scheduled = sum(row["size"] for row in delivered if start <= row["time"] < stop)
    delays = sorted(row["delay"] * 1000 for row in delivered)
    times = [row["time"] for row in delivered]
    departed, arrived = sum(row["size"] for row in delivered), sum(row["size"] for row in rows)
    return {
        "throughput": scheduled * 8 / (stop - start) / 1e6,
        "loss": 100 * len(dropped) / (len(dropped) + len(delivered)),
        "pantheon_throughput": departed * 8 / (max(times) - min(times)) / 1e6,
        # The nearest rank to 0.95 (n − 1), halves to the even one.
        "pantheon_delay": delays[round(0.95 * (len(delays) - 1))],
        "pantheon_loss": 100 * (1 - departed / arrived),
    }


@pytest.mark.parametrize("seed", range(20))
def test_against_plain_loops(seed: int):
    found = random_packets(seed, 30 + 25 * seed)
    start, stop = 0.5, 9.0
    expected = naive(found, start, stop)
    assert metrics.throughput(found, start, stop) == pytest.approx(expected["throughput"])
    for name in ("loss", "pantheon_throughput", "pantheon_delay", "pantheon_loss"):
        assert getattr(metrics, name)(found) == pytest.approx(expected[name]), name
    _, values = metrics.throughput_series(found, 0.37, start, stop)
    edges = [*np.arange(start, stop, 0.37), stop]
    each = [naive(found, low, high)["throughput"] for low, high in pairwise(edges)]
    assert values == pytest.approx(each)


def test_nothing_is_said_of_nothing():
    none = packets()
    assert metrics.throughput(none, 0, 1) == 0
    for name in ("loss", "delay_percentile", "pantheon_throughput", "pantheon_delay", "pantheon_loss"):
        assert math.isnan(getattr(metrics, name)(none)), name
    assert math.isnan(metrics.jain_index([0, 0]))
    assert math.isnan(metrics.utilisation(1, 0))
    assert math.isnan(metrics.pantheon_capacity(np.array([])))
    one = packets((1.0, 28, 1500, "delivered"))
    assert metrics.pantheon_throughput(one) == 0
    assert metrics.pantheon_capacity(np.array([1.0])) == 0
    for call in (lambda: metrics.throughput(one, 1, 1), lambda: metrics.throughput_series(one, 0, 0, 1)):
        with pytest.raises(ValueError, match="s to "):
            call()


def test_a_flow_that_dies_keeps_pantheons_throughput_but_not_ours():
    dies = packets(*((0.1 + index / 1000, 28, 1500, "delivered") for index in range(1000)))
    assert metrics.pantheon_throughput(dies) == pytest.approx(12.0, rel=0.002)
    assert metrics.throughput(dies, 0, 10) == pytest.approx(1.2)


def test_a_full_queue_at_the_end_is_pantheons_loss_but_not_ours():
    full = packets(
        *((index / 1000, 128, 1500, "delivered") for index in range(900)),
        *((0.9, 100, 1500, "held") for _ in range(100)),
    )
    assert metrics.pantheon_loss(full) == pytest.approx(10)
    assert metrics.loss(full) == 0


def test_small_packets_count_less_in_pantheons_loss():
    mixed = packets((0.1, 28, 1500, "delivered"), (0.2, 0, 60, "dropped:loss"))
    assert metrics.loss(mixed) == 50
    assert metrics.pantheon_loss(mixed) == pytest.approx(100 * 60 / 1560)


def test_nearest_and_linear_percentiles_differ_between_neighbours():
    two = packets((0.1, 10, 1500, "delivered"), (0.2, 20, 1500, "delivered"))
    assert metrics.pantheon_delay(two) == 20
    assert metrics.delay_percentile(two, 95) == pytest.approx(19.5)


# Shares of flows that compete


def rate(*parts: tuple[float, float, float]) -> Packets:
    """Packets of 1000 bytes: from each start to each stop so many a second, half an interval after the start."""
    times = [
        start + (place + 0.5) / per_second
        for start, stop, per_second in parts
        for place in range(round((stop - start) * per_second))
    ]
    return packets(*[(time, 10, 1000, "delivered") for time in times])


def test_shares_of_equal_schedules_are_n_times_the_part_of_all():
    flows = [metrics.Served(rate((0, 10, speed)), 0, 10) for speed in (30, 60, 10)]
    assert metrics.fair_shares(flows) == pytest.approx([3 * 0.3, 3 * 0.6, 3 * 0.1])


def test_a_flow_that_is_alone_has_its_fair_share():
    assert metrics.fair_shares([metrics.Served(rate((0, 3, 7)), 0, 3)]) == [1]
    assert np.isnan(metrics.convergence_times([metrics.Served(rate((0, 30, 7)), 0, 30)])).all()


def test_shares_of_staggered_flows_by_hand():
    # The first has 100 a second alone for 4 s, then 75 beside 25 for 6 s: its fair share is 400 + 300, it got 400 + 450.
    first = metrics.Served(rate((0, 4, 100), (4, 10, 75)), 0, 10)
    second = metrics.Served(rate((4, 10, 25)), 4, 10)
    assert metrics.fair_shares([first, second]) == pytest.approx([850 / 700, 150 / 300])


def test_what_comes_after_a_flow_was_stopped_is_not_its_share():
    first = metrics.Served(rate((0, 10, 50)), 0, 10)
    second = metrics.Served(rate((0, 7, 50)), 0, 5)  # two seconds of its packets still arrive
    assert metrics.fair_shares([first, second]) == pytest.approx([1, 1])


def test_a_starved_flow_has_a_share_of_0_and_nobody_has_one_of_nothing():
    none = rate()
    assert metrics.fair_shares([metrics.Served(rate((0, 5, 20)), 0, 5), metrics.Served(none, 0, 5)]) == [2, 0]
    nothing = metrics.fair_shares([metrics.Served(none, 0, 5), metrics.Served(none, 0, 5)])
    assert np.isnan(nothing).all()


def taken(*speeds: float) -> list[float]:
    """The convergence times beside a newcomer with these speeds, second by second from 2 s; the other takes the rest of 100."""
    spans = [(2.0 + place, 3.0 + place, speed) for place, speed in enumerate(speeds)]
    left = [(start, stop, 100 - speed) for start, stop, speed in spans]
    end = 2.0 + len(speeds)
    return metrics.convergence_times(
        [metrics.Served(rate((0, 2, 100), *left), 0, end), metrics.Served(rate(*spans), 2, end)]
    )


def test_convergence_by_hand():
    # The fair share is 50; within 25 % of it are 38 to 62.
    assert taken(50, 50, 50, 50, 50) == [0, 0]
    assert taken(10, 20, 40, 45, 60, 55, 50) == [2, 2]
    assert taken(10, 40, 40, 40, 40, 20, 40, 40, 40, 40, 62, 10) == [6, 6]


def test_convergence_that_is_not_reached_is_infinite_and_one_that_nobody_can_tell_is_none():
    assert taken(10, 20, 30, 20, 10, 10) == [math.inf, math.inf]
    assert taken(10, 40, 40, 40, 40, 20, 40, 40, 40, 40) == [math.inf, math.inf]
    assert np.isnan(taken(50, 50, 50, 50)).all()


def test_flows_that_get_nothing_do_not_converge():
    silent = metrics.Served(rate(), 0, 10)
    assert metrics.convergence_times([silent, silent]) == [math.inf, math.inf]


def test_a_flow_that_stopped_before_the_last_start_has_no_convergence():
    gone = metrics.Served(rate((0, 3, 50)), 0, 3)
    stays = metrics.Served(rate((0, 20, 50)), 0, 20)
    late = metrics.Served(rate((5, 20, 50)), 5, 20)
    first, second, third = metrics.convergence_times([gone, stays, late])
    assert (np.isnan(first), second, third) == (True, 0, 0)
