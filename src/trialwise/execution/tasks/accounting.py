"""Count how much each node computed, for `trialwise status`, and report nodes that come and go."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict

from trialwise.execution.events import NodesAwaited, RunEvent, WorkerNotice
from trialwise.execution.tasks.executor import Node
from trialwise.numbers import counted
from trialwise.store.ledger import Ledger
from trialwise.store.records import Event, NodeDocument

_KEY = "nodes"
"""Key of `meta` for the nodes of the last run: a JSON list of name, cores (0: gone) and trials done."""
WRITE_SECONDS = 2.0
"""Minimum interval between writes of the numbers of trials, in seconds."""


class NodeAccounting:
    """The nodes of a run and the number of trials that each has computed."""

    def __init__(self, ledger: Ledger, tell: Callable[[RunEvent], None]) -> None:
        self._ledger = ledger
        self._tell = tell
        self._cores: dict[str, int] | None = None
        self._done: Counter[str] = Counter()
        self._seen: dict[str, int] = {}
        self._written = float("-inf")

    def count(self, node: str, trials: int) -> None:
        """Count trials that came back from a node."""
        self._done[node] += trials

    def look(self, nodes: Sequence[Node]) -> None:
        """Take in which nodes are present; report those that came or went since the last call."""
        now = {node.name: node.cores for node in nodes}
        before, self._cores = self._cores, now
        if before is not None:
            for name in before.keys() - now.keys():
                self._notice(name, "is gone; what it had in hand is computed by others")
            for name in now.keys() - before.keys():
                self._notice(name, f"has come, with {_cores_text(now[name])}")
        if not now and before != now:
            self._tell(NodesAwaited())
        self._seen = dict.fromkeys(self._seen, 0) | now
        if before != now or time.monotonic() - self._written > WRITE_SECONDS:
            self.write()

    def write(self) -> None:
        """Write the current counts to the ledger."""
        self._written = time.monotonic()
        names = self._seen | dict.fromkeys(self._done.keys() - self._seen.keys(), 0)
        found = [NodeDocument(name, cores, self._done[name]) for name, cores in names.items()]
        self._ledger.set_meta(_KEY, json.dumps([asdict(node) for node in found]))

    def _notice(self, name: str, text: str) -> None:
        self._ledger.add_event(Event(time.time(), "node", f"{name} {text}"))
        self._tell(WorkerNotice(name, text))


def nodes_of(ledger: Ledger) -> tuple[NodeDocument, ...]:
    """Return the nodes of the last run, if it computed independent trials."""
    return tuple(NodeDocument(**entry) for entry in json.loads(ledger.meta().get(_KEY, "[]")))


def _cores_text(cores: int) -> str:
    return counted(cores, "core")
