"""Sections [measurement] and [instrumentation]: what can be recorded of a trial in addition to its metrics, with names and units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from trialwise.experiment.file.sections import Limits, Section, Written, WrongValueError, key
from trialwise.experiment.file.values import Duration, Text, without_doubles
from trialwise.experiment.problems import nearest, shown


@dataclass(frozen=True, slots=True)
class Instrument:
    """A number that can be recorded: its unit, and its meaning."""

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
"""Of the whole machine while the program ran (`interrupts = true`); the last one if it is pinned."""

_SECONDS = {"task-clock", "cpu-clock"}


def is_counter(name: str) -> bool:
    """Return True if it is a counter name for `perf_event_open`: `instructions`, `cycles:u`, `r01c2`."""
    from trialwise._linux import counter_setting

    try:
        counter_setting(name)
    except ValueError:
        return False
    return True


def _counter(name: str) -> str:
    if is_counter(name):
        return name
    from trialwise._linux import counter_names

    meant = nearest(name, counter_names())
    hint = f'did you mean "{meant}"?' if meant else f"known: {', '.join(counter_names())}, and raw rNNN"
    raise WrongValueError(f"unknown counter {shown(name)}", hint)


@dataclass(frozen=True, slots=True)
class Measurement(Section):
    """The collector that runs beside each trial, for programs with measurement points."""

    config: Text | None = key(
        None,
        "OML's XML or a TOML file that says which points become which streams; {collector} and {factor} are filled.",
        "streams.toml",
    )
    listen: Text = key("127.0.0.1", "Address at which the collector listens, with a free port.", "10.0.0.1")
    patience: Duration = key(5.0, "How long after the program the last rows are waited for.", "30s")
    losses: Literal["fail", "allow"] = key(
        "fail", "Whether a trial fails whose programs dropped samples or sent damaged rows.", "allow"
    )


@dataclass(frozen=True, slots=True)
class Instrumentation(Section):
    """What is recorded of every trial beside its metrics, and where its program runs."""

    perf: Annotated[
        tuple[str, ...], without_doubles(Annotated[str, Written(Text, _counter)], max_length=16)
    ] = key(
        (),
        "Counters of the kernel and the processor, of the program and all that it starts; :u leaves out the kernel's part.",
        ["task-clock", "instructions", "cycles:u"],
    )
    cpus: Annotated[tuple[int, ...], without_doubles(Annotated[int, Limits(ge=0, le=1023)])] = key(
        (), "CPUs that the program is pinned to.", [2, 3]
    )
    resources: bool = key(False, "What the operating system counted for the program.", True)
    interrupts: bool = key(False, "What the kernel counted for the whole machine meanwhile.", True)


def counter_unit(name: str) -> str:
    """Return the unit of a counter."""
    return "s" if name.removesuffix(":u") in _SECONDS else ""


def instruments_of(instrumentation: Instrumentation) -> Iterator[str]:
    """Yield the names of all enabled instruments."""
    yield from instrumentation.perf
    if instrumentation.resources:
        yield from RESOURCES
    if instrumentation.interrupts:
        yield from (name for name in INTERRUPTS if instrumentation.cpus or not name.startswith("cpus_"))


def instrument_unit(name: str) -> str:
    """Return the unit of an instrument by its name."""
    known = RESOURCES | INTERRUPTS
    return known[name].unit if name in known else counter_unit(name)


def how_to_switch_on(name: str, known: Sequence[str]) -> str:
    """Say how to enable an instrument that is not one of the `known` here."""
    if meant := nearest(name, known):
        return f'did you mean "{meant}"?'
    if name in RESOURCES:
        return "write resources = true into [instrumentation]"
    if name in INTERRUPTS:
        pinned = " and cpus = [ … ]" if name.startswith("cpus_") else ""
        return f"write interrupts = true{pinned} into [instrumentation]"
    if is_counter(name):
        return f'write perf = ["{name}"] into [instrumentation]'
    return (
        f"known here: {', '.join(known)}" if known else "[instrumentation] switches on what can be recorded"
    )
