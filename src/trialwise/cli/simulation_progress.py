"""Progress of one simulated trial, and about how long it will take."""

from __future__ import annotations

import time
from collections.abc import Callable

from trialwise.experiment.quantity import duration_text


class SimulationProgress:
    """Reports the number of flows left, and the time they will take at the present rate of packets.

    It is called with the simulated picoseconds, unsent data packets, and unfinished flows, like `Progress` of trials/simulating.py.
    """

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._clock = clock
        self._first: tuple[float, int] | None = None

    def __call__(self, now: int, unsent: int, unfinished: int) -> None:
        """Report the progress."""
        left = self._left(unsent)
        ends = "" if left is None else f", about {duration_text(round(left, 1))} left"
        flows = "1 flow has" if unfinished == 1 else f"{unfinished:,} flows have"
        self._say(f"simulating: {duration_text(now / 1e12)}, {flows} not ended{ends}")

    def _left(self, unsent: int) -> float | None:
        """Return the seconds until the last packet is sent; None until one has been sent since the first call."""
        if self._first is None:
            self._first = self._clock(), unsent
        since, at_first = self._first
        sent = at_first - unsent
        return (self._clock() - since) * unsent / sent if sent > 0 else None
