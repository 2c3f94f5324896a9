"""Detect whether the machine slept or its clock was set while an experiment ran."""

from __future__ import annotations

import time
from dataclasses import dataclass

from trialwise.experiment.quantity import duration_text

MIN_SLEEP = 0.5
"""Seconds between the two monotonic clocks that count as sleep."""
MIN_STEP = 0.1
FASTEST_SLEW = 0.001
"""adjtimex(2) slews the clock by at most 500 parts per million; more than twice that was a step."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """The machine's clocks at one moment, in seconds: time of day, since boot without sleep, since boot with it.

    `boot` names the boot if the machine may have another one next time.
    """

    realtime: float
    monotonic: float
    boottime: float
    boot: str = ""


def read_clocks() -> Clocks:
    """Read the three clocks."""
    return Clocks(time.time(), time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME))


def disturbance(before: Clocks, after: Clocks) -> str | None:
    """Say what happened to the clocks between two moments; None if nothing did."""
    if before.boot != after.boot:
        return None
    lasted = after.boottime - before.boottime
    slept = lasted - (after.monotonic - before.monotonic)
    step = after.realtime - before.realtime - lasted
    told: list[str] = []
    if slept > MIN_SLEEP:
        told.append(f"the machine slept for {duration_text(slept)}")
    if abs(step) > MIN_STEP + FASTEST_SLEW * lasted:
        told.append(f"the clock was set {'forward' if step > 0 else 'back'} by {duration_text(abs(step))}")
    return "; ".join(told) or None
