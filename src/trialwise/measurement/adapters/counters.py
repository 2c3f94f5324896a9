"""Sample what the kernel and the processor count for a program (`perf_event_open(2)`), once per interval."""

from __future__ import annotations

import errno
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from trialwise._linux import ProgramCounters, counter_names
from trialwise.errors import PlanError
from trialwise.experiment.instruments import counter_unit, is_counter
from trialwise.experiment.problems import nearest
from trialwise.measurement.adapters.fields import field_names
from trialwise.measurement.adapters.process import descendants
from trialwise.measurement.adapters.sampling import deadlines, open_process
from trialwise.measurement.counting import paranoid_level, why_not_counted
from trialwise.measurement.points import Client

DEFAULT = (
    "cycles", "instructions", "cache-misses", "branch-misses", "task-clock", "context-switches", "cpu-migrations",
    "minor-faults", "major-faults",
)  # fmt: skip
"""Counters that are used unless others are named."""
_DENIED = {errno.EACCES, errno.EPERM}


@dataclass(frozen=True, slots=True)
class Counting:
    """Running counters: their names in order, and those left out, with the reason."""

    names: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    counters: ProgramCounters

    def fields(self) -> dict[str, str]:
        """Return the fields of the point: for each counter its total and two times."""
        named = [
            f"{field}{part}"
            for name, field in zip(self.names, field_names(self.names), strict=True)
            for part in ("_seconds" if counter_unit(name) else "", "_enabled_seconds", "_running_seconds")
        ]
        return dict.fromkeys(named, "double") | {"late_seconds": "double", "missed": "int64"}

    def values(self) -> Iterator[float]:
        """Read each counter: its total, scaled to the whole time (NaN if it never got its turn), and its two times."""
        for name, (count, enabled, running) in zip(self.names, self.counters.read(), strict=True):
            total = math.nan if count is None else count
            yield from (total / 1e9 if counter_unit(name) else total, enabled, running)

    def estimates(self) -> tuple[str, ...]:
        """Return the counters that took turns with others, whose counts are therefore estimates."""
        told = zip(self.names, self.counters.read(), strict=True)
        return tuple(name for name, (_, enabled, running) in told if running < enabled)


def open_counters(names: Sequence[str], pid: int | None) -> Counting:
    """Count an existing process and its descendants or, without `pid`, whatever this thread starts from now on.

    If no counters are named, a counter of `DEFAULT` that this user may not open is limited to the program's own part (`:u`),
    where that makes sense.

    Raises
    ------
    PlanError
        A counter or the process does not exist, or no counter could be opened.
    """
    wanted = tuple(dict.fromkeys(names or DEFAULT))
    counters = _opened(wanted, pid)
    if not names and _DENIED.intersection(counters.errors):
        numbers = zip(wanted, counters.errors, strict=True)
        wanted = tuple(_own_part(name) if number in _DENIED else name for name, number in numbers)
        counters = _opened(wanted, pid)
    there = tuple(name for name, number in zip(wanted, counters.errors, strict=True) if number is None)
    paranoid = paranoid_level()
    left_out = tuple(
        (name, why_not_counted(number, paranoid))
        for name, number in zip(wanted, counters.errors, strict=True)
        if number is not None
    )
    if not there:
        raise PlanError(
            f"nothing can be counted: {left_out[0][0]}: {left_out[0][1]}",
            hint="software counters such as task-clock are there on most machines",
        )
    return Counting(there, left_out, counters)


def _opened(names: Sequence[str], pid: int | None) -> ProgramCounters:
    if unknown := [name for name in names if not is_counter(name)]:
        meant = nearest(unknown[0], counter_names())
        known = f"known: {', '.join(counter_names())}, and raw rNNN"
        raise PlanError(
            f"unknown counter {unknown[0]!r}", hint=f'did you mean "{meant}"?' if meant else known
        )
    try:
        counters = ProgramCounters(names, None if pid is None else [pid, *descendants(pid)])
    except ProcessLookupError as error:
        raise PlanError(f"there is no process {pid}") from error
    if errno.EMFILE in counters.errors:
        raise PlanError(
            f"process {pid} has more threads than counters can be opened for",
            hint="raise `ulimit -n`, or count fewer things: --counter task-clock",
        )
    return counters


def _own_part(name: str) -> str:
    return f"{name}:u" if is_counter(f"{name}:u") else name


def sample_counters(
    client: Client,
    pid: int,
    counting: Counting,
    *,
    interval: float,
    seconds: float | None,
    stopped: Callable[[], bool],
) -> tuple[int, int]:
    """Sample counters until the process ends, and once more at its end; return the numbers of samples and missed deadlines.

    Raises
    ------
    ProcessLookupError
        The process does not exist.
    """
    point = client.point("counts", counting.fields())
    process = open_process(pid)
    samples, missed = 0, 0
    if counting.left_out:
        client.metadata("counts_left_out", ", ".join(name for name, _ in counting.left_out))
    try:
        client.start()
        for deadline in deadlines(interval, process=process, seconds=seconds, stopped=stopped):
            missed = deadline.missed
            point.inject_at(time.time(), *counting.values(), deadline.late, missed)
            samples += 1
    finally:
        os.close(process)
    point.inject_at(time.time(), *counting.values(), math.nan, missed)
    return samples + 1, missed
