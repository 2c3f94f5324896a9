"""The files of one experiment directory for an artifact, with what describes it and without names of hosts and users."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from trialwise.analysis.artifacts import Outside, PackedExperiment
from trialwise.analysis.context import session_facts
from trialwise.analysis.environments import facts_of
from trialwise.errors import StoreError
from trialwise.exchange.artifact.archive import Entry
from trialwise.exchange.artifact.privacy import Names, users_in
from trialwise.experiment.claims import NAME as CLAIMS
from trialwise.experiment.model import Experiment
from trialwise.experiment.sources import InstrumentSource, Resource, ResourceSource, ServiceSource
from trialwise.measurement.file_identity import digest_of
from trialwise.measurement.identity import FileIdentity, Identity
from trialwise.store.directory import LEDGER, LOCK, ExperimentDirectory, is_locked
from trialwise.store.ledger import Ledger
from trialwise.store.ledger_copy import copy_for_others
from trialwise.store.records import Head, TrialRow
from trialwise.study.artifact.chains import PROGRAMS
from trialwise.study.artifact.packages import packages_of
from trialwise.study.locating import frozen_text, opened

_ENVIRONMENTS, _LOGS, _SCRATCH = "environments", "logs", "scratch"
_DIGITS = 12
_RUN = ("program", "interpreter")
_NOWHERE = "outside of the folder of the experiment, and of no package: say how to get or build it"
_COPIED = ("program", "script", "input")
"""Roles of files that are copied where they lie below the folder of the experiment."""


@dataclass(frozen=True, slots=True)
class Used:
    """What a trial used: CPU time in seconds, and the peak of its memory in bytes; None if that was not recorded."""

    processor: float | None
    memory: float | None


@dataclass(frozen=True, slots=True)
class Opened:
    """An experiment directory that is to be packed: its rows, the environments of its sessions, and what its trials used."""

    path: Path
    folder: str
    experiment: Experiment
    rows: Sequence[TrialRow]
    environments: Mapping[str, Mapping[str, object]]
    version: str
    home: str
    head: Head | None
    excluded: Sequence[str]
    used: Mapping[str, Used]


@dataclass(slots=True)
class Contents:
    """The files of one directory in the artifact, its description, what was left out, and what trials used, by number.

    `root`: whether trials ran with the rights of root; None if no session recorded it.
    """

    entries: list[Entry]
    experiment: PackedExperiment
    left_out: list[str] = field(default_factory=list[str])
    used: Mapping[str, Used] = field(default_factory=dict[str, Used])
    root: bool | None = None


def open_for_packing(path: Path, folder: str) -> Opened:
    """Read what describes a directory.

    Raises
    ------
    StoreError
        It is being written, or no trial has ended.
    """
    with opened(path) as (experiment, directory, ledger):
        if is_locked(directory):
            raise StoreError(f"{path}: a runner is at work here", hint="pack it when the trials have ended")
        rows = ledger.trials("finished", "failed", "invalid", "abandoned", "excluded")
        if not rows:
            raise StoreError(f"{path}: no trial has ended", hint="run the experiment first")
        return Opened(
            path=directory.path,
            folder=folder,
            experiment=experiment,
            rows=rows,
            environments=environments_of(directory, ledger),
            version=ledger.meta().get("version", "unknown"),
            home=ledger.fact("folder"),
            head=ledger.head(),
            excluded=[
                f"trial {number}: {why.because}" for (number, _), why in sorted(ledger.exclusions().items())
            ],
            used=used_by(ledger, experiment.service_names),
        )


def machine_text(record: Mapping[str, object]) -> str:
    """Return the kind of a machine by the record of an environment: processor, memory, kernel, distribution."""
    facts = facts_of(record)
    memory, cpus, release = (
        facts.get(name, "") for name in ("machine.memory", "processor.cpus", "kernel.release")
    )
    parts = (
        facts.get("processor.model", ""),
        f"{cpus} CPUs" if cpus else "",
        f"{int(memory) / 2**30:.3g} GiB of memory" if memory.isdecimal() else "",
        f"Linux {release}" if release else "",
        facts.get("distribution", ""),
    )
    return ", ".join(filter(None, parts))


_RESOURCES: tuple[Resource, ...] = ("user", "system", "max_rss")


def used_by(ledger: Ledger, services: Sequence[str]) -> dict[str, Used]:
    """Return what each trial used, by number, as its last attempt recorded it, with the services beside it.

    Trials of programs, over emulated paths and of simulations always record it; those of older directories of programs did as a
    metric or by [instrumentation]. That of services is known where a metric asks for it.
    """
    keys = {
        source.key: source.key.rpartition(":")[2]
        for name in _RESOURCES
        for source in (ResourceSource(name), InstrumentSource(name))
    }
    keys |= {key: key for name in services for key in _of_service(name)}
    found: dict[int, dict[str, float]] = {}
    for number, _, source, value, _, _ in ledger.values(list(keys)):
        if value is not None:
            found.setdefault(number, {})[keys[source]] = value
    return {str(number): _used_of(known, services) for number, known in found.items()}


def _of_service(name: str) -> tuple[str, str]:
    return ServiceSource(name, "cpu").key, ServiceSource(name, "memory").key


def _used_of(known: Mapping[str, float], services: Sequence[str]) -> Used:
    """Add up what a trial and its services used; None where a part is not known."""
    own = ["user", "system"], ["max_rss"]
    cpu, memory = zip(*map(_of_service, services), strict=True) if services else ((), ())
    parts = [[known.get(name) for name in (*one, *of)] for one, of in zip(own, (cpu, memory), strict=True)]
    processor, peak = (sum(map(float, filter(None, each))) if None not in each else None for each in parts)
    return Used(processor, peak)


def environments_of(directory: ExperimentDirectory, ledger: Ledger) -> dict[str, Mapping[str, object]]:
    """Return the environments of the sessions, by the names of their files."""
    return {
        facts.record.environment: facts.environment
        for facts in session_facts(directory, ledger)
        if facts.environment
    }


def names_in(each: Opened) -> tuple[set[str], set[str]]:
    """Return the names of hosts and of users that a directory's records state."""
    hosts: set[str] = set()
    texts = [each.home]
    for record in each.environments.values():
        machine = record.get("machine")
        if isinstance(machine, Mapping):
            hosts.add(str(cast("Mapping[str, object]", machine).get("hostname") or ""))
        texts.append(json.dumps(record))
    return hosts, set[str]().union(*map(users_in, texts))


