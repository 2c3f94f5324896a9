"""Have both ends of a path run at once."""

from __future__ import annotations

import json
import os
import select
import threading
import time
from collections.abc import Sequence
from typing import Any

from trialwise.execution.ends.records import EndRecord, record_of
from trialwise.execution.ends.tasks import EndTasks
from trialwise.execution.workers.remote import Remote
from trialwise.trials.base import TrialRequest

PAUSE = 0.05
"""Seconds between questions whether an end listens."""


def run_both(
    tasks: EndTasks, key: str, orders: Sequence[dict[str, Any]], request: TrialRequest
) -> tuple[EndRecord, EndRecord]:
    """Have both ends run, and return their records, that of `from` first; where one fails, the other is told to stop.

    Raises
    ------
    WorkerError
        An end is lost.
    TrialError
        An end has no record.
    """
    pair = Pair(tasks, key, orders, request)
    pair.run()
    return pair.record(0), pair.record(1)


class Pair:
    """Both ends in one trial; `found` has the record of each, or what kept it from us."""

    def __init__(
        self, tasks: EndTasks, key: str, orders: Sequence[dict[str, Any]], request: TrialRequest
    ) -> None:
        self.tasks = tasks
        self.key = key
        self.orders = orders
        self.cancel = request.cancel
        self.markers = tuple(tasks.marker(request, place) for place in range(2))
        self.found: dict[int, EndRecord | BaseException] = {}
        self.stops = os.pipe(), os.pipe()
        self.over = os.pipe()
        self.listens = threading.Event()

    def run(self) -> None:
        """Run until both ends have ended, or are lost."""
        listener = self.tasks.listener
        relay = threading.Thread(target=self.pass_on)
        ends = [threading.Thread(target=self.run_end, args=(place,)) for place in (listener, 1 - listener)]
        try:
            relay.start()
            for thread in ends:
                thread.start()
            for thread in ends:
                thread.join()
        finally:
            os.write(self.over[1], b"x")
            relay.join()
            for descriptor in (*self.stops[0], *self.stops[1], *self.over):
                os.close(descriptor)

    def run_end(self, place: int) -> None:
        """Run one end, and stop the other if it fails."""
        remote, name = self.tasks.remotes[place], self.tasks.names[place]
        try:
            if place == self.tasks.listener:
                self.begin_listening(remote, place)
            else:
                self.listens.wait()
            task = None if place == self.tasks.listener else self.orders[place]
            reply = remote.run(self.key, task, marker=self.markers[place], cancel=self.stops[place][0])
            record = record_of(reply, name)
            self.found[place] = record
            remote.forget(self.key)
            well = record.problem is None
        except BaseException as error:
            self.found[place] = error
            well = False
        self.listens.set()
        if not well:
            os.write(self.stops[1 - place][1], b"x")

    def begin_listening(self, remote: Remote, place: int) -> None:
        """Start the listening end, and let the other one begin once it listens."""
        remote.ask("begin", {"key": self.key}, json.dumps(self.orders[place]).encode())
        while True:
            found = remote.ask("listening", {"key": self.key}).head
            if found["listens"] or found["ended"]:
                break
            time.sleep(PAUSE)
        self.listens.set()

    def pass_on(self) -> None:
        """Tell both ends to stop when the trial is abandoned."""
        ready = select.select([self.cancel, self.over[0]], [], [])[0]
        if self.cancel in ready:
            for _, writer in self.stops:
                os.write(writer, b"x")

    def record(self, place: int) -> EndRecord:
        """Return the record of an end; raise what kept it from us."""
        found = self.found[place]
        if isinstance(found, BaseException):
            raise found
        return found
