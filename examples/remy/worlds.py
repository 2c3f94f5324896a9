"""Networks that are drawn, and what a congestion control is worth on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trialwise import _core

PACKET = 1500
"""Bytes of an IP packet."""
SECONDS = 10.0
RATES = (1e6, 100e6)
"""Bit/s of the bottleneck, log-uniform."""
ROUND_TRIPS = (0.02, 0.2)
"""Seconds, uniform."""
BUFFERS = (1.0, 5.0)
"""Bandwidth-delay products, uniform."""
MEAN_PERIOD = 1.0
"""Seconds that a sender is on, or off; exponential."""
SHORTEST = 0.1
"""A sender that is on for less in all counts for nothing, seconds."""


@dataclass(frozen=True, slots=True)
class Network:
    """A bottleneck and when each of its senders is on; rate in bit/s, times in seconds."""

    rate: float
    round_trip: float
    buffer: int
    """Packets."""
    periods: tuple[tuple[tuple[float, float], ...], ...]
    """Of each sender, start and stop of what it sends."""
    seed: int


def draw(seed: int, number: int, scale: float = 1.0) -> Network:
    """Return the network of this number; its rate is `scale` times what it would be."""
    chance = np.random.default_rng([seed, number])
    rate = scale * math.exp(chance.uniform(math.log(RATES[0]), math.log(RATES[1])))
    round_trip = chance.uniform(*ROUND_TRIPS)
    product = rate * round_trip / 8 / PACKET
    buffer = max(math.ceil(chance.uniform(*BUFFERS) * product), 2)
    senders = int(chance.integers(1, 3))
    return Network(rate, round_trip, buffer, tuple(_periods(chance) for _ in range(senders)), number)


def _periods(chance: np.random.Generator) -> tuple[tuple[float, float], ...]:
    periods: list[tuple[float, float]] = []
    now = chance.exponential(MEAN_PERIOD) if chance.random() < 0.5 else 0.0
    while now < SECONDS:
        stop = min(now + chance.exponential(MEAN_PERIOD), SECONDS)
        periods.append((now, stop))
        now = stop + chance.exponential(MEAN_PERIOD)
    return tuple(periods)


def worth(network: Network, congestion: object, delta: float = 1.0) -> float:
    """Return the sum over senders of log(throughput / fair share) - delta log(delay / base) (SIGCOMM 2013, section 3.3).

    `congestion` is a name, or a class whose objects are controllers. Throughput counts while a sender is on.
    """
    flows = [(start, stop) for periods in network.periods for start, stop in periods]
    done = _core.simulate_path(
        [
            [
                ("rate", f"{network.rate:.0f}bit/s"),
                ("delay", f"{network.round_trip / 2 * 1e6:.0f}us"),
                ("queue", f"droptail:packets={network.buffer}"),
            ]
        ],
        [[("delay", f"{network.round_trip / 2 * 1e6:.0f}us")]],
        [(congestion, "bulk", "uplink", start, stop) for start, stop in flows],
        directory=Path(),
        seed=network.seed,
        mtu=PACKET,
        interval=0.0,
    )
    return _worth(network, done.packets, delta)


def _worth(network: Network, packets: _core.PacketColumns, delta: float) -> float:
    arrived = (packets.event == 0) & (packets.direction == 0)
    flow, size, delay = packets.flow[arrived], packets.size[arrived], packets.delay_ns[arrived]
    base = network.round_trip + PACKET * 8 / network.rate
    total, first = 0.0, 1
    for periods in network.periods:
        mine = (flow >= first) & (flow < first + len(periods))
        first += len(periods)
        on = sum(stop - start for start, stop in periods)
        if on < SHORTEST:
            continue
        throughput = max(int(size[mine].sum()), PACKET) * 8 / on
        round_trip = float(delay[mine].mean()) * 1e-9 + network.round_trip / 2 if mine.any() else base
        total += math.log(throughput * len(network.periods) / network.rate) - delta * math.log(
            round_trip / base
        )
    return total
