"""The services of one runner: which run before a trial, whether they lasted through it, and their end."""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np

from trialwise.execution.events import ServiceStarting
from trialwise.execution.services.process import ServiceProcess
from trialwise.experiment.masked import told_of
from trialwise.experiment.model import Experiment, Level, Service
from trialwise.experiment.placeholders import fill
from trialwise.experiment.quantity import duration_text
from trialwise.experiment.sources import ServiceQuantity, ServiceSource
from trialwise.experiment.traits import sources_of
from trialwise.measurement.file_identity import NamedFile
from trialwise.measurement.programs import files_beside
from trialwise.measurement.samples import Samples
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import (
    REMARK,
    SERVICE,
    SERVICE_DIED,
    SERVICE_FAILED,
    Event,
    TrialRow,
    service_started,
)
from trialwise.trials.base import TrialOutcome
from trialwise.trials.command import check_program, nowhere
from trialwise.trials.marked import MARKER
from trialwise.trials.programs import readable
from trialwise.trials.surroundings import passed_by, secrets_of
from trialwise.visible import visible

_LAST_LINES, _LAST_CHARACTERS = 3, 400


class Handle(Protocol):
    """One run of a service, here or on a worker."""

    version: str | None
    """The first line that its command `version` has printed, if there is one."""

    @property
    def masked(self) -> Collection[str]:
        """The names of the secrets that were masked in what it printed."""
        ...

    def start(self, cancel: int | None = None) -> str | None:
        """Start it, and wait until it is ready; return what went wrong, None if it is ready."""
        ...

    def problem(self) -> str | None:
        """Return why it is not there any more, None if it is."""
        ...

    def begin_use(self) -> None:
        """Measure from now on what it uses."""
        ...

    def use(self) -> tuple[float, int] | None:
        """Return the CPU seconds since `begin_use`, and the peak of memory in bytes; None if others measure that."""
        ...

    def stop(self) -> None:
        """End it with everything that it started."""
        ...

    def printed(self) -> bytes:
        """Return what it printed and wrote to its log, as far as that is kept."""
        ...


class ServiceHost(Protocol):
    """The machine that services run on. `folder` is that of the experiment's files there."""

    @property
    def folder(self) -> str:
        """The folder of the experiment's files there."""
        ...

    def launch(self, task: dict[str, Any]) -> Handle:
        """Return a run of a service that has not been started; see `ServiceProcess` for the task."""
        ...


