"""Records of the condition of a path with a planted day, as probes would have made them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trialwise.measurement.condition_files import About, ConditionFile
from trialwise.measurement.condition_rows import Condition

ABOUT = About("0" * 32, "to-berlin", "f" * 16, 60.0)
MIDNIGHT = 1_793_577_600.0
"""2026-11-02 00:00 UTC."""


def day_of_path(days: float = 3, curve: float = 2.0, noise: float = 0.4, seed: int = 1) -> list[Condition]:
    """Rows of a minute: a round trip of 30 ms that is `curve` ms more at 18:00 and less at 06:00, with noise of its own."""
    rng = np.random.default_rng(seed)
    times = np.arange(0, days * 86_400, 60.0)
    trips = 30 - curve * np.sin(2 * np.pi * times / 86_400) + noise * rng.standard_normal(times.size)
    waits = rng.gamma(2.0, 0.5, (2, times.size))
    lost = rng.binomial(1200, 0.002, (2, times.size))
    return [
        Condition(
            time=MIDNIGHT + time,
            seconds=60.0,
            round_trip_ms=trip,
            up_p50_ms=up / 3,
            up_p95_ms=up,
            down_p50_ms=down / 3,
            down_p95_ms=down,
            up_sent=1200,
            up_lost=int(one),
            down_sent=1200,
            down_lost=int(other),
            up_ttl=57,
            down_ttl=58,
            clock_steps=0,
            skew_ppm=12.5,
        )
        for time, trip, (up, down), (one, other) in zip(times, trips, waits.T, lost.T, strict=True)
    ]


def write_conditions(path: Path, rows: list[Condition], about: About = ABOUT) -> Path:
    """Write a record of these rows."""
    with ConditionFile(path, about) as file:
        file.add(rows)
    return path
