"""Find and end processes that carry the marker of a trial in their environment.

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MARKER = "TRIALWISE_TRIAL"
"""Environment variable that every process of a trial carries, so that orphans of a killed runner can be found."""
GRACE_SECONDS = 2.0
"""Seconds between SIGTERM and SIGKILL."""
LOST_SUPERVISOR = "lost its supervisor, which was killed"
"""What became of a program if nothing is known of its run."""
_PAUSE = 0.002
_MAX_EXEC = 0.2
_LEAST_READS = 100
"""A process whose file system answers later than after so many seconds and reads is not found."""


def not_run(problem: str) -> str:
    """Say of a program why there is no report of its run: it never started, unless it lost its supervisor."""
    return problem if problem == LOST_SUPERVISOR else f"cannot be started: {problem}"


def marker_beside(marker: str) -> str:
    """Return the marker of processes beside the trial with `marker`: of the same experiment, but not of the trial."""
    experiment, _, trial = marker.partition(":")
    return f"{experiment}:beside:{trial}"


def marker_of_resets(marker: str) -> str:
    """Return the marker of processes left running by the resets of the experiment that the trial with `marker` belongs to."""
    return f"{marker.partition(':')[0]}:reset"


def processes_beside(marker: str) -> list[int]:
    """Return the processes beside the trial with `marker`: those left by its `prepare` and the last reset."""
    entries = {f"{MARKER}={each}".encode() for each in (marker_beside(marker), marker_of_resets(marker))}
    return _every(lambda process: not entries.isdisjoint(environment_of(process)))


def end_left(marker: str) -> int:
    """End every process that carries exactly this marker, with TERM and, after the grace period, KILL; return their number."""
    entry = f"{MARKER}={marker}".encode()
    return end_processes(lambda process: entry in environment_of(process))


def end_leftovers(experiment: str) -> int:
    """End what a killed runner left: every process of an experiment's trials; return their number."""
    return end_processes(lambda process: carries(process, f"{experiment}:"))


def carries(process: int, begin: str) -> bool:
    """Return True if a process runs (a zombie does not) and has a marker that begins with `begin`."""
    needle = f"{MARKER}={begin}".encode()
    return any(entry.startswith(needle) for entry in environment_of(process))


def end_processes(is_meant: Callable[[int], bool], meanwhile: Callable[[], object] = lambda: None) -> int:
    """End every process but our own for which `is_meant`, including those started meanwhile; return their number.

    `meanwhile` is called repeatedly while waiting for them.
    """
    found = left = _every(is_meant)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in left:
            with contextlib.suppress(OSError):  # gone, or owned by another user
                os.kill(process, number)
        deadline = time.monotonic() + GRACE_SECONDS
        while left and time.monotonic() < deadline:
            time.sleep(_PAUSE)
            meanwhile()
            left = [process for process in left if is_meant(process)]
        left = _every(is_meant) if found else []
    return len(found)


def _every(is_meant: Callable[[int], bool]) -> list[int]:
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    return [number for number in numbers if number != os.getpid() and is_meant(number)]


def environment_of(process: int) -> list[bytes]:
    """Return the entries NAME=VALUE of a process's environment; none if it is gone, a zombie or another user's.

    The kernel shows an empty environment while a process is in the middle of execve(2); in that case, read again.
    """
    deadline = time.monotonic() + _MAX_EXEC
    for reads in itertools.count(1):
        try:
            with open(f"/proc/{process}/environ", "rb") as file:  # noqa: PTH123
                told = file.read()
        except OSError:
            return []
        is_late = time.monotonic() > deadline and reads >= _LEAST_READS
        if told or not _is_between(process) or is_late:
            return told.split(b"\0")
        time.sleep(0.0002)
    return []


def _is_between(process: int) -> bool:
    """Return True if a process whose environment reads as empty may have one: not a zombie, a kernel thread, or known to be empty.

    While execve(2) writes the new environment, its end stands where it begins, in a process that runs.
    """
    try:
        with open(f"/proc/{process}/stat", "rb") as file:  # noqa: PTH123
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return False
    state, memory, begin, end = fields[0], *(int(fields[number - 3]) for number in (23, 50, 51))
    return state not in b"ZX" and memory > 0 and (begin == 0 or begin != end or state in b"RD")
