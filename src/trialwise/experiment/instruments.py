"""What can be recorded of a trial beside its metrics: names, units, and what switches each on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trialwise._core import counter_setting
from trialwise.experiment.model import Instrumentation


@dataclass(frozen=True, slots=True)
class Instrument:
    """A number that is recorded: its unit, and what it is."""

    unit: str
    meaning: str


RESOURCES = {
    "user": Instrument("s", "CPU time in the program"),
    "system": Instrument("s", "CPU time in the kernel for it"),
    "max_rss": Instrument("B", "peak resident memory of its largest process"),
    "minor_faults": Instrument("", "page faults without I/O"),
    "major_faults": Instrument("", "page faults with I/O"),
    "voluntary_switches": Instrument("", "context switches because it waited"),
    "involuntary_switches": Instrument("", "context switches because others wanted the CPU"),
    "bytes_in": Instrument("B", "read from block devices"),
    "bytes_out": Instrument("B", "written to block devices"),
}
"""Of the program and the children that it waited for (`resources = true`)."""

INTERRUPTS = {
    "machine_interrupts": Instrument("", "interrupts on the whole machine, from right before to right after"),
    "machine_softirqs": Instrument("", "soft interrupts on the whole machine"),
    "machine_switches": Instrument("", "context switches on the whole machine"),
    "machine_forks": Instrument("", "processes and threads started on the whole machine"),
    "machine_steal": Instrument("s", "CPU time that the hypervisor gave to others"),
    "cpus_interrupts": Instrument("", "interrupts on the CPUs that the program is pinned to"),
}
"""Of the whole machine while the program ran (`interrupts = true`); the last one where it is pinned."""

_SECONDS = {"task-clock", "cpu-clock"}


def is_counter(name: str) -> bool:
    """Whether `perf_event_open` can be asked for it by that name: `instructions`, `cycles:u`, `r01c2`."""
    try:
        counter_setting(name)
    except ValueError:
        return False
    return True


def counter_unit(name: str) -> str:
    """The unit in which a counter is recorded."""
    return "s" if name.removesuffix(":u") in _SECONDS else ""


def instruments_of(instrumentation: Instrumentation) -> Iterator[str]:
    """The names of everything that is switched on."""
    yield from instrumentation.perf
    if instrumentation.resources:
        yield from RESOURCES
    if instrumentation.interrupts:
        yield from (name for name in INTERRUPTS if instrumentation.cpus or not name.startswith("cpus_"))


def instrument_unit(name: str) -> str:
    """The unit of an instrument by its name."""
    known = RESOURCES | INTERRUPTS
    return known[name].unit if name in known else counter_unit(name)
