"""Record, beside the metrics, what the kernel, the processor and the machine counted while the program ran."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from trialwise._linux import run_command
from trialwise.errors import PlanError
from trialwise.experiment.instruments import RESOURCES, counter_unit
from trialwise.experiment.model import Experiment, Instrumentation
from trialwise.experiment.sources import InstrumentSource
from trialwise.experiment.traits import sources_of
from trialwise.measurement.counting import paranoid_level, why_not_counted
from trialwise.measurement.interrupts import MachineCounts
from trialwise.measurement.samples import Samples
from trialwise.trials.container_cgroups import Used

BLOCK = 512
"""Bytes of a block in getrusage(2)."""


class Counted(Protocol):
    """Counts of a program by the kernel; `counted` holds (name, value, share of the time, error) of each counter."""

    @property
    def user_ns(self) -> int:
        """CPU time in user mode, nanoseconds."""
        ...

    @property
    def system_ns(self) -> int:
        """CPU time in the kernel, nanoseconds."""
        ...

    @property
    def max_rss_bytes(self) -> int:
        """Maximum resident set, bytes."""
        ...

    @property
    def minor_faults(self) -> int:
        """Page faults without a disk read."""
        ...

    @property
    def major_faults(self) -> int:
        """Page faults with a disk read."""
        ...

    @property
    def voluntary_switches(self) -> int:
        """Number of times it gave up the CPU."""
        ...

    @property
    def involuntary_switches(self) -> int:
        """Number of times it was preempted."""
        ...

    @property
    def blocks_in(self) -> int:
        """Blocks read."""
        ...

    @property
    def blocks_out(self) -> int:
        """Blocks written."""
        ...

    @property
    def counted(self) -> Sequence[tuple[str, float | None, float, int | None]]:
        """Readings of the kernel's counters."""
        ...


_READ: Mapping[str, Callable[[Counted], float]] = {
    "user": lambda run: run.user_ns / 1e9,
    "system": lambda run: run.system_ns / 1e9,
    "max_rss": lambda run: run.max_rss_bytes,
    "minor_faults": lambda run: run.minor_faults,
    "major_faults": lambda run: run.major_faults,
    "voluntary_switches": lambda run: run.voluntary_switches,
    "involuntary_switches": lambda run: run.involuntary_switches,
    "bytes_in": lambda run: run.blocks_in * BLOCK,
    "bytes_out": lambda run: run.blocks_out * BLOCK,
}

_ALWAYS = ("user", "system", "max_rss")
"""What is recorded of every program, because it says what claims cost."""


def recorded(
    instrumentation: Instrumentation,
    run: Counted,
    before: MachineCounts | None,
    after: MachineCounts | None,
    *,
    inside: Used | None = None,
) -> dict[str, Samples]:
    """Return what was recorded of a run, by source key: always its CPU time and memory, as far as they are known of a container.

    `before` and `after` are the machine's counts around it, `inside` is what ran in the container whose client it is.
    """
    found = {
        name: value / 1e9 if counter_unit(name) == "s" else value
        for name, value, _, _ in run.counted
        if value is not None
    }
    if inside is None:
        found |= {name: _READ[name](run) for name in (RESOURCES if instrumentation.resources else _ALWAYS)}
    elif inside.problem is None:
        of_container = {name: getattr(inside, name) for name in _ALWAYS}
        found |= {name: value for name, value in of_container.items() if value is not None}
    if before is not None and after is not None:
        found |= after.since(before, instrumentation.cpus)
    return as_samples(found)


def as_samples(found: Mapping[str, float]) -> dict[str, Samples]:
    """Convert numbers by instrument name to samples by source key."""
    return {
        InstrumentSource(name).key: Samples(np.array([value], dtype=np.float64))
        for name, value in found.items()
    }


def remarks(run: Counted, paranoid: str | None) -> Iterator[str]:
    """Yield remarks on the counters of a run: missing ones, and those that took turns.

    `paranoid` is the machine's `kernel.perf_event_paranoid`.
    """
    for name, value, share, number in run.counted:
        if value is None:
            yield f"{name} is not counted and left out: {why_not_counted(number, paranoid)}"
        elif share < 1:
            yield f"{name} and others took turns on the processor's counters, so they are estimates: ask for fewer"


def check_instruments(experiment: Experiment) -> None:
    """Check before anything runs that the CPUs exist, and that the counters that metrics need are available.

    Raises
    ------
    PlanError
        A CPU may not be used, or a counter that a metric needs is missing.
    """
    instrumentation = experiment.instrumentation
    if absent := sorted(set(instrumentation.cpus) - os.sched_getaffinity(0)):
        usable = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
        raise PlanError(f"instrumentation.cpus: CPU {absent[0]} is not available", hint=f"known: {usable}")
    missing = _missing(instrumentation)
    for metric, source in sources_of(experiment.metrics, InstrumentSource):
        if source.name in missing:
            raise PlanError(
                f"metrics.{metric.name}.instrument: {source.name} is not counted: {missing[source.name]}",
                hint="software counters such as task-clock are there on most machines",
            )


def _missing(instrumentation: Instrumentation) -> dict[str, str]:
    """Probe which counters this machine lacks, and why."""
    if not instrumentation.perf:
        return {}
    run = run_command(["true"], environment=os.environ, working_directory="/", counters=instrumentation.perf)
    paranoid = paranoid_level()
    return {
        name: why_not_counted(number, paranoid) for name, value, _, number in run.counted if value is None
    }
