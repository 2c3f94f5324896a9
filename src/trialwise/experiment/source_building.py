"""Building of a metric's source from its table: outputs of programs, and quantities by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trialwise.experiment import sources
from trialwise.experiment.file.positions import Key
from trialwise.experiment.file.sections import keys_of
from trialwise.experiment.metrics import MetricTable
from trialwise.experiment.problems import Problems, nearest
from trialwise.experiment.quantities import Quantity


def program_source(
    key: Key, table: MetricTable, problems: Problems, *, returns: bool = False
) -> sources.Source:
    """Build the source of a program's metric; if the program `returns` something, that is the default."""
    readers = [
        reader
        for reader, given in (
            ("stdout", table.stdout),
            ("json", table.json),
            ("csv", table.csv),
            ("pattern", table.pattern),
        )
        if given is not None
    ]
    alone = [name for name in ("resource", "instrument", "service", "stream") if getattr(table, name)]
    if alone:
        keys = keys_of(MetricTable)
        others = (
            *alone[1:],
            *readers,
            *(name for name in ("file", "time", "value") if getattr(table, name)),
            *(["matches"] if table.matches == "all" else []),
        )
        for other in others:
            problems.add(
                (*key, keys[other].name),
                f"does not go with {keys[alone[0]].name}; give one source for {key[-1]}",
            )
        return _source_alone(table)
    if not readers and not table.file and returns:
        return sources.ReturnSource(table.value or str(key[-1]))
    if table.value:
        problems.add((*key, "value"), 'only valid with kind = "python" and no other source')
    return _text_source(key, table, readers, problems)


def named_quantity(
    key: Key, table: MetricTable, known: Mapping[str, Quantity], trial: str, whole: str, problems: Problems
) -> str:
    """Return the name of the quantity in the table, or else the metric's name."""
    name = table.quantity or str(key[-1])
    quantity = known.get(name)
    if quantity is None:
        meant = nearest(name, list(known))
        did = f'; did you mean "{meant}"?' if meant else ""
        where = (*key, "quantity") if table.quantity else key
        problems.add(where, f'"{name}" is nothing that {trial} measures{did}', f"known: {', '.join(known)}")
        return name
    for part in ("flow", "sizes", "phase"):
        if not quantity.per_flow and getattr(table, part) is not None:
            problems.add((*key, part), f"{name} is {whole}")
    if quantity.one_flow and table.flow is None:
        problems.add(key, f"{name} is of one flow", "add flow = 1, or the number of another flow")
    return name


def _source_alone(table: MetricTable) -> sources.Source:
    """Build a source that needs nothing else."""
    if table.resource:
        return sources.ResourceSource(table.resource)
    if table.instrument:
        return sources.InstrumentSource(table.instrument)
    if table.service:
        service, _, quantity = table.service.rpartition(".")
        return sources.ServiceSource(service, "cpu" if quantity == "cpu" else "memory")
    stream, _, field = (table.stream or "").partition(".")
    return sources.StreamSource(stream, field)


def _text_source(
    key: Key, table: MetricTable, readers: Sequence[str], problems: Problems
) -> sources.TextSource:
    if len(readers) != 1:
        have = f"{' and '.join(readers)} are {len(readers)} sources; give one" if readers else "no source"
        problems.add(
            key,
            have,
            "give one of resource, instrument, service, source, stdout, json, csv; or file with json, csv or pattern",
        )
    for reader in readers:
        if reader == "stdout" and table.file:
            problems.add((*key, "stdout"), "reads standard output; for a file write pattern")
        if reader == "pattern" and not table.file:
            problems.add((*key, "pattern"), "reads a file; add file, or write stdout")
        if table.time and reader not in {"csv", "json"}:
            problems.add((*key, "time"), "only valid with csv or json")
    if table.matches == "all" and not {"stdout", "pattern"}.intersection(readers):
        problems.add((*key, "matches"), "only valid with stdout or pattern")
    pattern = table.pattern or table.stdout
    return sources.TextSource(table.file, pattern, table.json, table.csv, table.time, table.matches)
