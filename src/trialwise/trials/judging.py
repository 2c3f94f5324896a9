"""Turn the result of a command into a trial's outcome, whether it ran here or on a worker."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from trialwise.errors import TrialError
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.placeholders import fill
from trialwise.experiment.results import Results, declared
from trialwise.experiment.sources import InstrumentSource, Resource, ResourceSource, TextSource
from trialwise.experiment.traits import sources_of
from trialwise.experiment.trials import CommandTrial
from trialwise.measurement.followed import Seen
from trialwise.measurement.reported import Reported
from trialwise.measurement.samples import Samples
from trialwise.measurement.sources import read_source
from trialwise.trials.base import TrialOutcome
from trialwise.trials.container_cgroups import TOLD, Used
from trialwise.trials.containers import starts_container
from trialwise.trials.instrumenting import Counted
from trialwise.trials.starting import Ended, ending

if TYPE_CHECKING:
    from trialwise.measurement.results import Printed

SIDE_COMMAND_SECONDS = 600.0
"""Maximum duration of prepare and conclude, in seconds."""

Problem = tuple[Literal["failed", "abandoned"], str]
"""The status that a trial gets, and why."""


class Run(Ended, Counted, Protocol):
    """Measurements of a program's run."""

    @property
    def started_realtime_ns(self) -> int:
        """Its start, nanoseconds since 1970."""
        ...

    @property
    def wall_ns(self) -> int:
        """Its duration, nanoseconds."""
        ...

    @property
    def timed_out(self) -> bool:
        """Whether it was ended by the timeout."""
        ...

    @property
    def cancelled(self) -> bool:
        """Whether it was abandoned on request."""
        ...

    @property
    def leftover_processes(self) -> int:
        """Number of processes that it left running."""
        ...

    @property
    def stdout(self) -> bytes:
        """Its standard output, as far as kept."""
        ...

    @property
    def stdout_total(self) -> int:
        """Number of bytes it printed."""
        ...


class Side(Ended, Protocol):
    """How a command beside the measured one went."""

    @property
    def timed_out(self) -> bool:
        """Whether it was ended by the timeout."""
        ...

    @property
    def cancelled(self) -> bool:
        """Whether it was abandoned on request."""
        ...


_RESOURCES: Mapping[Resource, Callable[[Run], float]] = {
    "wall": lambda run: run.wall_ns / 1e9,
    "user": lambda run: run.user_ns / 1e9,
    "system": lambda run: run.system_ns / 1e9,
    "max_rss": lambda run: float(run.max_rss_bytes),
}


def judge(
    trial: CommandTrial,
    experiment: Experiment,
    run: Run,
    text: Callable[[TextSource], Reported],
    instruments: Mapping[str, Samples],
    remarks: tuple[str, ...],
    inside: Used | None = None,
) -> TrialOutcome:
    """Return the outcome of a trial whose program has ended.

    `text` returns what it wrote, or raises TrialError; `instruments` is what was recorded beside it, by source key; `inside` is
    what ran in the container whose client the program is.
    """
    started = run.started_realtime_ns / 1e9
    problem = _problem(trial, run)
    samples: dict[str, Samples] = {}
    if problem is None:
        try:
            resource = _resource_of(run, inside)
            samples = {**instruments, **_read(experiment, resource, text, instruments)}
            if experiment.results is not None:
                printed = _printed(experiment, experiment.results, text)
                samples |= printed.samples
                remarks = (*remarks, *printed.remarks)
            remarks = (*remarks, *_told_of(experiment, inside))
        except TrialError as error:
            problem, samples = error.message, {}
    elif experiment.results is not None and not run.cancelled:
        problem += _said_before(experiment.results, text)
    return TrialOutcome(
        status="abandoned" if run.cancelled else "finished" if problem is None else "failed",
        started=started,
        finished=started + run.wall_ns / 1e9,
        exit_code=run.exit_code,
        reason=problem,
        cause="timeout" if run.timed_out and not run.cancelled else None,
        samples=samples,
        remarks=remarks,
        output=run.stdout,
        errors=run.stderr,
    )


def _printed(experiment: Experiment, results: Results, text: Callable[[TextSource], Reported]) -> Printed:
    """Read what a harness printed, in which metrics are to be found."""
    from trialwise.measurement.results import read_results  # imports Polars, which takes long

    return read_results(results, text(results.text), {metric.name for metric in declared(experiment)})


def _said_before(results: Results, text: Callable[[TextSource], Reported]) -> str:
    """Say what a harness that failed had printed until then."""
    from trialwise.measurement.results import what_was_read

    try:
        said = what_was_read(results, text(results.text))
    except TrialError:
        return ""
    return f"; until then the harness had printed {said}" if said else ""


