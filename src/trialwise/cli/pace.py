"""How long trials take while they run, and so how long the rest will."""

from __future__ import annotations

import time
from collections.abc import Callable

from trialwise.execution.events import (
    Computing,
    Resetting,
    RunEvent,
    SessionStarted,
    TrialEnded,
    TrialStarted,
    Waiting,
)


class Pace:
    """How long trials take in this session, and so how long the rest will.

    Of measured trials it counts from the first one's start (or its reset). Nobody says when those that are computed start: it counts
    from the end of the first ones, as many as are computed at the same time, which leaves the start of processes out.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: float | None = None
        self._waited = 0.0
        self._trials = 0
        self._together = 1
        self._last_start: float | None = None

    def notice(self, event: RunEvent) -> None:
        """Take in what says how fast it goes."""
        match event:
            case SessionStarted():
                self._last_start = event.last_start
            case Resetting() | TrialStarted() if self._begun is None:
                self._begin()
            case Computing():
                self._together = event.cores
            case Waiting():
                self._waited += max(event.until - time.time(), 0.0)
            case TrialEnded():
                self._trials += 1
                if self._begun is None and self._trials >= self._together:
                    self._begin()
            case _:
                pass

    def _begin(self) -> None:
        self._begun, self._waited, self._trials = self._clock(), 0.0, 0

    def left(self, remaining: int, now: float) -> float | None:
        """Seconds that `remaining` trials will take at the pace so far, and not before the last round starts."""
        if self._begun is None or not self._trials or remaining <= 0:
            return None
        each = max(self._clock() - self._begun - self._waited, 0.0) / self._trials
        if self._last_start is None:
            return each * remaining
        return max(self._last_start - now + each, each * remaining)
