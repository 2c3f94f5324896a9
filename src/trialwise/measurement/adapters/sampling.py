"""Sampling at deadlines that do not drift, beside a process that may end."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_STEP = 0.2
"""Seconds between looks at whether to stop."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A time to sample: how late it is already, in seconds, and how many deadlines were missed so far."""

    late: float
    missed: int


def deadlines(
    interval: float, *, process: int | None, seconds: float | None, stopped: Callable[[], bool]
) -> Iterator[Deadline]:
    """Every `interval` seconds from now on, until the process (a pidfd) ends, `seconds` have passed, or `stopped` says so.

    Whoever comes after the next deadline has missed this one: it is counted, and the next sample is at the time it would
    have been at.
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
    """Sleep until then; whether the process is still there and nobody wants to stop."""
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
    """A descriptor that becomes readable when the process ends.

    Raises
    ------
    ProcessLookupError
        There is none.
    """
    return os.pidfd_open(pid)
