"""Programs that others start for a client (podman, docker, systemd-run): refuse what cannot be measured, end what was left."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from trialwise.errors import PlanError
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.placeholders import fill
from trialwise.experiment.sources import ServiceSource
from trialwise.experiment.traits import Trial, sources_of
from trialwise.trials.command import nowhere
from trialwise.trials.container_cgroups import remove_left, why_unmeasured
from trialwise.trials.containers import client_of, end_containers_of, engine_of, starts_container

_MEASURED = ("user", "system", "max_rss")
_OF_THE_CLIENT = "is of the client {program}, and not of its container"
_INSIDE = "have the program in the container report it, or read the container's cgroup (cpu.stat, memory.peak) at its end"


def check_clients(
    experiment: Experiment, factors: Sequence[Mapping[str, Level]], *, runs_here: bool = True
) -> None:
    """Check what is requested of commands that start programs by a client; `factors` holds one mapping for each treatment.

    Raises
    ------
    PlanError
        A counter, CPUs or namespaces of a client are requested as if they were those of its container, what a container uses
        cannot be measured by the engine here, or a command has systemd start the program as its own child.
    """
    values = _filled(factors)
    for key, words in _commands(experiment, values):
        if os.path.basename(words[0]) == "systemd-run" and "--scope" not in words:  # noqa: PTH119 a word
            raise PlanError(
                f"{key}: systemd-run without --scope has systemd start the program, where it is neither measured nor ended",
                hint="systemd-run --scope …: the program stays below Trialwise, in a cgroup of its own",
            )
    _check_trial(experiment, values)
    _check_resources(experiment, values, runs_here=runs_here)
    for metric, source in sources_of(experiment.metrics, ServiceSource):
        service = next(each for each in experiment.services if each.name == source.service)
        if (program := _client(service.start, values)) is not None:
            told = _OF_THE_CLIENT.format(program=program)
            raise PlanError(f"metrics.{metric.name}: {source.service}.{source.quantity} {told}", hint=_INSIDE)


def end_left_containers(experiment: Experiment, factors: Sequence[Mapping[str, Level]], marker: str) -> None:
    """End the containers that a killed runner left of the experiment whose processes have this marker, on this machine."""
    lines = [words for _, words in _commands(experiment, _filled(factors)) if starts_container(words)]
    for client in dict.fromkeys(tuple(client_of(words) or ()) for words in lines):
        end_containers_of(client, marker, os.environ, os.fspath(experiment.folder))
    if lines:
        remove_left(marker)


def _filled(factors: Sequence[Mapping[str, Level]]) -> list[dict[str, Level]]:
    return [nowhere() | dict(values) for values in factors]


def _check_trial(experiment: Experiment, values: Sequence[Mapping[str, Level]]) -> None:
    trial = experiment.trial
    program = _client(_command_of(trial), values)
    if program is None:
        return
    told = _OF_THE_CLIENT.format(program=program)
    if experiment.instrumentation.perf:
        raise PlanError(f"instrumentation.perf: what is counted {told}", hint="count inside of the container")
    if experiment.instrumentation.resources:
        raise PlanError(f"instrumentation.resources: what is recorded {told}", hint=_INSIDE)
    if experiment.instrumentation.cpus:
        hint = f"{program} run --cpuset-cpus=… pins the container"
        raise PlanError("instrumentation.cpus: pins the client, and not its container", hint=hint)
    if getattr(trial, "isolate", ()):
        hint = f"{program} run --network=none gives the container a network of its own"
        raise PlanError("trial.isolate: isolates the client, and not its container", hint=hint)


def _check_resources(
    experiment: Experiment, values: Sequence[Mapping[str, Level]], *, runs_here: bool
) -> None:
    """Check that metrics of CPU time and memory can be had of all containers, and mean the same in all treatments."""
    asked = [each for each in experiment.metrics if getattr(each.source, "resource", "") in _MEASURED]
    lines = [[fill(word, each) for word in _command_of(experiment.trial)] for each in values]
    of_clients = [line for line in lines if line and engine_of(line[0])]
    started = [line for line in of_clients if starts_container(line)]
    for metric in asked if of_clients else ():
        resource = getattr(metric.source, "resource", "")
        if len(started) < len(of_clients):
            told = _OF_THE_CLIENT.format(program=engine_of(of_clients[0][0]))
            raise PlanError(f'metrics.{metric.name}: resource = "{resource}" {told}', hint=_INSIDE)
        if resource == "max_rss" and len(started) < len(lines):
            raise PlanError(
                f'metrics.{metric.name}: resource = "max_rss" is the peak of the largest process for some treatments, and of the '
                f"whole cgroup of {started[0][0]}'s container for others",
                hint="have the programs report it, or run all treatments in containers",
            )
        for line in started if runs_here else ():
            if why := why_unmeasured(line, os.environ, os.fspath(experiment.folder)):
                told = f'resource = "{resource}" of a container of {line[0]} is not known'
                raise PlanError(f"metrics.{metric.name}: {told}: {why}", hint=_INSIDE)


def _command_of(trial: Trial) -> tuple[str, ...]:
    """Return the command of a trial; empty if it has none."""
    return getattr(trial, "command", ())


def _client(words: Sequence[str], values: Sequence[Mapping[str, Level]]) -> str | None:
    """Return the client that a command line begins with, for any of the treatments; None if it is none."""
    for each in values if words else ():
        if (program := engine_of(fill(words[0], each))) is not None:
            return program
    return None


def _commands(
    experiment: Experiment, values: Sequence[Mapping[str, Level]]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the commands whose programs are measured or supervised, with their keys and filled in for each treatment."""
    trial = experiment.trial
    found = {f"service.{service.name}.start": service.start for service in experiment.services}
    if command := _command_of(trial):
        found["trial.command"] = command
    for key, words in found.items():
        yield from ((key, [fill(word, each) for word in words]) for each in values)
