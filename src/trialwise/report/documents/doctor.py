"""The documents of `trialwise doctor`: what disturbs measurements on a machine, and what its emulated paths carry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from trialwise.report.document import Block, Code, Document, Heading, Items, Name, Note, Text, Verdict
from trialwise.report.numbers import Number, counted, decimals, given

if TYPE_CHECKING:
    from trialwise.measurement.documents import DoctorDocument, OptionalPart, PathCeilingDocument
    from trialwise.measurement.environment import Environment


def document(found: DoctorDocument) -> Document:
    """Return how many things disturb, each with its remedy, then the optional parts."""
    number = len(found.disturbances)
    verdict = (
        Verdict("open", (f"{counted(number, 'thing')} will disturb measurements on this machine.",))
        if number
        else Verdict("good", ("Nothing found that is known to disturb measurements.",))
    )
    evidence: list[Block] = [Note(_machine(found.environment), is_aside=True)]
    for one in found.disturbances:
        undo: tuple[Text, ...] = (("undo: ", Code(one.undo)),) if one.undo else ()
        evidence += [Heading((f"{one.name}: {one.found}",)), Items((*_remedy(one.why, one.change), *undo))]
    return Document("doctor", verdict, (*evidence, *_parts(found.optional)))


def _remedy(why: str | None, change: str | None) -> tuple[Text, ...]:
    return (f"why: {why}",), ("change: ", Code(change or ""))


def _parts(parts: Sequence[OptionalPart]) -> Iterator[Block]:
    for part in parts:
        version = f"{part.version} " if part.version is not None else ""
        yield Heading((f"{part.name}: {version}{part.found}",))
        if part.version is None:
            yield Items(_remedy(part.why, part.change))


def _machine(environment: Environment) -> Text:
    processor, machine, kernel = environment.processor, environment.machine, environment.kernel
    where = machine.container or machine.virtual_machine
    cores = f", {processor.cpus} CPUs on {processor.cores} cores, Linux {kernel.release}"
    governor = f", governor {processor.governor or 'unknown'}"
    return (Name(processor.model or "unknown CPU"), cores, governor, f", inside {where}" if where else "")


def path_document(found: PathCeilingDocument) -> Document:
    """Return the highest rate that a link carried, and what limits it."""
    carried = (
        ("not even the lowest rate tried",) if found.rate is None else (given(found.rate / 1e6, "Mbit/s"),)
    )
    median, late = (decimals(each * 1e3, 3) for each in (found.delay_error_median, found.delay_error_p99))
    payload, free, packets = (
        Number(value, kind="count")
        for value in (found.goodput / 1e6, found.unrestricted / 1e6, found.packets_per_second)
    )
    lines: tuple[Text, ...] = (
        ("payload: ", payload, " Mbit/s of one TCP connection; ", free, " Mbit/s without limits"),
        (f"what limits it: {found.limit or 'nothing was found: no higher rate was tried'}",),
        ("small packets: ", packets, " per second (100 bytes)"),
        (f"error of delay: {median} ms median, {late} ms p99, idle path",),
        (f"emulator: {'real-time' if found.realtime else 'ordinary'} priority, {found.device} devices",),
    )
    answer = ("A link with 28 ms each way carried ", *carried, ".")
    return Document("doctor-path", Verdict("bad" if found.rate is None else "good", answer), (Items(lines),))
