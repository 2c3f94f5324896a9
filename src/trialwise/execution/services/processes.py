"""Processes of a service, as the kernel tells of them in /proc (proc_pid_stat(5)).

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_STATE, _PARENT, _FLAGS, _START = 3, 4, 9, 22
_ENDING = 0x4 | 0x400
"""PF_EXITING and PF_SIGNALED (include/linux/sched.h): it ends, by itself or by a signal."""
_KILL = 1 << (9 - 1)
"""SIGKILL in a set of signals."""


def stat_of(process: int | str) -> list[str]:
    """Return the fields of a process, at their places in proc_pid_stat(5); empty if it is gone."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    return ["", str(process), "", *text.rpartition(")")[2].split()]


def child_of(parent: int) -> tuple[int, str] | None:
    """Return the first child of a process with its start; None if there is none."""
    children = [
        (int(fields[_START]), number) for number, fields in _all().items() if fields[_PARENT] == str(parent)
    ]
    if not children:
        return None
    start, number = min(children)
    return number, str(start)


def goes_on(process: tuple[int, str]) -> bool:
    """Return True if a process runs and nothing has begun to end it: neither its own exit nor SIGKILL."""
    number, start = process
    fields = stat_of(number)
    if not fields or fields[_START] != start or fields[_STATE] in ("Z", "X"):
        return False
    return not int(fields[_FLAGS]) & _ENDING and not _is_killed(number)


def _is_killed(process: int) -> bool:
    try:
        with open(f"/proc/{process}/status", encoding="utf-8", errors="replace") as file:
            pending = [line.split()[1] for line in file if line.startswith(("SigPnd:", "ShdPnd:"))]
    except OSError:
        return True
    return any(int(signals, 16) & _KILL for signals in pending)


def _all() -> Mapping[int, list[str]]:
    found = {int(name): stat_of(name) for name in os.listdir("/proc") if name.isdigit()}
    return {number: fields for number, fields in found.items() if fields}
