"""The window over the plan: trials handed out ahead of the record, and results that came back before their turn."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence

from trialwise.store.records import TrialRow
from trialwise.trials.base import TrialOutcome

MAX_LOSSES = 3
"""Number of times a trial is lost with its process or node before it counts as failed."""


class Window:
    """Restores plan order for results that come back in any order.

    Places count the rows from 0. Every place is handed out, comes back once with an outcome or is lost, and is taken once, after
    all places before it.
    """

    def __init__(self, rows: Sequence[TrialRow]) -> None:
        self._rows = rows
        self._following = 0
        self._head = 0
        self._held: dict[int, tuple[TrialOutcome, float]] = {}
        self._lost: deque[int] = deque()
        self._losses: Counter[int] = Counter()
        self._out: dict[int, float] = {}

    @property
    def head(self) -> TrialRow | None:
        """The next row to record; None if all have been taken."""
        return self._rows[self._head] if self._head < len(self._rows) else None

    @property
    def ahead(self) -> int:
        """Number of rows handed out and not yet taken."""
        return self._following - self._head

    @property
    def remaining(self) -> int:
        """Number of rows never handed out."""
        return len(self._rows) - self._following

    @property
    def in_hand(self) -> int:
        """Number of rows that are out."""
        return len(self._out)

    @property
    def oldest(self) -> float | None:
        """When the oldest row that is out was handed out."""
        return next(iter(self._out.values()), None)

    @property
    def has_lost(self) -> bool:
        """Whether there are rows to hand out again."""
        return bool(self._lost)

    def hand_out(self, number: int, now: float) -> list[int]:
        """Return the places to compute next, at most `number`: a lost one alone, else the next ones in the plan."""
        if self._lost:
            places = [self._lost.popleft()]
        else:
            end = min(self._following + number, len(self._rows))
            places = list(range(self._following, end))
            self._following = end
        self._out |= dict.fromkeys(places, now)
        return places

    def row(self, place: int) -> TrialRow:
        """Return the row at a place."""
        return self._rows[place]

    def come_back(self, places: Sequence[int], outcomes: Sequence[TrialOutcome]) -> None:
        """Keep the outcomes of places until it is their turn."""
        for place, outcome in zip(places, outcomes, strict=True):
            self._held[place] = outcome, self._out.pop(place)

    def lose(self, places: Sequence[int]) -> list[int]:
        """Mark places to be handed out again, each alone; return those lost too often for that, which stay out."""
        self._losses.update(places)
        hopeless = [place for place in places if self._losses[place] >= MAX_LOSSES]
        again = [place for place in places if place not in hopeless]
        for place in again:
            del self._out[place]
        self._lost.extend(again)
        return hopeless

    def take(self) -> tuple[TrialRow, TrialOutcome, float] | None:
        """Return the next row with its outcome and the time it was handed out; None if it is not back yet."""
        if (found := self._held.pop(self._head, None)) is None:
            return None
        row = self._rows[self._head]
        self._head += 1
        return row, *found
