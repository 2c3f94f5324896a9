"""Sample a process at deadlines that do not drift, until it ends."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_STEP = 0.2
"""Seconds between checks for a request to stop."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A time to sample: how late it already is, in seconds, and the number of deadlines missed so far."""

    late: float
    missed: int


def deadlines(
    interval: float, *, process: int | None, seconds: float | None, stopped: Callable[[], bool]
) -> Iterator[Deadline]:
    """Yield a deadline every `interval` seconds until the process (a pidfd) ends, `seconds` have passed, or `stopped()` returns True.

    A caller that returns after the next deadline has missed it: it is counted, and the schedule stays as it was.
    """
    began = time.monotonic()
    turn, missed = 0, 0
    while seconds is None or turn * interval < seconds:
        due = began + turn * interval
        if not _wait(due, process, stopped):
            return
        late = time.monotonic() - due
        skipped = int(late / interval)
        missed += skipped
        yield Deadline(late - skipped * interval, missed)
        turn += skipped + 1


def _wait(due: float, process: int | None, stopped: Callable[[], bool]) -> bool:
    """Sleep until `due`; return True if the process still runs and no stop was requested."""
    while not stopped():
        rest = due - time.monotonic()
        if _ends_within(process, max(0.0, min(rest, _STEP))):
            return False
        if rest <= _STEP:
            return True
    return False


def _ends_within(process: int | None, seconds: float) -> bool:
    if process is None:
        time.sleep(seconds)
        return False
    ready, _, _ = select.select([process], [], [], seconds)
    return bool(ready)


def open_process(pid: int) -> int:
    """Open a descriptor that becomes readable when the process ends.

    Raises
    ------
    ProcessLookupError
        The process does not exist.
    """
    return os.pidfd_open(pid)
