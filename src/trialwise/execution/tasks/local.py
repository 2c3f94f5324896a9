"""The crew of this machine: processes that compute at the same time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from trialwise.execution.tasks.computing import Batch, Computed, compute
from trialwise.execution.tasks.crew import Delivery, Node

NAME = "local"
_DIED = "the process that computed it was killed; perhaps it takes more memory than there is"
_CONTEXT = multiprocessing.get_context("forkserver")


@dataclass(frozen=True, slots=True)
class _Held:
    ticket: int
    batch: Batch
    future: Future[Computed]


@dataclass(slots=True)
class _Lane:
    """One process and what it holds, the batch in hand first."""

    executor: ProcessPoolExecutor
    held: deque[_Held] = field(default_factory=deque[_Held])


class LocalCrew:
    """Computes on `jobs` processes, each of which has a pool of its own.

    So a process that is killed takes exactly one batch with it, and it is known which: of a common pool all batches would be
    suspect. The processes end with this one, however it ends, since each waits on the other end of a pipe that nobody writes to.
    """

    def __init__(self, jobs: int) -> None:
        _CONTEXT.set_forkserver_preload([compute.__module__])
        self._leash, self._end_of_leash = multiprocessing.Pipe(duplex=False)
        self._lanes = [_Lane(self._executor()) for _ in range(jobs)]

    def nodes(self) -> Sequence[Node]:
        """Ours alone."""
        return (Node(NAME, len(self._lanes)),)

    def submit(self, ticket: int, batch: Batch) -> None:
        """Give a batch to the process that holds least."""
        _give(min(self._lanes, key=lambda lane: len(lane.held)), ticket, batch)

    def collect(self, seconds: float) -> Sequence[Delivery]:
        """What has come back; the process of one that was killed is started anew."""
        wait([lane.held[0].future for lane in self._lanes if lane.held], seconds, FIRST_COMPLETED)
        return [delivery for lane in self._lanes for delivery in self._collect(lane)]

    def close(self) -> None:
        """End the processes."""
        self._end_of_leash.close()
        for lane in self._lanes:
            lane.executor.shutdown(wait=True, cancel_futures=True)
        self._leash.close()

    def _collect(self, lane: _Lane) -> Iterator[Delivery]:
        while lane.held and lane.held[0].future.done():
            held = lane.held.popleft()
            if isinstance(held.future.exception(), BrokenProcessPool):
                yield Delivery(held.ticket, None, _DIED)
                self._rebuild(lane)
            else:
                yield Delivery(held.ticket, held.future.result())

    def _rebuild(self, lane: _Lane) -> None:
        """Start the process anew with what waited behind the batch that it died of."""
        lane.executor.shutdown(wait=True)
        lane.executor = self._executor()
        waiting = [(held.ticket, held.batch) for held in lane.held]
        lane.held.clear()
        for ticket, batch in waiting:
            _give(lane, ticket, batch)

    def _executor(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            1, mp_context=_CONTEXT, initializer=_begin_process, initargs=(self._leash,)
        )


def _give(lane: _Lane, ticket: int, batch: Batch) -> None:
    try:
        future = lane.executor.submit(compute, batch, NAME)
    except BrokenProcessPool as error:  # it was killed since we looked
        future = Future[Computed]()
        future.set_exception(error)
    lane.held.append(_Held(ticket, batch, future))


def _begin_process(leash: Connection) -> None:
    """Leave Ctrl-C to the runner, and end as soon as it lets go of the leash."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(leash,), name="leash", daemon=True).start()


def _end_with(leash: Connection) -> None:
    try:
        leash.recv_bytes()
    except (EOFError, OSError):
        os._exit(1)