def concluded(outcome: TrialOutcome, problem: Problem | None) -> TrialOutcome:
    """Return the outcome after the concluding command, which may have had a problem."""
    if problem is None:
        return outcome
    reason = problem[1] if outcome.reason is None else f"{outcome.reason}; {problem[1]}"
    return dataclasses.replace(outcome, status=problem[0], reason=reason, samples={})


def is_in_container(trial: CommandTrial, values: Mapping[str, Level]) -> bool:
    """Return True if the program of a trial is the client of a container, where it says nothing of what runs inside."""
    return starts_container([fill(word, values) for word in trial.command])


def rule_for(trial: CommandTrial, values: Mapping[str, Level]) -> CommandTrial:
    """Return the trial by whose rules a run is judged: what the client of a container leaves is of the client, and is only ended."""
    return dataclasses.replace(trial, leftovers="end") if is_in_container(trial, values) else trial


def outlived(outcome: TrialOutcome, problem: str | None) -> TrialOutcome:
    """Return the outcome after the container of the trial was ended, which may have had a problem: then a finished one has failed."""
    if problem is None or outcome.status != "finished":
        return outcome
    return concluded(outcome, ("failed", problem))


def with_seen(outcome: TrialOutcome, seen: Seen) -> TrialOutcome:
    """Add the files that the trial ran and read; a trial that cannot be followed is to run again without."""
    outcome = dataclasses.replace(outcome, seen=seen)
    if outcome.status == "failed" and seen.spoiled is not None:
        reason = f"{seen.spoiled}, which following it prevents: it runs again without"
        return dataclasses.replace(outcome, status="abandoned", reason=reason, samples={})
    return outcome


def problem_beside(what: str, run: Side) -> Problem | None:
    """Return what went wrong with a command beside the measured one."""
    if run.cancelled:
        return "abandoned", f"abandoned on request during {what}"
    if run.timed_out:
        return "failed", f"{what} took longer than {SIDE_COMMAND_SECONDS:g} s and was ended"
    return None if run.exit_code == 0 else ("failed", f"{what} {ending(run)}")


def _problem(trial: CommandTrial, run: Run) -> str | None:
    if run.cancelled:
        return "abandoned on request"
    if run.timed_out:
        return f"took longer than the timeout of {trial.timeout:g} s and was ended"
    if run.signal is not None or run.exit_code not in trial.exit_codes:
        return ending(run)
    if run.stdout_total > trial.output_limit:
        return f"printed {run.stdout_total} bytes, more than trial.output_limit = {trial.output_limit}"
    if run.leftover_processes and trial.leftovers == "fail":
        return f"left {run.leftover_processes} process(es) running, which were ended; wait for them in the command"
    return None


def _resource_of(run: Run, inside: Used | None) -> Callable[[Resource], float]:
    """Return what tells a resource of a run: by the process, or by the cgroup of the container whose client it is."""

    def found(resource: Resource) -> float:
        if inside is None or resource == "wall":
            return _RESOURCES[resource](run)
        value = getattr(inside, resource)
        if inside.problem is not None or value is None:
            why = inside.problem or "the kernel keeps no peak of memory of its cgroup"
            raise TrialError(f"{resource} of the container is not known: {why}")
        return float(value)

    return found


def _told_of(experiment: Experiment, inside: Used | None) -> Iterator[str]:
    """Remark of a container, if a metric asks for it, that its cgroup is measured."""
    asked = {source.resource for _, source in sources_of(experiment.metrics, ResourceSource)}
    if inside is not None and asked - {"wall"}:
        yield TOLD


def _read(
    experiment: Experiment,
    resource: Callable[[Resource], float],
    text: Callable[[TextSource], Reported],
    instruments: Mapping[str, Samples],
) -> dict[str, Samples]:
    samples: dict[str, Samples] = {}
    for metric in experiment.metrics:
        source = metric.source
        if source.key in samples:
            continue
        try:
            if isinstance(source, ResourceSource):
                samples[source.key] = Samples(np.array([resource(source.resource)]))
            elif isinstance(source, InstrumentSource):
                samples[source.key] = _counted(source, instruments)
            elif isinstance(source, TextSource):
                samples[source.key] = read_source(source, text(source))
        except TrialError as error:
            raise TrialError(f"metric {metric.name}: {error.message}", hint=error.hint) from error
    return samples


def _counted(source: InstrumentSource, instruments: Mapping[str, Samples]) -> Samples:
    if source.key not in instruments:
        raise TrialError(f"{source.name} was not counted")
    return instruments[source.key]
