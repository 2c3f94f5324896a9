"""The executor of this machine: processes that compute at the same time."""

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
"""Stands before each message: its length in bytes."""
_PART = 1 << 20
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Of a terminal, and of `timeout`: they reach every process of the group, and are the runner's to act on."""


@dataclass(frozen=True, slots=True)
class _Held:
    ticket: int
    batch: Batch


class LocalExecutor:
    """Computes on `jobs` processes, each with a socket of its own, which start when there is something to compute.

    A process that is killed, at whatever moment, takes exactly one batch with it, and it is known which: the first that it holds.
    The processes end with this one, however it ends, since nobody else has the other ends of their sockets.
    """

    def __init__(self, jobs: int) -> None:
        _CONTEXT.set_forkserver_preload([compute.__module__])
        self._jobs = jobs
        self._processes: list[_Process] = []

    def nodes(self) -> Sequence[Node]:
        """Ours alone."""
        return (Node(NAME, self._jobs),)

    def submit(self, ticket: int, batch: Batch) -> None:
        """Give a batch to the process that holds least."""
        if len(self._processes) < self._jobs:
            self._processes.append(_Process())
        min(self._processes, key=lambda process: len(process.held)).give(_Held(ticket, batch))

    def collect(self, seconds: float) -> Sequence[Delivery]:
        """What has come back; what waited behind a batch that is lost is given to others."""
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
            yield Delivery(process.held.popleft().ticket, computed)
        if lives:
            return
        self._processes.remove(process)
        reason = process.end()
        if process.held:
            yield Delivery(process.held.popleft().ticket, None, reason)
        for held in process.held:
            self.submit(held.ticket, held.batch)


class _Process:
    """A process, and what it holds in the order in which it computes; it never makes us wait for the rest of a message."""

    def __init__(self) -> None:
        self.held: deque[_Held] = deque()
        self._unread = bytearray()
        self._socket, theirs = socket.socketpair()
        with theirs:  # closed here once it is there, so that what we read ends with the process
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
        """What becomes readable when there is something to take in, or the process has ended."""
        return self._socket, self._process.sentinel

    def give(self, held: _Held) -> None:
        """Send it a batch; one that it cannot take any more is lost with it."""
        self.held.append(held)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # `take_in` finds that it has ended
            _send(self._socket, pickle.dumps(held.batch))

    def take_in(self) -> bool:
        """Take in what has come, without waiting; whether more can come."""
        lives = self._process.is_alive()  # asked first: what it has sent before its end is there by now
        try:
            while part := self._socket.recv(_PART, socket.MSG_DONTWAIT):
                self._unread += part
        except BlockingIOError:
            return lives
        except ConnectionResetError:  # it has ended with batches that it had not read
            return False
        return False

    def results(self) -> Iterator[Computed]:
        """The results that have come as a whole, in the order of `held`."""
        unread, head = self._unread, _LENGTH.size
        while len(unread) >= head and len(unread) >= (end := head + _LENGTH.unpack_from(unread)[0]):
            yield pickle.loads(unread[head:end])  # noqa: S301 from our own process
            del unread[:end]

    def end(self) -> str:
        """End it where it has not ended; say how it did."""
        self._process.kill()
        self._process.join()
        self._socket.close()
        code = self._process.exitcode or 0
        if code == -signal.SIGKILL:
            return "the process that computed it was killed; perhaps it takes more memory than there is"
        how = f"by a signal ({signal.strsignal(-code)})" if code < 0 else f"with exit code {code}"
        return f"the process that computed it ended {how}"


def _ready_to_fork() -> None:
    """Have the process that starts others run, deaf to signals from its first moment on, before it could say how it takes them.

    Those that it starts are deaf as well until they are in `_serve`.
    """
    resource_tracker.ensure_running()  # first, since it changes the mask itself when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _no_script() -> Generator[None]:
    """Have processes begin without the script that called us, which multiprocessing would run in each of them first.

    Trials need nothing of it, and one that calls `study.run` without asking for its name would start the experiment again there.
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
    """What a process of the executor does: compute batch after batch; Ctrl-C is left to the runner."""
    _print_as_errors()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    runner.set_inheritable(False)  # a program that a trial starts is not to keep it open
    batches: SimpleQueue[bytes] = SimpleQueue()
    reading = (runner.makefile("rb"), batches)
    threading.Thread(target=_receive, args=reading, name="batches", daemon=True).start()
    while True:
        computed = compute(pickle.loads(batches.get()), NAME)  # noqa: S301 from the runner
        _send(runner, pickle.dumps(computed))


def _print_as_errors() -> None:
    """Have what a trial prints stand among the errors: standard output has results."""
    sys.stdout = sys.stderr
    with contextlib.suppress(OSError):  # closed
        os.dup2(2, 1)


def _receive(file: BinaryIO, batches: SimpleQueue[bytes]) -> None:
    """Take in batches also while others are computed, so that the runner never waits; end as soon as the runner does."""
    try:
        while head := file.read(_LENGTH.size):
            batches.put(file.read(_LENGTH.unpack(head)[0]))
    finally:
        os._exit(1)