def stated_variables(each: Opened) -> dict[str, str]:
    """Return the variables that the experiment file gives to trials."""
    document: dict[str, Any] = tomllib.loads(frozen_text(ExperimentDirectory(each.path)))
    table: dict[str, object] = document["trial"].get("environment") or {}
    return {name: str(value) for name, value in table.items()}


def contents_of(each: Opened, names: Names, workshop: Path) -> Contents:
    """Return the files of a directory for an artifact; what has to be written anew is written below `workshop`.

    Raises
    ------
    StoreError
        The ledger cannot be copied.
    """
    copy = workshop / f"{each.folder}.sqlite"
    copy_for_others(each.path / LEDGER, copy, names.text)
    entries = [Entry(f"{each.folder}/{LEDGER}", copy)]
    left_out: list[str] = []
    for relative in _files(each.path, left_out):
        file = each.path / relative
        if relative in each.environments:
            record = names.environment(each.environments[relative])
            content = (json.dumps(record, indent=1) + "\n").encode()
        elif relative.startswith(f"{_LOGS}/"):
            content = names.text(file.read_text(errors="replace")).encode()
        else:
            content = file
        entries.append(Entry(f"{each.folder}/{relative}", content))
    programs, outside, packages = _programs(each)
    entries += programs
    described = _described(each, programs, outside, packages)
    return Contents(entries, described, left_out, each.used, as_root(each.environments))


