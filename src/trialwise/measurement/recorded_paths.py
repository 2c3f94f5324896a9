"""A recording of a path from the packets that crossed it while a sender kept it full."""

from __future__ import annotations

import numpy as np

from trialwise import _core
from trialwise.measurement.packets import DIRECTIONS, EVENTS, Packets
from trialwise.measurement.recordings import DELAY, LOSS, Recording, Steps, Way

DELAY_BIN = 100.0
"""Milliseconds of which the least delay counts."""
LOSS_BIN = 1000.0
"""Milliseconds over which loss is counted."""
_EMPTY = 0.1
"""The queue counts as empty while its delay is below this share of its largest."""
_OF_QUEUES = frozenset({"dropped:overflow", "dropped:managed", "dropped:policed"})


def recording_of(packets: Packets) -> Recording:
    """Return what packets say of their path: departures as opportunities, least delays each 100 ms, loss while the queue was empty.

    A direction in which less than a full packet's worth of bytes was delivered after the first packet has delays and loss only.
    """
    start = float(packets.arrival.min()) if len(packets) else 0.0
    ways = {name: _way(packets.of(name), start) for name in DIRECTIONS}
    end = float(packets.time.max()) if len(packets) else 0.0
    # Opportunities are at whole milliseconds, rounded up.
    return Recording(ways["uplink"], ways["downlink"], float(np.ceil((end - start) * 1000)))


def _way(packets: Packets, start: float) -> Way:
    delivered = packets.where(packets.delivered)
    if not len(delivered):
        return Way()
    steps = {DELAY: _least_delays(delivered, start)}
    loss = _loss(packets, start)
    if loss.values.any():
        steps[LOSS] = loss
    times = np.rint((delivered.time - start) * 1e9).astype(np.uint64)
    try:
        chances = _core.trace_from_departures(times, delivered.size.astype(np.uint64), mahimahi=False)
    except ValueError:
        return Way(steps)
    return Way(steps, chances.astype(np.int64))


def _least_delays(packets: Packets, start: float) -> Steps:
    bins = ((packets.time - start) * 1000 // DELAY_BIN).astype(np.int64)
    places, firsts = np.unique(bins, return_index=True)
    least = np.minimum.reduceat(packets.delay, firsts) * 1e6
    return Steps((places * DELAY_BIN).astype(np.float64), np.rint(least))


def _loss(packets: Packets, start: float) -> Steps:
    """Return the share of packets lost of those that came while the queue was empty, each second in which there were some."""
    packets = packets.originals()
    delivered = packets.where(packets.delivered)
    least, most = float(delivered.delay.min()), float(delivered.delay.max())
    places = np.maximum(np.searchsorted(delivered.time, packets.time, side="right") - 1, 0)
    empty = delivered.delay[places] <= least + _EMPTY * (most - least)
    of_queues = np.isin(packets.event, [EVENTS.index(name) for name in EVENTS if name in _OF_QUEUES])
    bins = ((packets.time - start) * 1000 // LOSS_BIN).astype(np.int64)
    count = int(bins.max()) + 1
    came = np.bincount(bins[empty], minlength=count)
    lost = np.bincount(bins[empty & packets.dropped & ~of_queues], minlength=count)
    there = np.flatnonzero(came)
    return (
        Steps((there * LOSS_BIN).astype(np.float64), lost[there] / came[there])
        if there.size
        else Steps(np.zeros(1), np.zeros(1))
    )
