"""Condition data and pilots made with seeds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

START = datetime(2026, 8, 3, tzinfo=UTC)


def generator(seed):
    return np.random.Generator(np.random.PCG64DXSM(seed))


def week_of_days(count=336, seed=7):
    """Values every two hours with a day and a week, and which of them were measured."""
    rng = generator(seed)
    place = np.arange(count)
    values = (
        94
        + 1.5 * np.sin(2 * np.pi * place / 12)
        + 0.8 * np.sin(2 * np.pi * place / 84)
        + rng.normal(0, 0.5, count)
    )
    kept = (rng.random(count) > 0.1) & ~((place > 100) & (place < 115))
    return values, np.flatnonzero(kept)


def condition_csv(path, *, separator=",", written=None):
    """A file of `week_of_days`; `written` says how a moment stands in it."""
    values, kept = week_of_days()
    written = written or (lambda moment: moment.isoformat())
    rows = [f"{written(START + timedelta(hours=2 * int(k)))}{separator}{values[k]:.4f}" for k in kept]
    path.write_text("\n".join([f"when{separator}quality", *rows]) + "\n")
    return path


def ledbat(duration=300.0, seed=4, startup=38.0, level=92.0):
    """TriScale, Fig. 4: throughput that ramps up during 38 seconds, then stays at about 92 Mbit/s."""
    times = np.arange(0, duration, 0.25)
    return times, level * np.minimum(times / startup, 1) + generator(seed).normal(0, 4.6, times.size)


def pilot_csv(path, seeds=(4,), duration=300.0):
    """A file of pilots, one for each seed."""
    lines = ["trial,time,throughput"]
    for trial, seed in enumerate(seeds, start=1):
        lines += [f"{trial},{t:.2f},{y:.4f}" for t, y in zip(*ledbat(duration, seed), strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path
