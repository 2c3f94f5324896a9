"""The executor of this machine: processes that compute in parallel."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import socket
import struct
import sys
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import wait
from queue import SimpleQueue
from types import ModuleType
from typing import BinaryIO

from trialwise.execution.tasks.executor import Delivery, ExecutorLostError, Node
from trialwise.execution.tasks.worker_process import Batch, Computed, compute

NAME = "local"
_CONTEXT = multiprocessing.get_context("forkserver")
_LENGTH = struct.Struct("<Q")
"""Header of each message: its length in bytes."""
_PART = 1 << 20
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals of a terminal, and of `timeout`: they reach every process of the group, but the runner acts on them."""


@dataclass(frozen=True, slots=True)
class _Held:
    batch_id: int
    batch: Batch


class LocalExecutor:
    """Computes on `jobs` processes, each with its own socket, which start when there is something to compute.

    A process that is killed, at any moment, loses exactly one batch, and it is known which: the first that it holds.
    The processes end with this one, however it ends, because it alone holds the other ends of their sockets.
    """

    def __init__(self, jobs: int) -> None:
        _CONTEXT.set_forkserver_preload([compute.__module__])
        self._jobs = jobs
        self._processes: list[_Process] = []

    def nodes(self) -> Sequence[Node]:
        """Return this machine alone."""
        return (Node(NAME, self._jobs),)

    def submit(self, batch_id: int, batch: Batch) -> None:
        """Give a batch to the process that holds the fewest."""
        if len(self._processes) < self._jobs:
            self._processes.append(_Process())
        min(self._processes, key=lambda process: len(process.held)).give(_Held(batch_id, batch))

    def collect(self, seconds: float) -> Sequence[Delivery]:
        """Return what has come back; batches that waited behind a lost one go to other processes."""
        wait([each for process in self._processes for each in process.signs], seconds)
        return [delivery for process in tuple(self._processes) for delivery in self._collect(process)]

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.end()
        self._processes.clear()

    def _collect(self, process: _Process) -> Iterator[Delivery]:
        lives = process.take_in()
        for computed in process.results():
            yield Delivery(process.held.popleft().batch_id, computed)
        if lives:
            return
        self._processes.remove(process)
        reason = process.end()
        if process.held:
            yield Delivery(process.held.popleft().batch_id, None, reason)
        for held in process.held:
            self.submit(held.batch_id, held.batch)


class _Process:
    """A process, and its batches in the order of computation; it never makes us wait for the rest of a message."""

    def __init__(self) -> None:
        self.held: deque[_Held] = deque()
        self._unread = bytearray()
        self._socket, theirs = socket.socketpair()
        with theirs:  # closed here once it is passed on, so that our reads end with the process
            self._process = _CONTEXT.Process(target=_serve, args=(theirs,), daemon=True)
            _ready_to_fork()
            try:
                with _no_script():
                    self._process.start()
            except (EOFError, ConnectionError) as error:
                self._socket.close()
                raise ExecutorLostError(
                    "the process that starts others was killed; run again to go on"
                ) from error

    @property
    def signs(self) -> tuple[socket.socket, int]:
        """Return what becomes readable when there is data to take in, or the process has ended."""
        return self._socket, self._process.sentinel

    def give(self, held: _Held) -> None:
        """Send it a batch; one that it can no longer take is lost with it."""
        self.held.append(held)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # `take_in` finds that it has ended
            _send(self._socket, pickle.dumps(held.batch))

    def take_in(self) -> bool:
        """Take in what has arrived, without blocking; return True if more can come."""
        lives = self._process.is_alive()  # checked first: everything sent before its end has arrived by now
        try:
            while part := self._socket.recv(_PART, socket.MSG_DONTWAIT):
                self._unread += part
        except BlockingIOError:
            return lives
        except ConnectionResetError:  # it ended without reading all its batches
            return False
        return False

    def results(self) -> Iterator[Computed]:
        """Yield the results that have arrived completely, in the order of `held`."""
        unread, head = self._unread, _LENGTH.size
        while len(unread) >= head and len(unread) >= (end := head + _LENGTH.unpack_from(unread)[0]):
            yield pickle.loads(unread[head:end])  # noqa: S301 from our own process
            del unread[:end]

    def end(self) -> str:
        """End it if it has not ended; return how it did."""
        self._process.kill()
        self._process.join()
        self._socket.close()
        code = self._process.exitcode or 0
        if code == -signal.SIGKILL:
            return "the process that computed it was killed; perhaps it takes more memory than there is"
        how = f"by a signal ({signal.strsignal(-code)})" if code < 0 else f"with exit code {code}"
        return f"the process that computed it ended {how}"


def _ready_to_fork() -> None:
    """Start the process that forks the others, with signals ignored from its first moment, before it could set its own handlers.

    The processes it forks ignore signals too, until they are in `_serve`.
    """
    resource_tracker.ensure_running()  # first, because it changes the mask itself when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _no_script() -> Generator[None]:
    """Start processes without the script that called us, which multiprocessing would otherwise run in each of them first.

    Trials need nothing from it, and a script that calls `study.run` without checking its name would start the experiment again.
    """
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _send(to: socket.socket, message: bytes) -> None:
    to.sendall(_LENGTH.pack(len(message)))
    to.sendall(message)


def _serve(runner: socket.socket) -> None:
    """Run in a process of the executor: compute batch after batch; Ctrl-C is left to the runner."""
    _print_as_errors()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    runner.set_inheritable(False)  # programs started by a trial must not keep it open
    batches: SimpleQueue[bytes] = SimpleQueue()
    reading = (runner.makefile("rb"), batches)
    threading.Thread(target=_receive, args=reading, name="batches", daemon=True).start()
    while True:
        computed = compute(pickle.loads(batches.get()), NAME)  # noqa: S301 from the runner
        _send(runner, pickle.dumps(computed))


def _print_as_errors() -> None:
    """Send what a trial prints to standard error: standard output carries results."""
    sys.stdout = sys.stderr
    with contextlib.suppress(OSError):  # closed
        os.dup2(2, 1)


def _receive(file: BinaryIO, batches: SimpleQueue[bytes]) -> None:
    """Receive batches even while others are computed, so that the runner never waits; end as soon as the runner does."""
    try:
        while head := file.read(_LENGTH.size):
            batches.put(file.read(_LENGTH.unpack(head)[0]))
    finally:
        os._exit(1)
