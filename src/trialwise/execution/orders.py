"""What users ask of a run in progress: amendments of its ledger that it takes up before the next trial."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from trialwise.design.subset import Subset
from trialwise.execution.events import Remarked, RunEvent, TreatmentsSkipped
from trialwise.store.ledger import Ledger
from trialwise.store.ledger_facts import excluded_text
from trialwise.store.records import JOIN, LEAVE, PAUSE, SKIP, TREATMENT, UNSKIP, WORKER, Amendment

LOOK_SECONDS = 1.0
"""Time between two looks for orders while nothing runs."""


class Orders:
    """The amendments since a run began that concern it; several threads may ask, and each amendment is told once.

    `skipped` holds the treatments that are not to run, `joined` the workers that have joined and nobody has employed yet, `left` those
    that have left since. `only` is the part of the plan that the run is to do.
    """

    def __init__(self, ledger: Ledger, tell: Callable[[RunEvent], None], only: Subset | None = None) -> None:
        self._ledger = ledger
        self.tell = tell
        self._only = only
        self._seen = ledger.last_amendment()
        self._pause: Amendment | None = None
        self._lock = threading.Lock()
        self.skipped = frozenset(ledger.skips())
        self.joined: list[str] = []
        self.left: set[str] = set()

    def pause(self) -> Amendment | None:
        """Take up what was asked since the last look; return the request to pause, if there is one."""
        with self._lock:
            last = self._ledger.last_amendment()
            if last > self._seen:
                for each in self._ledger.amendments(*_TEXTS, after=self._seen):
                    self._take_up(each)
                self._seen = last
                self._look_at_skips()
            return self._pause

    def _look_at_skips(self) -> None:
        skipped = frozenset(self._ledger.skips())
        if skipped != self.skipped:
            self.skipped = skipped
            left = self._ledger.count(["planned", "running"], self._only)
            self.tell(TreatmentsSkipped(skipped, self._ledger.ended(self._only) + left))

    def _take_up(self, order: Amendment) -> None:
        self.tell(Remarked(order_text(order)))
        worker = str(order.detail.get(WORKER, ""))
        if order.kind == PAUSE:
            self._pause = order
        elif order.kind == JOIN:
            self.left.discard(worker)
            self.joined.append(worker)
        elif order.kind == LEAVE:
            self.left.add(worker)
            self.joined = [name for name in self.joined if name != worker]


_TEXTS = {
    SKIP: "{} is skipped {}",
    UNSKIP: "{} is no longer skipped, {}",
    PAUSE: "paused{} {}",
    JOIN: "worker {} joins, {}",
    LEAVE: "worker {} leaves after its round, {}",
}


def order_text(order: Amendment) -> str:
    """Say what was asked, by whom, when and why."""
    about = order.detail.get(TREATMENT, order.detail.get(WORKER, ""))
    return _TEXTS[order.kind].format(about, excluded_text(order)).rstrip(": ")


def employed(names: Sequence[str], ledger: Ledger) -> list[str]:
    """Return the workers of a run: those of the file or of `allocate`, and what joined or left since, in the order of joining."""
    found = dict.fromkeys(names)
    for each in ledger.amendments(JOIN, LEAVE):
        worker = str(each.detail.get(WORKER, ""))
        if each.kind == JOIN:
            found[worker] = None
        else:
            found.pop(worker, None)
    return list(found)
