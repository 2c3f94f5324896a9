"""Links that are drawn, and the reward of a congestion control on one of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from trialwise import _core

PACKET = 1500
"""Bytes of an IP packet."""
SECONDS = 6.0
RATES = (1e6, 20e6)
"""Bit/s, log-uniform."""
ROUND_TRIPS = (0.02, 0.1)
"""Seconds, uniform."""
BUFFERS = (0.5, 4.0)
"""Bandwidth-delay products, uniform."""
LOSSES = (0.0, 0.01)
"""Share of packets that is lost at random, uniform."""
SHARE, DELAY, LOSS = 10.0, 2.0, 20.0
"""What the reward gives for the whole link, and takes for a round trip more and for the loss of everything.

Aurora's has the same three terms, for throughput in packets a second: its weights mean something else on each link.
"""


@dataclass(frozen=True, slots=True)
class Link:
    """A bottleneck; rate in bit/s, times in seconds."""

    rate: float
    round_trip: float
    buffer: int
    """Packets."""
    loss: float
    seed: int


class Found(NamedTuple):
    """What a congestion control came to on a link."""

    reward: float
    share: float
    """Of the link's rate."""
    delay: float
    """Mean round-trip time over that of the empty path."""
    loss: float
    """Share of packets."""


def draw(seed: int, number: int, scale: float = 1.0) -> Link:
    """Return the link of this number; its rate is `scale` times what it would be."""
    chance = np.random.default_rng([seed, number])
    rate = scale * math.exp(chance.uniform(math.log(RATES[0]), math.log(RATES[1])))
    round_trip = chance.uniform(*ROUND_TRIPS)
    packets = chance.uniform(*BUFFERS) * rate * round_trip / 8 / PACKET
    return Link(rate, round_trip, max(math.ceil(packets), 2), chance.uniform(*LOSSES), number)


def run(link: Link, congestion: object) -> Found:
    """Return what a controller of this name, or of this class, comes to with bulk data."""
    delay = ("delay", f"{link.round_trip / 2 * 1e6:.0f}us")
    packets = _core.simulate_path(
        [
            [
                ("rate", f"{link.rate:.0f}bit/s"),
                delay,
                ("loss", f"{link.loss * 100:.4f}%"),
                ("queue", f"droptail:packets={link.buffer}"),
            ]
        ],
        [[delay]],
        [(congestion, "bulk", "uplink", 0.0, SECONDS)],
        directory=Path(),
        seed=link.seed,
        mtu=PACKET,
        interval=0.0,
    ).packets
    sent = packets.direction == 0
    arrived = sent & (packets.event == 0)
    count, lost = int(arrived.sum()), int((sent & (packets.event >= 2)).sum())
    base = link.round_trip + PACKET * 8 / link.rate
    share = int(packets.size[arrived].sum()) * 8 / SECONDS / link.rate
    one_way = int(packets.delay_ns[arrived].sum()) * 1e-9 / count if count else base
    return judged(share, (one_way + link.round_trip / 2) / base, lost / max(count + lost, 1))


def judged(share: float, delay: float, loss: float) -> Found:
    """Return what was found, with its reward."""
    return Found(SHARE * share - DELAY * (delay - 1) - LOSS * loss, share, delay, loss)
