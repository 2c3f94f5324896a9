"""Connections to the ends of real paths, each with a folder there that belongs to one directory of results, or one record."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable

from trialwise.errors import WorkerError
from trialwise.execution.ends.tasks import EndTasks, end_program
from trialwise.execution.workers.address import addresses
from trialwise.execution.workers.provision import require_space
from trialwise.execution.workers.remote import Remote
from trialwise.execution.workers.ssh import folder_name
from trialwise.experiment.model import Workers
from trialwise.experiment.trials import RealEnds

CLEARING = 20.0
"""Seconds that a trial of an earlier run may take to end when it is told to."""
_HEARTBEAT = 5.0
"""Seconds between signs of life to each end, or a third of its lease."""


class Connections:
    """The ends that were connected to, by name.

    Parameters
    ----------
    workers
        How workers are reached.
    cancel
        A descriptor that becomes readable to stop waiting for an end.
    at_first
        Called with each end after it was connected to for the first time, and what ran there has ended.
    """

    def __init__(
        self, workers: Workers, cancel: int, at_first: Callable[[Remote], None] = lambda _: None
    ) -> None:
        self._workers = workers
        self._cancel = cancel
        self._at_first = at_first
        self._remotes: dict[str, Remote] = {}

    def tasks(self, ends: RealEnds, whose: str) -> EndTasks:
        """Return the two ends, connected, and with their program; what runs there in the folder of `whose` is ended.

        Raises
        ------
        WorkerError
            An end cannot be reached or is full, or what runs there does not end.
        PlanError
            There is no program for an end's machine.
        """
        first, second = (self._remote(name, ends.lease, whose) for name in (ends.sending, ends.receiving))
        return EndTasks(ends, first, second, (end_program(first), end_program(second)))

    def close(self) -> None:
        """End the connections to the ends."""
        for remote in self._remotes.values():
            remote.close()
        self._remotes.clear()

    def _remote(self, name: str, lease: float, whose: str) -> Remote:
        if name not in self._remotes:
            (address,) = addresses([name])
            settings = dataclasses.replace(self._workers, heartbeat=min(_HEARTBEAT, lease / 3))
            folder = folder_name(settings.folder, whose, address)
            remote = Remote(address, settings, folder, self._cancel, lambda _: None)
            with contextlib.ExitStack() as stack:
                stack.callback(remote.close)
                remote.connect()
                require_space(remote)
                _end_earlier(remote)
                self._at_first(remote)
                stack.pop_all()
            self._remotes[name] = remote
        return self._remotes[name]


def _end_earlier(remote: Remote) -> None:
    """End what an earlier run left at an end; its records stay."""
    deadline = time.monotonic() + CLEARING
    while (key := remote.ask("hello").head["hand"]) is not None:
        remote.ask("cancel", {"key": key})
        if time.monotonic() > deadline:
            raise WorkerError(f"{remote.address.name}: trial {key} of an earlier run does not end there")
        time.sleep(0.2)


def kept_keys(remote: Remote) -> list[str]:
    """Return the keys of the records that an end still has."""
    return list(remote.ask("hello").head["keys"])


def forget_all(remote: Remote) -> None:
    """Have an end forget all its records."""
    for key in kept_keys(remote):
        remote.forget(key)
