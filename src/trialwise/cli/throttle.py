"""How long trials take while they run, and so how long the rest will."""

from __future__ import annotations

import time
from collections.abc import Callable

from trialwise.execution.events import (
    Computing,
    Resetting,
    RunEvent,
    SessionStarted,
    StoppingOutlook,
    TrialEnded,
    TrialStarted,
    Waiting,
)
from trialwise.experiment.quantity import duration_text


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


class Course:
    """How many trials have come to an end, of how many, and how surely that is known where the run stops by itself."""

    def __init__(self) -> None:
        self.done = 0
        self.total = 0
        self._pace = Pace()
        self._surely = ""

    def notice(self, event: RunEvent) -> None:
        """Take in what says how far the run is, and how fast it goes."""
        self._pace.notice(event)
        match event:
            case SessionStarted():
                self.done, self.total = event.done, event.total
            case TrialEnded():
                self.done += event.outcome.status != "abandoned"
            case StoppingOutlook(total=None):
                self._surely = "at most "
            case StoppingOutlook():
                self.total = event.total or self.total
                self._surely = "" if event.pilot else "about "
            case _:
                pass

    @property
    def is_done(self) -> bool:
        """Return True when as many trials have come to an end as are known of; past a forecast that was too low, False."""
        return self.done == self.total

    def parts(self) -> list[str]:
        """So many of so many trials, and what is left of the time, where that is known."""
        self.total = max(self.total, self.done)  # a forecast may be too low
        left = self._pace.left(self.total - self.done, time.time())
        count = f"{self.done} of {self._surely}{self.total}" if self._surely else f"{self.done}/{self.total}"
        return [count, *([f"{self._surely}{duration_text(left)} left"] if left else [])]
