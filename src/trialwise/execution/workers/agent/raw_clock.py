"""The clock of an end: CLOCK_MONOTONIC_RAW, which nobody sets, and on which packets are stamped (`crates/capture`, stamps.rs)."""

from __future__ import annotations

import os
import time

PLANTED = "TRIALWISE_CLOCK"
"""For tests: errors of the clocks, such as `skew:50ppm,offset:1000s`, here and in the programs that stamp packets.

Each process counts the skew from its own beginning: where one begins some seconds after the other, 50 ppm make a fraction of a
millisecond.
"""
_BEGAN = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
_UNITS = (("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000))


def raw_now() -> int:
    """Return the time in nanoseconds."""
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    return now if PLANTED not in os.environ else now + error_after(now - _BEGAN)


def error_after(passed: int) -> int:
    """Return what skew and offset add after so many nanoseconds, as stamps.rs has it; the clock that a test sets is another one."""
    skew = float(planted("skew", "0ppm")[: -len("ppm")]) * 1e-6
    return nanoseconds(planted("offset", "0s")) + round(passed * skew)


def planted(name: str, otherwise: str) -> str:
    """Return the value of an error in this environment."""
    words = (word.partition(":") for word in os.environ.get(PLANTED, "").split(","))
    return next((value for known, _, value in words if known == name), otherwise)


def nanoseconds(text: str) -> int:
    """Return a time such as 5ms in nanoseconds."""
    unit, length = next((unit, length) for unit, length in _UNITS if text.endswith(unit))
    return round(float(text[: -len(unit)]) * length)
