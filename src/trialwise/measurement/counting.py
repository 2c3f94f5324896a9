"""Who may use the kernel's counters, and why a counter is missing (`perf_event_open(2)`)."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from trialwise.measurement.tree import Tree

_ABSENT = {errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP}


def paranoid_level() -> str | None:
    """Return `kernel.perf_event_paranoid`, which says who may count; None if the kernel lacks the setting."""
    return Tree(Path("/")).text("proc/sys/kernel/perf_event_paranoid")


def why_not_counted(number: int | None, paranoid: str | None) -> str:
    """Explain a missing count from the error number and the machine's `kernel.perf_event_paranoid`."""
    if number in {errno.EACCES, errno.EPERM}:
        level = paranoid or "not there"
        return f"kernel.perf_event_paranoid is {level}; lower it, run as root, or write NAME:u for the program's part"
    if number == errno.EBUSY:
        return "the processor's counters are in use, or there are too few of them"
    if number in _ABSENT:
        return "this machine does not have it"
    return f"the kernel does not count it ({os.strerror(number or 0)})"
