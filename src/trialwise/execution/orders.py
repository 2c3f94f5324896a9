"""What users ask of a run in progress: amendments of its ledger that it takes up before the next trial."""

from __future__ import annotations

import threading
from collections.abc import Callable

from trialwise.execution.events import Remarked, RunEvent
from trialwise.store.ledger import Ledger
from trialwise.store.ledger_facts import excluded_text
from trialwise.store.records import PAUSE, SKIP, TREATMENT, UNSKIP, Amendment

LOOK_SECONDS = 1.0
"""Time between two looks for orders while nothing runs."""


class Orders:
    """The amendments since a run began that concern it; several threads may ask, and each amendment is told once.

    `skipped` holds the treatments that are not to run.
    """

    def __init__(self, ledger: Ledger, tell: Callable[[RunEvent], None]) -> None:
        self._ledger = ledger
        self._tell = tell
        self._seen = ledger.last_amendment()
        self.skipped = frozenset(ledger.skips())
        self._pause: Amendment | None = None
        self._lock = threading.Lock()

    def pause(self) -> Amendment | None:
        """Take up what was asked since the last look; return the request to pause, if there is one."""
        with self._lock:
            last = self._ledger.last_amendment()
            if last > self._seen:
                for each in self._ledger.amendments(*_TEXTS, after=self._seen):
                    self._tell(Remarked(order_text(each)))
                    if each.kind == PAUSE:
                        self._pause = each
                self._seen = last
                self.skipped = frozenset(self._ledger.skips())
            return self._pause


_TEXTS = {SKIP: "{} is skipped {}", UNSKIP: "{} is no longer skipped, {}", PAUSE: "paused{} {}"}


def order_text(order: Amendment) -> str:
    """Say what was asked, by whom, when and why."""
    return _TEXTS[order.kind].format(order.detail.get(TREATMENT, ""), excluded_text(order)).rstrip(": ")
