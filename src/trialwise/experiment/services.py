"""Sections [service.NAME]: programs that run beside the trials."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from trialwise.experiment.environment import ENVIRONMENT, Environment
from trialwise.experiment.file.sections import Limits, Section, Written, WrongValueError, key, made_of
from trialwise.experiment.file.values import Argv, Name, PositiveDuration, Text, without_doubles
from trialwise.experiment.placeholders import BUILT_IN, names_in
from trialwise.experiment.problems import Problems, nearest
from trialwise.experiment.sources import ServiceSource
from trialwise.experiment.traits import sources_of
from trialwise.experiment.trials import DIRECTORY

if TYPE_CHECKING:
    from trialwise.experiment.file.positions import Key
    from trialwise.experiment.model import Experiment

Lifetime = Literal["series", "round", "trial"]
_LIFETIMES: Sequence[Lifetime] = ("trial", "round", "series")
"""From the shortest to the longest."""
_BUILT_IN: Mapping[Lifetime, frozenset[str]] = {
    "series": frozenset({"series"}),
    "round": frozenset({"series", "round"}),
    "trial": frozenset({"series", "round", "position", "trial", "seed"}),
}
_CHECKS = ("command", "port", "log", "http")


def _pattern(text: str) -> str:
    try:
        re.compile(text.encode())
    except (re.error, OverflowError, RecursionError) as error:
        raise WrongValueError(f"not a regular expression: {error}") from error
    return text


def _url(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s/@]+(/\S*)?", text):
        raise WrongValueError("not an address", 'write it as in "http://127.0.0.1:8080/health"')
    return text


@dataclass(frozen=True, slots=True)
class Ready(Section):
    """What says that a service is ready: exactly one of command, port, log and http. `timeout` is in seconds."""

    command: Argv | None = key(
        None,
        "Command that succeeds once it is ready; tried again and again.",
        "pg_isready -h /tmp/db",
        filled=True,
    )
    port: Annotated[int, Limits(ge=1, le=65535)] | None = key(
        None, "TCP port of this machine on which a process listens once it is ready.", 11211
    )
    log: Annotated[str, Written(Text, _pattern)] | None = key(
        None,
        "Regular expression of what it prints, or writes to its log, once it is ready.",
        "ready to accept",
    )
    http: Annotated[str, Written(Text, _url)] | None = key(
        None, "Address that answers with a status below 400 once it is ready.", "http://127.0.0.1:8080/health"
    )
    timeout: PositiveDuration = key(
        30.0, "A service that is not ready after this time is ended, and so is the run.", "5s"
    )

    @property
    def text(self) -> str:
        """Describe the check in a few words."""
        if self.port is not None:
            return f"port {self.port}"
        if self.command is not None:
            return shlex.join(self.command)
        return f"log {self.log}" if self.log is not None else str(self.http)


@dataclass(frozen=True, slots=True)
class ServiceTable(Section):
    """A program that runs beside the trials, such as a server that they ask.

    It is supervised as trials are, and what it starts is ended with it. `lifetime` is that of each of its processes, `restarts` the
    number of trials in a row during which it may die.
    """

    start: Argv = key(
        ...,
        "Command line that runs the service in the foreground, split as a shell would.",
        "memcached -p 11211 -U 0",
        missing='write the command line, as in start = "memcached -p 11211"',
        stand_in=["true"],
        filled=True,
    )
    ready: Ready = key(
        ...,
        "What says that it is ready; trials begin after that.",
        {"port": 11211},
        missing="write one of command, port, log and http, as in ready = { port = 11211 }",
        stand_in={"port": 1},
    )
    stop: Argv | None = key(
        None,
        "Command that ends it; by default it is ended as trials are, by SIGTERM and, 2 s later, SIGKILL.",
        "pg_ctl stop -m fast -D data",
        filled=True,
    )
    lifetime: Lifetime = key("series", "For what a fresh one is started.", "round", "trial", name="for")
    needs: Annotated[tuple[str, ...], without_doubles(Name)] = key(
        (), "Services that are started before it and ended after it.", ["database"]
    )
    log: Text | None = key(
        None,
        "File that it writes its messages to, relative to directory; what it prints is kept in any case.",
        "server.log",
        filled=True,
    )
    directory: Text = key(".", DIRECTORY)
    environment: Environment = key((), ENVIRONMENT)
    version: Argv | None = key(
        None,
        "Command that prints its version, whose first line the report gives.",
        "memcached -V",
        filled=True,
    )
    restarts: Annotated[int, Limits(ge=0, le=1000)] = key(
        2, "Trials in a row during which it may die before the run stops; each of them is invalid.", 0
    )


@dataclass(frozen=True, slots=True)
class Service(ServiceTable):
    """A service of an experiment, with its name."""

    _: KW_ONLY
    name: str

    @property
    def text(self) -> str:
        """Describe the service in one line."""
        needed = f", needs {', '.join(self.needs)}" if self.needs else ""
        return (
            f"{shlex.join(self.start)} (for each {self.lifetime}, ready by {self.ready.text} "
            f"within {self.ready.timeout:g} s{needed})"
        )

    @property
    def texts(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the texts in which placeholders are filled, with their keys."""
        commands = {
            ("start",): self.start,
            ("stop",): self.stop,
            ("ready", "command"): self.ready.command,
            ("version",): self.version,
        }
        yield from ((place, word) for place, words in commands.items() for word in words or ())
        yield from ((("log",), text) for text in (self.log or "",))
        yield ("directory",), self.directory
        yield from ((("environment", name), text) for name, text in self.environment)


