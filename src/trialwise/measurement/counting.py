"""Whom the kernel lets count, and why it does not count something (`perf_event_open(2)`)."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from trialwise.measurement.tree import Tree

_ABSENT = {errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP}


def paranoid_level() -> str | None:
    """Whom this machine's kernel lets count; None where it has no such setting."""
    return Tree(Path("/")).text("proc/sys/kernel/perf_event_paranoid")


def why_not_counted(number: int | None, paranoid: str | None) -> str:
    """Say why there is no count, from the error number and the machine's `kernel.perf_event_paranoid`."""
    if number in {errno.EACCES, errno.EPERM}:
        level = paranoid or "not there"
        return f"kernel.perf_event_paranoid is {level}; lower it, run as root, or write NAME:u for the program's part"
    if number == errno.EBUSY:
        return "the processor's counters are in use, or there are too few for so many"
    if number in _ABSENT:
        return "this machine does not have it"
    return f"the kernel does not count it ({os.strerror(number or 0)})"
