"""How far one simulated trial is, and about how long it will go on."""

from __future__ import annotations

import time
from collections.abc import Callable

from trialwise.experiment.quantity import duration_text


class SimulationProgress:
    """Says how many flows are left, and how long they will take if packets are sent as fast as until now.

    It is told the simulated picoseconds, packets of data not yet sent once, and flows that have not ended, as `Progress` of
    trials/simulating.py.
    """

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._clock = clock
        self._first: tuple[float, int] | None = None

    def __call__(self, now: int, unsent: int, unfinished: int) -> None:
        """Say it."""
        left = self._left(unsent)
        ends = "" if left is None else f", about {duration_text(round(left, 1))} left"
        flows = "1 flow has" if unfinished == 1 else f"{unfinished:,} flows have"
        self._say(f"simulating: {duration_text(now / 1e12)}, {flows} not ended{ends}")

    def _left(self, unsent: int) -> float | None:
        """Seconds until the last packet is sent, None before one has been since the first call."""
        if self._first is None:
            self._first = self._clock(), unsent
        since, at_first = self._first
        sent = at_first - unsent
        return (self._clock() - since) * unsent / sent if sent > 0 else None