def build_services(
    tables: Mapping[str, ServiceTable], factors: Sequence[str], problems: Problems
) -> tuple[Service, ...]:
    """Build the services in the order in which they start; note what is wrong with each by itself and with their order."""
    services = {name: made_of(Service, table, name=name) for name, table in tables.items()}
    for name, service in services.items():
        _check_ready(("service", name, "ready"), service.ready, problems)
        _check_placeholders(("service", name), service, factors, problems)
        _check_needs(("service", name, "needs"), service, services, problems)
    return _in_order(services, problems)


def check_services(experiment: Experiment, problems: Problems) -> None:
    """Note what does not go together with the services of an experiment."""
    services, reset = {service.name: service for service in experiment.services}, experiment.reset
    for metric, source in sources_of(experiment.metrics, ServiceSource):
        if source.service not in services:
            known = f"known: {', '.join(services)}" if services else "add [service.NAME]"
            problems.add(("metrics", metric.name, "service"), f"there is no service {source.service}", known)
    if not services:
        return
    for name, service in services.items():
        _check_variables(
            ("service", name, "environment"), service, getattr(experiment.trial, "secret", ()), problems
        )
    if reset is not None and reset.reboot:
        problems.add(("reset", "reboot"), "would end the services", "restart them with reset.service")
    if reset is not None and reset.service in services and services[reset.service].lifetime == "trial":
        problems.add(("reset", "service"), f"{reset.service} is a fresh one for every trial anyway")
    if "network" in getattr(experiment.trial, "isolate", ()):
        for name, service in services.items():
            if service.ready.port is not None or service.ready.http is not None:
                problems.add(
                    ("trial", "isolate"),
                    f"a network of their own keeps trials from the port of service {name}",
                )


def _check_variables(place: Key, service: Service, secrets: Sequence[str], problems: Problems) -> None:
    for variable in (each for each, _ in service.environment if each in secrets):
        said = f"{variable} is a secret, which services get as trials do"
        problems.add((*place, variable), said, "leave it out here: whoever reads the file reads it")


def _check_ready(place: Key, ready: Ready, problems: Problems) -> None:
    given = [name for name in _CHECKS if getattr(ready, name) is not None]
    if len(given) != 1:
        said = f"{' and '.join(given)} are {len(given)} checks" if given else "says nothing"
        problems.add(place, said, f"give one of {', '.join(_CHECKS)}")


def _check_placeholders(place: Key, service: Service, factors: Sequence[str], problems: Problems) -> None:
    """Note placeholders that differ between the trials that the service is for."""
    differs = {*factors, *BUILT_IN} - _BUILT_IN[service.lifetime]
    for part, text in service.texts:
        for name in sorted(names_in(text)):
            if name == "directory":
                problems.add((*place, *part), "{directory} is that of a trial, and no service has one")
            elif name in differs and service.lifetime != "trial":
                problems.add(
                    (*place, *part),
                    f"{{{name}}} differs between the trials of a {service.lifetime}, and one service is for all of them",
                    'write for = "trial", which starts a fresh one for every trial',
                )


def _check_needs(place: Key, service: Service, services: Mapping[str, Service], problems: Problems) -> None:
    for name in service.needs:
        if (needed := services.get(name)) is None:
            meant = nearest(name, list(services))
            problems.add(place, f"there is no service {name}", f"did you mean {meant}?" if meant else None)
        elif _LIFETIMES.index(needed.lifetime) < _LIFETIMES.index(service.lifetime):
            problems.add(
                place,
                f"{name} lives for a {needed.lifetime}, and {service.name}, which needs it, for a {service.lifetime}",
                f'write for = "{service.lifetime}" for {name}, or a shorter life for {service.name}',
            )


def _in_order(services: Mapping[str, Service], problems: Problems) -> tuple[Service, ...]:
    """Return the services so that each comes after those that it needs; note a circle."""
    ordered: dict[str, Service] = {}
    left = dict(services)
    while left:
        free = [name for name, service in left.items() if not set(service.needs) & (left.keys() - {name})]
        circle = [name for name in free if name in left[name].needs] or ([] if free else list(left))
        if circle:
            said = "needs itself" if len(circle) == 1 else f"{', '.join(circle)} need each other in a circle"
            problems.add(("service", circle[0], "needs"), said)
        for name in free or list(left):
            ordered[name] = left.pop(name)
    return tuple(ordered.values())
