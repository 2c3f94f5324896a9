"""Other load on this machine during an interval, from two readings of /proc."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from trialwise.measurement.tree import Tree

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
STEAL = 7  # the eighth time in the cpu line, proc_stat(5); the guest times after it are included in user time
USER, SYSTEM = 11, 12  # index among the fields of /proc/PID/stat after the name, proc_pid_stat(5)


@dataclass(frozen=True, slots=True)
class BusyProcess:
    """A process and its share of one CPU."""

    process: int
    name: str
    cpu_share: float


@dataclass(frozen=True, slots=True)
class Activity:
    """An interval: its length in seconds, the share of CPU time that the hypervisor took, and the busy processes."""

    seconds: float
    steal_share: float | None
    processes: tuple[BusyProcess, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """Counters at one instant, in clock ticks: for all CPUs, and for each process with its name."""

    at: float
    cpu: tuple[int, ...]
    processes: dict[int, tuple[str, int]]


def look(*, root: Path = Path("/"), now: float | None = None) -> Look:
    """Read the counters; `now` in seconds on any monotonic clock."""
    tree = Tree(root)
    first = next(iter(tree.lines("proc/stat")), "").split()
    cpu = tuple(int(text) for text in first[1:]) if first[:1] == ["cpu"] else ()
    processes: dict[int, tuple[str, int]] = {}
    for name in tree.names("proc"):
        counted = _ticks(tree.text(f"proc/{name}/stat")) if name.isdecimal() else None
        if counted is not None:
            processes[int(name)] = counted
    return Look(time.monotonic() if now is None else now, cpu, processes)


def _ticks(stat: str | None) -> tuple[str, int] | None:
    # The name stands in brackets and may itself contain brackets and spaces.
    before, _, after = (stat or "").rpartition(")")
    counters = after.split()
    if len(counters) <= SYSTEM:
        return None
    return before.partition("(")[2], int(counters[USER]) + int(counters[SYSTEM])


def between(first: Look, second: Look, *, least_share: float = 0.05) -> Activity:
    """Compare two readings: return every process, except this one, that used at least `least_share` of a CPU."""
    seconds = second.at - first.at
    busy: list[BusyProcess] = []
    for process, (name, ticks) in second.processes.items():
        used = ticks - first.processes.get(process, (name, ticks))[1]
        share = used / TICKS_PER_SECOND / seconds if seconds > 0 else 0.0
        if share >= least_share and process != os.getpid():
            busy.append(BusyProcess(process, name, share))
    return Activity(seconds, _steal(first, second), tuple(sorted(busy, key=lambda each: -each.cpu_share)))


def _steal(first: Look, second: Look) -> float | None:
    spent = [after - before for before, after in zip(first.cpu, second.cpu, strict=False)][: STEAL + 1]
    return spent[STEAL] / sum(spent) if len(spent) > STEAL and sum(spent) > 0 else None


def observe(seconds: float = 0.3, *, root: Path = Path("/")) -> Activity:
    """Take two readings, `seconds` apart, and compare them."""
    first = look(root=root)
    time.sleep(seconds)
    return between(first, look(root=root))
