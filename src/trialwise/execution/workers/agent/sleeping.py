"""Notice that this machine was asleep: CLOCK_BOOTTIME goes on meanwhile, CLOCK_MONOTONIC does not (clock_gettime(2))."""

from __future__ import annotations

import time

from trialwise.execution.workers.agent.raw_clock import nanoseconds, planted

SHORTEST = 0.001
"""Seconds of sleep that are told."""


class Sleep:
    """Knows how long this machine has slept since this object was made.

    For tests, `sleep:2s@60s` among the planted errors of the clocks is a sleep of a minute, two seconds after that.
    """

    def __init__(self) -> None:
        self.began = time.monotonic()
        after, _, slept = planted("sleep", "0s@0s").partition("@")
        self.after, self.planted = nanoseconds(after) / 1e9, nanoseconds(slept) / 1e9
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
