"""Ctrl-C and TERM: the first finishes the trial in hand, the second (or TERM) abandons it."""

from __future__ import annotations

import os
import select
import signal
import time
from types import FrameType
from typing import Self


class Interruption:
    """Catches SIGINT and SIGTERM while it is entered; wakes whoever waits on `descriptor` to abandon a trial."""

    def __init__(self) -> None:
        self.requested = False
        self.at_once = False
        self.descriptor, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._wake_reader, self._wake_writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._previous: dict[int, object] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # pyright: ignore[reportArgumentType]
        for descriptor in (self.descriptor, self._writer, self._wake_reader, self._wake_writer):
            os.close(descriptor)

    def sleep_until(self, moment: float) -> None:
        """Sleep until `moment` (Unix seconds) or until somebody asks to stop."""
        while not self.requested and (left := moment - time.time()) > 0:
            select.select([self._wake_reader], [], [], min(left, 60.0))

    def _handle(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self.requested or number != signal.SIGINT:
            self.at_once = True
            os.write(self._writer, b"x")
        self.requested = True
        os.write(self._wake_writer, b"x")
