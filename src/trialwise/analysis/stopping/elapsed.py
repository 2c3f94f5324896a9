"""The time used by an experiment, from the record of its trials."""

from __future__ import annotations

from trialwise.store.records import TrialRow


class Elapsed:
    """Sums the time from the end of one trial to the end of the next in the same session, including resets and failed trials.

    The first trial of a session counts from its own start, so that time between sessions is excluded.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._session: int | None = None
        self._end: float | None = None

    def add(self, row: TrialRow, started: float | None, finished: float | None) -> None:
        """Add a trial that has ended."""
        if finished is None:
            return
        together = self._end is not None and row.session == self._session
        begun = self._end if together else started
        if begun is not None:
            self.seconds += max(finished - begun, 0.0)
        # Trials computed concurrently may end before one that precedes them in the plan.
        self._end = max(finished, self._end) if together and self._end is not None else finished
        self._session = row.session