class LocalServices:
    """Starts services on our own machine; `folder` is that of the experiment."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)

    def launch(self, task: dict[str, Any]) -> Handle:
        """Return a run of a service on this machine."""
        return ServiceProcess(task)


@dataclass(slots=True)
class _Running:
    """A run of a service, and the trial before which it was started."""

    service: Service
    handle: Handle
    row: TrialRow

    def is_over(self, row: TrialRow) -> bool:
        """Return True if a trial is not one of those that it is for."""
        mine, lifetime = self.row, self.service.lifetime
        if lifetime == "trial":
            return (row.number, row.attempt) != (mine.number, mine.attempt)
        if lifetime == "round":
            return (row.series, row.round, row.warmup) != (mine.series, mine.round, mine.warmup)
        return row.series != mine.series


class Services:
    """Starts, watches and ends the services of an experiment for the trials of one runner.

    `marker` is that of their processes; `tell` is called before each start.
    """

    def __init__(
        self,
        experiment: Experiment,
        directory: ExperimentDirectory,
        ledger: Ledger,
        host: ServiceHost,
        marker: str,
        tell: Callable[[ServiceStarting], None] = lambda _: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._services = experiment.services
        self._trial = experiment.trial
        self._measured = measured_services(experiment)
        self._directory = directory
        self._ledger = ledger
        self._host = host
        self._marker = marker
        self._tell = tell
        self._now = now
        self._running: dict[str, _Running] = {}
        self._deaths = Counter[str]()
        self.began: float | None = None
        """When the first service was started (Unix seconds)."""
        self._versions = set[str]()
        """The services whose version is known."""

    def prepare(self, row: TrialRow, cancel: int | None, without: Collection[str] = ()) -> str | None:
        """Have all services run that a trial is to have, except those `without` and what needs them; return what went wrong, or None.

        Services whose trials are over are ended first.
        """
        self._stop([name for name, each in self._running.items() if each.is_over(row)])
        if problem := self._bury(f"before trial {row.number}"):
            return problem
        left_out = self._with_dependents(without)
        for service in self._services:
            is_missing = service.name not in self._running and service.name not in left_out
            if is_missing and (problem := self._start(service, row, cancel)):
                return problem
        return None

    def begin_use(self) -> None:
        """Measure from now on what those services use of which a metric tells."""
        for name, each in self._running.items():
            if name in self._measured:
                each.handle.begin_use()

    def judged(self, row: TrialRow, outcome: TrialOutcome) -> TrialOutcome:
        """Return the outcome of a trial, with what services used: invalid if one did not last through it."""
        used = {name: self._running[name].handle.use() for name in self._measured & self._running.keys()}
        outcome = with_use(outcome, {name: use for name, use in used.items() if use is not None})
        dead = {name: problem for name, each in self._running.items() if (problem := each.handle.problem())}
        if not dead:
            self._deaths.clear()
        else:
            outcome = without_services(
                outcome, [self._obituary(name, problem) for name, problem in dead.items()]
            )
        self._bury(f"during trial {row.number}", dead)
        self._stop([name for name, each in self._running.items() if each.service.lifetime == "trial"])
        return outcome

    def perform(
        self, verb: Literal["stop", "start"], name: str, row: TrialRow, cancel: int | None
    ) -> str | None:
        """Stop a service with those that need it, or have all services run; return what went wrong, or None."""
        if verb == "start":
            return self.prepare(row, cancel)
        self._stop([name])
        return None

    def close(self) -> None:
        """End all services."""
        self._stop(list(self._running))

    # One service

    def _start(self, service: Service, row: TrialRow, cancel: int | None) -> str | None:
        self._tell(ServiceStarting(row, service.name))
        self.began = self._now() if self.began is None else self.began
        handle = self._host.launch(self._task(service, row))
        began = time.monotonic()
        problem = handle.start(cancel)
        if problem is None:
            self._running[service.name] = _Running(service, handle, row)
            took = duration_text(time.monotonic() - began)
            version = None if handle.version is None else visible(handle.version)
            self._versions.add(service.name)
            self._note(SERVICE, service_started(service.name, took, row.number, version))
            return None
        self._keep(service.name, row, handle)
        text = f"service {service.name}: {problem}{_last_lines(handle.printed())}"
        if cancel is None or not readable(cancel, 0.0):  # nobody asked to stop
            self._note(SERVICE_FAILED, visible(text))
        return visible(text)

    def _task(self, service: Service, row: TrialRow) -> dict[str, Any]:
        values: dict[str, Level] = {
            **row.factors,
            "series": row.series,
            "round": row.round,
            "position": row.position,
            "trial": row.number,
            "seed": row.seed,
        }
        return {
            "name": service.name,
            "words": _filled(service.start, values),
            "version": _filled(service.version or (), values) if service.name not in self._versions else None,
            "stop": None if service.stop is None else _filled(service.stop, values),
            "log": service.log and fill(service.log, values),
            "directory": os.path.normpath(os.path.join(self._host.folder, fill(service.directory, values))),  # noqa: PTH118 there
            "passed": list(passed_by(self._trial)),
            "environment": {
                **{name: fill(text, values) for name, text in service.environment},
                MARKER: f"{self._marker}:service:{service.name}",
            },
            "secrets": secrets_of(self._trial),
            "ready": _check(service, values),
        }

    def _bury(self, when: str, dead: Mapping[str, str] | None = None) -> str | None:
        """Clear up what has died; return why the run is to stop, if one service has died too often."""
        if dead is None:
            dead = {name: said for name, each in self._running.items() if (said := each.handle.problem())}
        for name, problem in dead.items():
            self._deaths[name] += 1
            self._note(SERVICE_DIED, f"{self._obituary(name, problem)}, {when}")
        self._stop(list(dead))
        for service in self._services:
            if (times := self._deaths[service.name]) > service.restarts:
                key = f"service.{service.name}.restarts"
                return (
                    f"service {service.name} has died {times} times in a row, and {key} is {service.restarts}"
                )
        return None

    def _obituary(self, name: str, problem: str) -> str:
        return visible(f"{name} {problem}{_last_lines(self._running[name].handle.printed())}")

    def _stop(self, names: Collection[str]) -> None:
        """End services and those that need them, the last that was started first."""
        meant = self._with_dependents(names)
        ended = [
            self._running.pop(service.name)
            for service in reversed(self._services)
            if service.name in meant and service.name in self._running
        ]
        for each in ended:
            each.handle.stop()
        for each in ended:
            self._keep(each.service.name, each.row, each.handle)

    def _with_dependents(self, names: Collection[str]) -> set[str]:
        """Return services with all those that need them; services stand in the order of their needs."""
        found = set(names)
        for service in self._services:
            if found.intersection(service.needs):
                found.add(service.name)
        return found

    def _keep(self, name: str, row: TrialRow, handle: Handle) -> None:
        """Keep what a service has printed beside the logs of trials."""
        printed = handle.printed()
        if handle.masked:
            self._note(REMARK, f"service {name} {told_of(handle.masked)}")
        if printed:
            file = f"logs/service-{name}-{row.number:06d}-{row.attempt}"
            names = itertools.chain([f"{file}.txt"], (f"{file}-{again}.txt" for again in itertools.count(2)))
            free = next(each for each in names if not (self._directory.path / each).exists())
            self._directory.write_durably(free, printed)

    def _note(self, kind: str, text: str) -> None:
        self._ledger.add_event(Event(self._now(), kind, text))


def check_services(experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
    """Raise PlanError if a program or a working directory of a service is missing on this machine."""
    for service in experiment.services:
        commands = {
            "start": service.start,
            "stop": service.stop,
            "ready": service.ready.command,
            "version": service.version,
        }
        for values in factors:
            filled = nowhere() | dict(values)
            directory = experiment.folder / fill(service.directory, filled)
            for key, words in commands.items():
                if words is not None:
                    program = fill(words[0], filled)
                    check_program(
                        f"service.{service.name}.{key}", program, directory, dict(service.environment), filled
                    )


def without_services(outcome: TrialOutcome, said: Sequence[str]) -> TrialOutcome:
    """Return the outcome of a trial during which services ended, of which something is `said`: it is invalid."""
    if not said or outcome.status == "abandoned":
        return outcome
    reason = f"not all services lasted through the trial: {'; '.join(said)}"
    return replace(outcome, status="invalid", cause="service", reason=reason, samples={}, record=None)


def with_use(outcome: TrialOutcome, used: Mapping[str, tuple[float, int]]) -> TrialOutcome:
    """Return the outcome of a trial with the CPU seconds and the peak of memory of services, by name."""
    if not used or outcome.status != "finished":
        return outcome
    samples = {
        ServiceSource(name, quantity).key: Samples(np.array([float(value)]))
        for name, (cpu, memory) in used.items()
        for quantity, value in _by_quantity(cpu, memory)
    }
    return replace(outcome, samples={**outcome.samples, **samples})


def _by_quantity(cpu: float, memory: int) -> tuple[tuple[ServiceQuantity, float], ...]:
    return ("cpu", cpu), ("memory", memory)


def measured_services(experiment: Experiment) -> set[str]:
    """Return the names of the services that a metric tells of."""
    return {source.service for _, source in sources_of(experiment.metrics, ServiceSource)}


Command = tuple[tuple[str, ...], str, tuple[tuple[str, str], ...]]
"""Words, the directory relative to that of the experiment, and the variables."""


def service_commands(experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> Iterable[Command]:
    """Return the distinct commands of services, with their placeholders filled in."""
    found: dict[Command, None] = {}
    for service in experiment.services:
        for values in factors:
            filled = nowhere() | dict(values)
            environment = tuple((name, fill(text, filled)) for name, text in service.environment)
            for words in filter(None, (service.start, service.stop, service.ready.command)):
                line = tuple(_filled(words, filled))
                found[line, fill(service.directory, filled), environment] = None
    return found


def service_files(experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> Iterator[NamedFile]:
    """Name the files that services run and read: those that the words of their commands name."""
    for words, directory, environment in service_commands(experiment, factors):
        yield from files_beside(words, experiment.folder / directory, dict(environment))


def _check(service: Service, values: Mapping[str, Level]) -> dict[str, Any]:
    ready = service.ready
    command = None if ready.command is None else _filled(ready.command, values)
    checks = {"command": command, "port": ready.port, "log": ready.log, "http": ready.http}
    return {"timeout": ready.timeout, **{name: value for name, value in checks.items() if value is not None}}


def _filled(words: Sequence[str], values: Mapping[str, Level]) -> list[str]:
    return [fill(word, values) for word in words]


def _last_lines(printed: bytes) -> str:
    """Return the last lines of an output, to be put behind a reason."""
    lines = [line.strip() for line in printed[-4096:].decode(errors="replace").splitlines() if line.strip()]
    text = " | ".join(lines[-_LAST_LINES:])[-_LAST_CHARACTERS:]
    return f": {text}" if text else ""
