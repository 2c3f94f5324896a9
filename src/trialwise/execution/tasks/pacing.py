"""How many trials travel together, and how far ahead of the record: enough to keep all cores busy, little enough to discard."""

from __future__ import annotations

BATCH_SECONDS = 0.1
"""Minimum duration of a batch in seconds, so that the cost of sending it is small."""
BATCHES_PER_SECOND = 1000.0
"""Maximum rate of batches through one scheduler: with more than a hundred cores, batches grow longer."""
LONG_BATCH_SECONDS = 1.0
"""Longer batches never queue behind one another: the next is handed out when one comes back."""
WINDOW_BATCHES = 4
"""Maximum number of batches per core ahead of the record; those that a stopping rule does not need are discarded."""
MAX_TOGETHER = 1000


class Pacing:
    """Estimates how long trials take."""

    def __init__(self) -> None:
        self._trial: float | None = None

    def learn(self, trials: int, seconds: float) -> None:
        """Take in how long a batch took; later ones weigh more, since treatments differ."""
        each = seconds / trials
        self._trial = each if self._trial is None else self._trial + (each - self._trial) / 8

    def batch(self, cores: int, remaining: int) -> int:
        """Return how many trials to hand out together; fewer towards the end of the plan, so that all cores finish together."""
        if self._trial is None:
            return 1
        wanted = max(BATCH_SECONDS, cores / BATCHES_PER_SECOND) / max(self._trial, 1e-9)
        return max(1, min(int(wanted), remaining // (2 * cores), MAX_TOGETHER))

    def in_hand(self, cores: int) -> int:
        """Return how many batches to have out at once."""
        is_long = self._trial is None or self._trial > LONG_BATCH_SECONDS
        return cores if is_long else 2 * cores

    def window(self, cores: int, batch: int) -> int:
        """Return how many trials may be ahead of the record."""
        return WINDOW_BATCHES * cores * batch
