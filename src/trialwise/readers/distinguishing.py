"""Tells the files of one tool apart: by settings that differ, and by what their names say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from trialwise.readers.blocks import parts, treatments, with_factors
from trialwise.readers.file_names import Named, by_pattern, guessed
from trialwise.readers.gathering import Group
from trialwise.readers.one_unit import in_one_unit
from trialwise.readers.records import Note, Reading, listed


def told_apart(group: Group, pattern: str | None = None) -> tuple[Group, str]:
    """Add the factors that tell files apart, and say which part of a name is which; empty if no name is used.

    Parameters are not enough where one tool ran other commands with equal ones in another file: the commands are factors then. So is
    the version of the tool where files with one treatment are of several, and it is said where they are of several hosts.
    A metric that is in other units in other files is brought to one.

    Raises
    ------
    AnalysisError
        The pattern does not fit a name.
    """
    found, shown = with_names(with_options(in_one_unit(group)), pattern)
    if _are_mixed(found.readings):
        found = replace(found, readings=tuple(replace(reading, named=()) for reading in found.readings))
    return _with_hosts(_with_versions(found)), shown


def _with_versions(group: Group) -> Group:
    """Add the version of the tool as a factor if files of one treatment are of several versions."""
    versions: dict[frozenset[tuple[str, str]], str] = {}
    are_joined = len({reading.version for reading in group.readings}) > 1 and any(
        versions.setdefault(frozenset(reading.levels_of(own).items()), reading.version) != reading.version
        for reading in group.readings
        for own in treatments(reading.rows)
    )
    if not are_joined:
        return group
    readings = (
        replace(
            _with(reading, {"version": reading.version or "not told"}),
            notes=(
                *reading.notes,
                Note("", "the files are of several versions of the tool, which are kept apart"),
            ),
        )
        for reading in group.readings
    )
    return replace(group, readings=tuple(readings))


def _with_hosts(group: Group) -> Group:
    """Say it if the files are of several hosts."""
    hosts = dict.fromkeys(host for reading in group.readings for host in _hosts(reading))
    if len(group.readings) < 2 or len(hosts) < 2:
        return group
    names = tuple(hosts)
    note = Note(
        "", f"the files are of several hosts, whose differences are in the spread: {listed(names)}", names
    )
    first, *others = group.readings
    return replace(group, readings=(replace(first, notes=(*first.notes, note)), *others))


def _hosts(reading: Reading) -> Iterator[str]:
    single, blocks = parts(reading.rows)
    told = (row.levels.get("host") for row in single)
    units = (unit.get("host") for block in blocks for unit in block.units)
    yield from filter(None, (reading.facts.get("host"), *told, *units))


def _are_mixed(readings: Sequence[Reading]) -> bool:
    """Return True if the factors that suffice in each file would join treatments of several files that differ in others."""
    whole: dict[frozenset[tuple[str, str]], Mapping[str, str]] = {}
    return any(
        whole.setdefault(
            frozenset((name, level) for name, level in own.items() if name in reading.named), own
        )
        != own
        for reading in readings
        if reading.named
        for own in treatments(reading.rows)
    )


def with_options(group: Group) -> Group:
    """Add those settings of the tool as factors that differ between files."""
    names = dict.fromkeys(name for reading in group.readings for name in reading.options)
    differing = [name for name in names if len({reading.options.get(name) for reading in group.readings}) > 1]
    if not differing:
        return group
    readings = tuple(
        _with(reading, {name: reading.options[name] for name in differing if name in reading.options})
        for reading in group.readings
    )
    return replace(group, readings=readings)


def with_names(group: Group, pattern: str | None = None) -> tuple[Group, str]:
    """Add the factors that names of files give, and say which part of a name is which; empty if none is used.

    A factor that repeats one of the content, one to one, is left out.

    Raises
    ------
    AnalysisError
        The pattern does not fit a name.
    """
    paths = [reading.path for reading in group.readings]
    named = by_pattern(paths, pattern) if pattern is not None else guessed(paths)
    if named is None:
        return group, ""
    kept = [name for name in named.factors[0] if not _is_repeated(name, named, group.readings)]
    if not kept:
        return group, ""
    readings = tuple(
        _with(reading, {name: own[name] for name in kept})
        for reading, own in zip(group.readings, named.factors, strict=True)
    )
    return replace(group, readings=readings), named.pattern


def _is_repeated(name: str, named: Named, readings: Sequence[Reading]) -> bool:
    """Return True if a factor of names maps one to one to a factor in the files."""
    levels = [own[name] for own in named.factors]
    inside = [
        {factor: {own.get(factor) for own in treatments(reading.rows)} for factor in _factors(reading)}
        for reading in readings
    ]
    for factor in dict.fromkeys(factor for each in inside for factor in each):
        told = [each.get(factor, set[str | None]()) for each in inside]
        if all(len(each) == 1 for each in told):
            pairs = {(level, next(iter(each))) for level, each in zip(levels, told, strict=True)}
            if len(pairs) == len({first for first, _ in pairs}) == len({second for _, second in pairs}):
                return True
    return False


def _factors(reading: Reading) -> list[str]:
    return list(dict.fromkeys(factor for own in treatments(reading.rows) for factor in own))


def _with(reading: Reading, factors: Mapping[str, str]) -> Reading:
    return replace(
        reading,
        rows=with_factors(reading.rows, factors),
        named=(*reading.named, *factors) if reading.named else (),
    )
