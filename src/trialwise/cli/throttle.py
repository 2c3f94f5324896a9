"""The duration of trials during a run, and of the remaining ones."""

from __future__ import annotations

import time
from collections.abc import Callable

from trialwise.execution.events import (
    Computing,
    PlanGrew,
    Resetting,
    RunEvent,
    SessionStarted,
    StoppingOutlook,
    TreatmentsSkipped,
    TrialEnded,
    TrialStarted,
    Waiting,
)
from trialwise.experiment.quantity import duration_text


class Pace:
    """The pace of trials in this session, and the time left.

    For measured trials it counts from the start of the first one (or its reset). Computed trials do not report their start: for them
    it counts from the end of the first concurrent ones, which excludes the start of processes.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: float | None = None
        self._waited = 0.0
        self._trials = 0
        self._together = 1
        self._last_start: float | None = None

    def notice(self, event: RunEvent) -> None:
        """Record an event that affects the pace."""
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
        """Return the seconds that `remaining` trials will take at the present pace, but at least until the last round starts."""
        if self._begun is None or not self._trials or remaining <= 0:
            return None
        each = max(self._clock() - self._begun - self._waited, 0.0) / self._trials
        if self._last_start is None:
            return each * remaining
        return max(self._last_start - now + each, each * remaining)


class Course:
    """The number of finished trials, the total, and how certain that is if the run stops by itself."""

    def __init__(self) -> None:
        self.done = 0
        self.total = 0
        self._pace = Pace()
        self._surely = ""
        self._is_foreseen = False

    def notice(self, event: RunEvent) -> None:
        """Record an event that affects the progress or the pace."""
        self._pace.notice(event)
        match event:
            case SessionStarted():
                self.done, self.total = event.done, event.total
            case PlanGrew():
                self.total = event.total
            case TreatmentsSkipped():
                self.total = self.total if self._is_foreseen else event.total
            case TrialEnded():
                self.done += event.is_last
            case StoppingOutlook(total=None):
                self._is_foreseen = True
                self._surely = "at most "
            case StoppingOutlook():
                self._is_foreseen = True
                self.total = event.total or self.total
                self._surely = "" if event.pilot else "about "
            case _:
                pass

    @property
    def is_done(self) -> bool:
        """Return True if as many trials have finished as are known of; False past a forecast that was too low."""
        return self.done == self.total

    def parts(self) -> list[str]:
        """Return the numbers of finished and total trials, and the time left, if known."""
        self.total = max(self.total, self.done)  # a forecast may be too low
        left = self._pace.left(self.total - self.done, time.time())
        count = f"{self.done} of {self._surely}{self.total}" if self._surely else f"{self.done}/{self.total}"
        return [count, *([f"{self._surely}{duration_text(left)} left"] if left else [])]
