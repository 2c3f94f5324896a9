"""Processes of a service, as the kernel tells of them in /proc (proc_pid_stat(5)).

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import contextlib
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_STATE, _PARENT, _FLAGS, _START = 3, 4, 9, 22
_USER, _SYSTEM, _CHILDREN_USER, _CHILDREN_SYSTEM = 14, 15, 16, 17
_TICKS = os.sysconf("SC_CLK_TCK")
_CPU_CLOCK = 2
"""CPUCLOCK_SCHED (include/linux/posix-timers.h): the scheduler's time of a process, in the low bits of its clock's number."""
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


class Use:
    """CPU seconds and peak memory of a service in a span of time: all processes below its supervisor.

    The CPU time of a process that runs is exact; that of one that has ended in the span is known to a tick (10 ms). The peak is
    the sum of the peaks of the processes that run at the end, so memory that they share counts in each. It is the peak of the
    span where we may reset the kernel's mark (proc_pid_clear_refs(5)), else that since the start of each process.
    """

    def __init__(self, supervisor: int) -> None:
        self._supervisor = supervisor
        processes = tree_of(supervisor)
        for process in processes:
            with contextlib.suppress(OSError), open(f"/proc/{process}/clear_refs", "w") as file:
                file.write("5")
        self._before = _cpu_seconds(processes, supervisor)

    def so_far(self) -> tuple[float, int]:
        """Return the CPU seconds since the beginning, and the peak of resident memory in bytes."""
        processes = tree_of(self._supervisor)
        peak = sum(_peak(process) for process in processes if process != self._supervisor)
        return max(_cpu_seconds(processes, self._supervisor) - self._before, 0.0), peak


def tree_of(root: int) -> dict[int, list[str]]:
    """Return the fields of a process and of all its descendants, by number."""
    everything = _all()
    found = {number: fields for number, fields in everything.items() if number == root}
    size = 0
    while size != len(found):
        size = len(found)
        found.update(
            (number, fields) for number, fields in everything.items() if int(fields[_PARENT]) in found
        )
    return found


def _cpu_seconds(processes: Mapping[int, list[str]], supervisor: int) -> float:
    """Sum the time of processes and of what they have waited for; of the supervisor, only the latter."""
    total = 0.0
    for process, fields in processes.items():
        total += (int(fields[_CHILDREN_USER]) + int(fields[_CHILDREN_SYSTEM])) / _TICKS
        if process != supervisor:
            total += _own_seconds(process, fields)
    return total


def _own_seconds(process: int, fields: list[str]) -> float:
    """Return the time of a process by its clock (clock_getcpuclockid(3)); of one that has just ended, in ticks."""
    try:
        return time.clock_gettime((~process << 3) | _CPU_CLOCK)
    except OSError:
        return (int(fields[_USER]) + int(fields[_SYSTEM])) / _TICKS


def _peak(process: int) -> int:
    try:
        with open(f"/proc/{process}/status", encoding="utf-8", errors="replace") as file:
            marks = [line.split()[1] for line in file if line.startswith("VmHWM:")]
    except OSError:
        return 0
    return 1024 * sum(map(int, marks))
