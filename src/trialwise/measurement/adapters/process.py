"""Sample what the kernel counts for a process (proc(5)), once per interval."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from trialwise.measurement.adapters.sampling import Deadline, deadlines, open_process
from trialwise.measurement.points import Client

FIELDS = {
    "pid": "int64",
    "name": "string",
    "user_seconds": "double",
    "system_seconds": "double",
    "rss_bytes": "int64",
    "threads": "int64",
    "voluntary_switches": "int64",
    "involuntary_switches": "int64",
    "minor_faults": "int64",
    "major_faults": "int64",
    "read_bytes": "double",
    "written_bytes": "double",
    "device_read_bytes": "double",
    "device_written_bytes": "double",
    "late_seconds": "double",
    "missed": "int64",
}
"""Fields of the point; totals since the process started. CPU time has the kernel's resolution (usually 10 ms); values that this
user may not read are NaN. Bytes are those of read and write calls, and of the block devices below.
"""
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def sample_process(
    client: Client,
    pid: int,
    *,
    interval: float,
    seconds: float | None,
    children: bool,
    stopped: Callable[[], bool],
) -> tuple[int, int]:
    """Sample a process until it ends; return the numbers of samples and missed deadlines.

    Raises
    ------
    ProcessLookupError
        The process does not exist.
    """
    point = client.point("usage", FIELDS)
    samples, missed = 0, 0
    process = open_process(pid)
    try:
        client.start()
        for deadline in deadlines(interval, process=process, seconds=seconds, stopped=stopped):
            missed = deadline.missed
            for each in (pid, *(descendants(pid) if children else ())):
                if (values := _values(each, deadline)) is not None:
                    point.inject_at(time.time(), *values)
                    samples += 1
    finally:
        os.close(process)
    return samples, missed


def _values(pid: int, deadline: Deadline) -> list[object] | None:
    """Return one sample; None if the process has ended."""
    try:
        folder = os.open(f"/proc/{pid}", os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        # An open folder stays with this process even if its number is reused.
        name, _, rest = _read(folder, "stat").partition("(")[2].rpartition(")")
        state, *numbers = rest.split()
        switches = _switches(folder)
        bytes_read = _bytes(folder)
    except (FileNotFoundError, ProcessLookupError):
        return None
    finally:
        os.close(folder)
    if state in "ZX":
        return None
    # The fields of proc_pid_stat(5) are numbered from 4 here.
    minor, major, user, system = (int(numbers[at - 4]) for at in (10, 12, 14, 15))
    threads, pages = int(numbers[20 - 4]), int(numbers[24 - 4])
    if not pages:  # it is about to end and has already released its memory
        return None
    return [
        pid, name, user / _TICKS, system / _TICKS, pages * _PAGE, threads, *switches, minor, major, *bytes_read,
        deadline.late, deadline.missed,
    ]  # fmt: skip


def _read(folder: int, name: str) -> str:
    descriptor = os.open(name, os.O_RDONLY, dir_fd=folder)
    with open(descriptor, errors="replace") as file:  # noqa: PTH123 below a descriptor
        return file.read()


def _switches(folder: int) -> tuple[int, int]:
    """Sum voluntary and involuntary context switches over all living threads (ended threads take theirs along)."""
    totals = [0, 0]
    tasks = os.open("task", os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder)
    try:
        for thread in os.listdir(tasks):  # noqa: PTH208 of a descriptor
            with suppress(FileNotFoundError, ProcessLookupError):
                told = _pairs(_read(tasks, f"{thread}/status"))
                totals[0] += int(told["voluntary_ctxt_switches"])
                totals[1] += int(told["nonvoluntary_ctxt_switches"])
    finally:
        os.close(tasks)
    return totals[0], totals[1]


def _bytes(folder: int) -> tuple[float, ...]:
    try:
        told = _pairs(_read(folder, "io"))
    except PermissionError:
        return (math.nan,) * 4
    return tuple(float(told[name]) for name in ("rchar", "wchar", "read_bytes", "write_bytes"))


def _pairs(text: str) -> Mapping[str, str]:
    return {name: value for name, _, value in (line.partition(":") for line in text.splitlines())}


def descendants(pid: int) -> Iterator[int]:
    """Yield living children and their descendants."""
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                for child in (task / "children").read_text().split():
                    yield int(child)
                    yield from descendants(int(child))
