"""Notice that this machine was asleep: CLOCK_BOOTTIME goes on meanwhile, CLOCK_MONOTONIC does not (clock_gettime(2))."""

from __future__ import annotations

import os
import time

SHORTEST = 0.001
"""Seconds of sleep that are told."""
PLANTED = "TRIALWISE_CLOCK"
"""For tests: `sleep:2s@60s` in this environment variable is a sleep of a minute, two seconds after the beginning."""


class Sleep:
    """Knows how long this machine has slept since this object was made."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.after, self.planted = _planted(os.environ.get(PLANTED, ""))
        self.first = self.least()

    @property
    def seconds(self) -> float:
        """Seconds that it has slept at least; 0 if it has not."""
        slept = self.least() - self.first
        return slept if slept >= SHORTEST else 0.0

    def least(self) -> float:
        """Return the seconds that it has slept since it was started, or less: never more, however long this takes."""
        boottime = time.clock_gettime(time.CLOCK_BOOTTIME)
        monotonic = time.monotonic()
        planted = self.planted if monotonic - self.began >= self.after else 0.0
        return boottime - monotonic + planted


def _planted(text: str) -> tuple[float, float]:
    name, _, value = text.partition(":")
    after, _, seconds = value.partition("@")
    return (float(after.rstrip("s")), float(seconds.rstrip("s"))) if name == "sleep" else (0.0, 0.0)
