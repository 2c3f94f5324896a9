"""DualPI2 against a plain calculation of RFC 9332, appendix A, from when each packet came and left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from trialwise import _core

RATE = 12e6
TARGET, UPDATE, ALPHA, BETA, COUPLING = 0.015, 0.015, 0.15, 3.0, 2.0
THRESHOLD, RANGE = 800e-6, 400e-6
DELIVERED, MANAGED = 0, 6
ECT1, ECT0, CE = 1, 2, 3


@dataclass(frozen=True)
class Packet:
    """When it came, when it left its queue, and what it was then."""

    arrival: float
    departure: float
    low: bool
    marked: bool
    dropped: bool


class Sender:
    """A window that a round trip adds one packet to and a mark or a loss takes a share of."""

    def __init__(self, context: _core.ControllerContext) -> None:
        self.segment = context.segment
        self.packets = 10.0
        self.until = 0

    @property
    def window(self) -> int:
        return max(int(self.packets * self.segment), 2 * self.segment)

    def on_acknowledgement(self, event: _core.AcknowledgementEvent) -> None:
        if event.marked_packets and event.cumulative > self.until:
            self.reduce(event.next_sequence)
        self.packets += event.acknowledged / self.segment / max(self.packets, 1.0)

    def on_loss(self, event: _core.LossEvent) -> None:
        if event.new_episode:
            self.reduce(event.next_sequence)

    def on_timeout(self, event: _core.TimeoutEvent) -> None:
        self.packets = 2.0

    def reduce(self, until: int) -> None:
        self.packets, self.until = max(self.packets * (1 - self.share), 2.0), until

    share = 0.5


class Scalable(Sender):
    ecn = "ect1"
    share = 0.15


class Marked(Sender):
    ecn = "ect0"


def packets_over(folder: Path, *schemes: type[Sender]) -> list[Packet]:
    """Return what came to the queue of a link without a delay, in order of departure."""
    forward = (("rate", "12Mbit/s"), ("queue", "dualpi2"))
    flows = [(scheme, "bulk", "uplink", 0.0, 20.0) for scheme in schemes]
    columns = _core.simulate_path(
        (forward,), ((("delay", "20ms"),),), flows, directory=folder, seed=5, interval=0
    ).packets
    seconds, delays = columns.time_ns / 1e9, columns.delay_ns / 1e9
    found = []
    for index in np.flatnonzero((columns.direction == 0) & (columns.event != 1)):
        dropped = columns.event[index] == MANAGED
        assert dropped or columns.event[index] == DELIVERED
        sending = 0.0 if dropped else float(columns.size[index]) * 8 / RATE
        time, scheme = float(seconds[index]), schemes[int(columns.flow[index]) - 1]
        arrival = time - float(delays[index])
        low, marked = scheme is Scalable, columns.ecn[index] == CE
        found.append(Packet(arrival, time - sending, low, bool(marked), bool(dropped)))
    return sorted(found, key=lambda packet: packet.departure)


def probabilities(packets: list[Packet]) -> Iterator[tuple[float, float]]:
    """Yield each time of an update and p' from then on: p' += alpha (q - target) + beta (q - q before)."""
    classic = sorted((packet for packet in packets if not packet.low), key=lambda packet: packet.arrival)
    time, base, old, first = min(packet.arrival for packet in packets), 0.0, 0.0, 0
    while time < packets[-1].departure:
        time += UPDATE
        while first < len(classic) and classic[first].departure < time - 1e-9:
            first += 1
        waits = first < len(classic) and classic[first].arrival < time - 1e-9
        delay = time - classic[first].arrival if waits else 0.0
        base = min(max(base + ALPHA * (delay - TARGET) + BETA * (delay - old), 0.0), 1.0)
        old = delay
        yield time, base


def base_at(packets: list[Packet]) -> list[float]:
    """Return p' at each departure."""
    times, bases = zip(*probabilities(packets), strict=True)
    places = np.searchsorted(times, [packet.departure + 1e-9 for packet in packets], side="right")
    return [bases[place - 1] if place else 0.0 for place in places]


@pytest.mark.parametrize(
    "schemes", [(Scalable,), (Scalable, Sender), (Scalable, Marked), (Scalable, Scalable, Sender, Marked)]
)
def test_every_mark_of_the_low_latency_queue_is_where_the_rfc_has_it(
    tmp_path: Path, schemes: tuple[type[Sender], ...]
) -> None:
    packets = packets_over(tmp_path, *schemes)
    bases = base_at(packets)
    arrivals = np.sort([packet.arrival for packet in packets if packet.low])
    due, gone, wrong, marks = 0.0, 0, 0, 0
    for packet, base in zip(packets, bases, strict=True):
        if not packet.low:
            continue
        gone += 1
        # What comes as another leaves comes after it.
        behind = int(np.searchsorted(arrivals, packet.departure - 1e-9)) - gone
        native = min(max((packet.departure - packet.arrival - THRESHOLD) / RANGE, 0.0), 1.0)
        due += min(max(native if behind > 0 else 0.0, COUPLING * base), 1.0)
        expected = due >= 1 - 1e-9
        due -= expected
        marks += packet.marked
        wrong += expected != packet.marked
        assert COUPLING * base < 1, "no overload here"
        assert not packet.dropped
    assert marks > 100
    # Packets that come just as another leaves, or a mark that is due by a rounding.
    assert wrong <= 0.01 * marks, (wrong, marks)


@pytest.mark.parametrize("schemes", [(Sender,), (Marked,), (Scalable, Sender), (Scalable, Marked)])
def test_the_classic_queue_is_dropped_or_marked_with_the_square_of_p(
    tmp_path: Path, schemes: tuple[type[Sender], ...]
) -> None:
    packets = packets_over(tmp_path, *schemes)
    chances, hits = [], 0
    for packet, base in zip(packets, base_at(packets), strict=True):
        if not packet.low:
            chances.append(base**2)
            hits += packet.dropped or packet.marked
    expected, variance = sum(chances), sum(chance * (1 - chance) for chance in chances)
    assert expected > 30
    assert abs(hits - expected) < 4 * variance**0.5
    capable = Marked in schemes
    assert any(packet.marked for packet in packets if not packet.low) == capable
    assert any(packet.dropped for packet in packets) != capable
