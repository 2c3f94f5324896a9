"""Ctrl-C and TERM: the first Ctrl-C lets the current trial finish, the second (or TERM, or a hang-up) abandons it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _leave_to_the_pipe(number: int, frame: FrameType | None) -> None:
    """Do nothing: the interpreter has already written the signal's number into the pipe."""


class Interruption:
    """Catches signals while it is entered, in the main thread; elsewhere it never interrupts.

    While a trial runs, the main thread is outside Python and cannot run Python handlers. The interpreter's own handler
    writes each signal to a pipe, and a thread that waits on it acts; `descriptor` then becomes readable to abandon the trial.
    A signal that was ignored before (nohup, a background job of a script) stays ignored.

    Parameters
    ----------
    on_request
        Called from that thread at each request, with whether the current trial is abandoned.
    """

    def __init__(self, on_request: Callable[[bool], None] | None = None) -> None:
        self._on_request = on_request
        self.requested = False
        self.at_once = False
        self.descriptor, self._abandon = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._signals, self._wakeup = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._woken, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._previous: list[tuple[int, object]] = []
        self._previous_wakeup = -1
        self._in_charge = False
        self._watcher = threading.Thread(target=self._watch, name="signals", daemon=True)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._in_charge = True
            self._previous_wakeup = signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)
            self._previous = [
                (number, signal.signal(number, _leave_to_the_pipe))
                for number in _SIGNALS
                if signal.getsignal(number) != signal.SIG_IGN
            ]
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._in_charge:
            signal.set_wakeup_fd(self._previous_wakeup)
        for number, handler in self._previous:
            signal.signal(number, handler)  # pyright: ignore[reportArgumentType]
        os.write(self._wakeup, b"\0")
        self._watcher.join()
        for descriptor in (
            self.descriptor,
            self._abandon,
            self._signals,
            self._wakeup,
            self._woken,
            self._wake,
        ):
            os.close(descriptor)

    @property
    def wish(self) -> int:
        """A descriptor that is readable once a stop was requested, whether or not the current trial is abandoned."""
        return self._woken

    def request(self) -> None:
        """Ask to stop after the current trials, as one Ctrl-C does, without notifying anyone."""
        self.requested = True
        _make_readable(self._wake)

    def sleep_until(self, moment: float) -> None:
        """Sleep until `moment` (Unix seconds) or until a stop is requested."""
        while not self.requested and (left := moment - time.time()) > 0:
            select.select([self._woken], [], [], min(left, 60.0))

    def _watch(self) -> None:
        while True:
            select.select([self._signals], [], [])
            for number in os.read(self._signals, 64):
                if number == 0:
                    return
                self._receive(number)

    def _receive(self, number: int) -> None:
        if number not in _SIGNALS:
            return
        if self.requested or number != signal.SIGINT:
            self.at_once = True
            _make_readable(self._abandon)
        self.requested = True
        _make_readable(self._wake)
        if self._on_request is not None:
            self._on_request(self.at_once)


def _make_readable(descriptor: int) -> None:
    with contextlib.suppress(BlockingIOError):  # full, and therefore already readable
        os.write(descriptor, b"x")