def as_root(environments: Mapping[str, Mapping[str, object]]) -> bool | None:
    """Return whether trials ran with the rights of root, by the environments of their sessions; None if none recorded it."""
    known = [fact for record in environments.values() if (fact := facts_of(record).get("rights.root"))]
    return "yes" in known if known else None


def _files(folder: Path, left_out: list[str]) -> Iterator[str]:
    """Yield the names of the regular files of a directory; not those of a runner at work, and not the ledger's."""
    for place, folders, files in os.walk(folder):
        top = Path(place) == folder
        folders[:] = sorted(name for name in folders if not (top and name == _SCRATCH))
        for name in sorted(files):
            file = Path(place) / name
            relative = file.relative_to(folder).as_posix()
            if (top and (name.startswith((LEDGER, LOCK)) or name == CLAIMS)) or name.endswith(".tmp"):
                continue
            if file.is_symlink() or not file.is_file():
                left_out.append(f"{folder.name}/{relative} is a link or no regular file")
                continue
            yield relative


def _programs(each: Opened) -> tuple[list[Entry], list[Outside], list[str]]:
    """Return the programs below the experiment's folder that are still what ran, all others by name, and the packages of the system.

    What trials were seen to read besides is the system's own affair, as long as it is no program.
    """
    entries: dict[str, Entry] = {}
    outside: dict[str, Outside] = {}
    files = list(_measured_files(each))
    packages = packages_of(file.path for file in files if _is_elsewhere(file))
    used: set[str] = set()
    for file in files:
        why = _why_not(file)
        if _is_elsewhere(file):
            if why is None and file.path in packages:
                used.add(packages[file.path])
            elif file.role in _RUN or (file.role in _COPIED and not file.treatments):
                outside[file.name] = Outside(file.name, file.sha256[:_DIGITS], why or _NOWHERE)
        elif file.role in _COPIED and why is not None:
            outside[file.name] = Outside(file.name, file.sha256[:_DIGITS], why)
        elif file.role in _COPIED:
            name = f"{PROGRAMS}/{each.folder}/{file.name}"
            entries[name] = Entry(name, Path(file.path), executable=os.access(file.path, os.X_OK))
    return list(entries.values()), list(outside.values()), sorted(used)


def _is_elsewhere(file: FileIdentity) -> bool:
    return file.name.startswith("/") or ".." in file.name.split("/")


def _measured_files(each: Opened) -> Iterator[FileIdentity]:
    """Yield what trials ran and read, of the latest session in which each file was seen."""
    found: dict[str, FileIdentity] = {}
    for record in each.environments.values():
        try:
            files = Identity.from_json(record).files
        except ValueError:
            continue
        found |= {file.name: file for file in files}
    yield from found.values()


def _why_not(file: FileIdentity) -> str | None:
    try:
        same = digest_of(file.path) == file.sha256
    except OSError:
        return "no longer there"
    return None if same else "another since the trials"


def _described(
    each: Opened, programs: Sequence[Entry], outside: Sequence[Outside], packages: Sequence[str]
) -> PackedExperiment:
    experiment = each.experiment
    begun = [row.claimed for row in each.rows if row.claimed is not None]
    ended = [row.finished for row in each.rows if row.finished is not None]
    return PackedExperiment(
        name=experiment.name,
        folder=each.folder,
        about=experiment.description or f"{len(each.rows)} trials of {experiment.name}",
        command=experiment.trial.summary,
        treatments=len({row.treatment for row in each.rows}),
        trials=len({row.number for row in each.rows}),
        begun=min(begun, default=0.0),
        ended=max(ended, default=0.0),
        version=each.version,
        programs=tuple(entry.name for entry in programs),
        outside=tuple(outside),
        packages=tuple(packages),
        machines=tuple(dict.fromkeys(filter(None, map(machine_text, each.environments.values())))),
        head=each.head and each.head.hash,
        rows=each.head.rows if each.head else 0,
        excluded=tuple(each.excluded),
    )
