"""Trial kind `command` on a worker."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trialwise.errors import PlanError, TrialError, WorkerError
from trialwise.execution.reset import MAX_OF_A_TEMPLATE, reset_commands
from trialwise.execution.services.lifecycle import (
    measured_services,
    service_commands,
    with_use,
    without_services,
)
from trialwise.execution.workers.instruments import (
    check_instruments_there,
    instruments_of_task,
    remarks_there,
    unsupervised,
)
from trialwise.execution.workers.remote import Remote
from trialwise.execution.workers.services import SERVICE_QUERY, RemoteServices, service_of
from trialwise.execution.workers.tasks import RemoteRun, Report, Tasks, run_of
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.placeholders import fill, names_in
from trialwise.experiment.sources import TextSource
from trialwise.experiment.trials import CommandTrial
from trialwise.measurement.file_identity import NamedFile
from trialwise.measurement.followed import Seen
from trialwise.measurement.reported import Reported, from_file, from_output
from trialwise.trials.base import TrialOutcome, TrialRequest
from trialwise.trials.command import (
    added_to,
    asks_for_directory,
    check_kept,
    commands,
    file_sources,
    keeps,
    kept_places,
    nowhere,
    trial_of,
    with_kept,
)
from trialwise.trials.instrumenting import recorded
from trialwise.trials.judging import (
    SIDE_COMMAND_SECONDS,
    Problem,
    concluded,
    judge,
    outlived,
    problem_beside,
    rule_for,
    with_seen,
)
from trialwise.trials.marked import MARKER, not_run
from trialwise.trials.surroundings import secrets_of, with_told

MAX_LOSSES = 5
"""A trial lost this often in one session has failed: it may be what takes the worker down."""


def refuse_kinds(experiment: Experiment) -> None:
    """Raise PlanError for kinds of trials, and collection settings, that work on this machine only."""
    if experiment.measurement is not None:
        raise PlanError(
            "measurement: the collector beside a trial runs on this machine only, not on workers that ssh reaches",
            hint="have the programs write files that metrics read, or run with --workers local",
        )
    reason = experiment.trial.traits.here_only
    if not reason:
        return
    raise PlanError(
        f'workers: trials of kind "{experiment.trial.kind}" do not run on workers that ssh reaches: {reason}',
        hint='install Trialwise there and start it as a command (kind = "command"), or run with --workers local',
    )


def task_key(number: int, attempt: int) -> str:
    """Return a trial's key on a worker."""
    return f"{number}.{attempt}"


class RemoteKind:
    """Has commands executed on a worker, and judges what they report as if they had run here."""

    def __init__(self, remote: Remote, tasks: Tasks, services: RemoteServices | None = None) -> None:
        self._remote = remote
        self._services = services or RemoteServices(remote)
        self._tasks = tasks
        self._losses = Counter[int]()

    def check(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
        """Raise WorkerError if a program, the working directory, or something to be recorded is missing on the worker."""
        check_kept(trial_of(experiment), experiment)
        secrets_of(trial_of(experiment))
        check_instruments_there(self._remote, experiment)
        queries = list(self.queries(experiment, factors))
        for query, found in zip(queries, self._resolved(queries), strict=True):
            if found["problem"] is not None and "directory" not in query["names"]:
                raise self._missing(query, found["problem"])

    def programs(
        self,
        experiment: Experiment,  # noqa: ARG002 required by the protocol
        factors: Sequence[Mapping[str, Level]],  # noqa: ARG002 required by the protocol
    ) -> Iterator[NamedFile]:
        """Yield nothing: there are none on this machine."""
        yield from ()

    def attachments(
        self,
        experiment: Experiment,  # noqa: ARG002 required by the protocol
        factors: Sequence[Mapping[str, Level]],  # noqa: ARG002 required by the protocol
    ) -> Iterator[tuple[str, Path]]:
        """Yield nothing: the experiment file is complete."""
        yield from ()

    def execute(self, request: TrialRequest) -> TrialOutcome:
        """Have one trial executed.

        Raises
        ------
        WorkerError
            The worker is lost; the trial's fate is determined when it is back.
        """
        key = task_key(request.number, request.attempt)
        report = self._report(key, self._task(request), request)
        if report is None:
            raise WorkerError(f"{self._remote.address.name}: knows nothing of trial {key}")
        return self._outcome(request, report)

    def recall(self, request: TrialRequest) -> TrialOutcome | None:
        """Return the outcome of a trial begun before, waiting for its end; None if the worker does not know it."""
        key = task_key(request.number, request.attempt)
        report = self._report(key, None, request)
        return None if report is None else self._outcome(request, report)

    def queries(
        self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]
    ) -> Iterator[dict[str, Any]]:
        """Yield the programs of the trials, as queries to the agent."""
        trial = trial_of(experiment)
        seen: set[tuple[object, ...]] = set()
        for values in factors:
            filled = nowhere() | dict(values)
            environment = {name: fill(text, filled) for name, text in trial.environment}
            directory = self._directory(trial, filled)
            for key, command in commands(trial):
                words = [fill(word, filled) for word in command]
                look = (key, *words, directory, environment.get("PATH"))
                if look not in seen:
                    seen.add(look)
                    yield {
                        "key": key,
                        "words": words,
                        "directory": directory,
                        "path": environment.get("PATH"),
                        "variables": environment,
                        "names": sorted(names_in(command[0]) | names_in(trial.directory)),
                    }

    def reset_queries(
        self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]
    ) -> Iterator[dict[str, Any]]:
        """Yield the programs of a reset, and its template, as queries to the agent."""
        files = Path(self._remote.files)
        for key, words in dict.fromkeys(reset_commands(experiment, factors)):
            yield {"key": key, "words": list(words), "directory": str(files)}
        emptied = experiment.reset and experiment.reset.directory
        if emptied and (template := emptied.template):
            most = MAX_OF_A_TEMPLATE
            yield {"key": "reset.template", "words": [], "directory": str(files / template), "most": most}

    def service_queries(
        self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]
    ) -> Iterator[dict[str, Any]]:
        """Yield the programs of services, as queries to the agent."""
        for words, folder, environment in service_commands(experiment, factors):
            directory = str(Path(self._remote.files) / folder)
            path = dict(environment).get("PATH")
            yield {"key": SERVICE_QUERY, "words": list(words), "directory": directory, "path": path}

    def _resolved(self, queries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return self._remote.ask("resolve", {"queries": list(queries)}).head["found"]

    def _missing(self, query: Mapping[str, Any], problem: str) -> WorkerError:
        program, where = query["words"][0], self._remote.address.name
        if problem == "no directory":
            return WorkerError(
                f"{where}: trial.directory: {query['directory']} is not a directory there",
                hint="send it (workers.files), or make it with workers.setup",
            )
        if problem == "not executable":
            return WorkerError(
                f"{where}: trial.{query['key']}: {program} is not executable there", hint="chmod +x"
            )
        return WorkerError(
            f"{where}: trial.{query['key']}: no program {program!r} there",
            hint="install it there, send it (workers.files), or make it with workers.setup",
        )

    def _directory(self, trial: CommandTrial, values: Mapping[str, Level]) -> str:
        return str(Path(self._remote.files) / fill(trial.directory, values))

    def _task(self, request: TrialRequest) -> dict[str, Any]:
        trial = trial_of(request.experiment)
        values = self._values(request)
        own = {name: fill(text, values) for name, text in trial.environment}
        filled = {what: [fill(word, values) for word in command] for what, command in commands(trial)}
        fresh = self._fresh(request) if asks_for_directory(trial, request.experiment) else None
        return {
            **filled,
            "directory": self._directory(trial, values),
            "fresh": fresh,
            "environment": {**own, MARKER: request.marker, "TRIALWISE_SEED": str(request.seed)},
            "timeout": trial.timeout,
            "side_timeout": SIDE_COMMAND_SECONDS,
            "limit": trial.output_limit,
            "supervised": self._remote.supervised,
            **instruments_of_task(request.experiment, follow=request.follow and self._remote.supervised),
            "lasting": ["prepare"],
            "services": self._services.running,
            "measured_services": self._services.of(measured_services(request.experiment)),
            "keep": list(kept_places(trial, values, self._remote.files)),
            "keep_limit": trial.keep_limit,
            "passed": list(trial.passed or ()),
            "secrets": secrets_of(trial),
            "files": sorted({self._path(request, source) for source in file_sources(request.experiment)}),
            "folders": [
                self._path(request, source)
                for source in file_sources(request.experiment)
                if source.may_be_folder
            ],
        }

    def _values(self, request: TrialRequest) -> dict[str, Level]:
        fresh = asks_for_directory(trial_of(request.experiment), request.experiment)
        return request.places | {"directory": self._fresh(request) if fresh else self._remote.files}

    def _fresh(self, request: TrialRequest) -> str:
        return f"{self._remote.folder}/scratch/{task_key(request.number, request.attempt)}"

    def _path(self, request: TrialRequest, source: TextSource) -> str:
        values = self._values(request)
        folder = self._directory(trial_of(request.experiment), values)
        path = fill(source.path or "", values)
        return path if path.startswith("~/") else str(Path(folder) / path)

    # What came of it

    def _report(self, key: str, task: dict[str, Any] | None, request: TrialRequest) -> Report | None:
        counters = request.experiment.instrumentation.perf
        return self._tasks.execute(key, task, marker=request.marker, cancel=request.cancel, counters=counters)

    def _outcome(self, request: TrialRequest, report: Report) -> TrialOutcome:
        if report.lost is not None:
            return self._lost(request, report.lost)
        try:
            outcome = self._judged(request, report)
        except TrialError as error:
            outcome = TrialOutcome("failed", None, time.time(), reason=error.message)
        outcome = with_use(outcome, {service_of(name): use for name, use in report.used.items()})
        gone = [f"{service_of(name)} {said}" for name, said in report.gone.items()]
        outcome = without_services(outcome, gone)
        if keeps(trial_of(request.experiment), outcome):
            outcome = with_kept(outcome, report.kept, report.left_out)
        return with_told(outcome, request, set(report.masked))

    def _lost(self, request: TrialRequest, reason: str) -> TrialOutcome:
        self._losses[request.number] += 1
        if self._losses[request.number] < MAX_LOSSES:
            return TrialOutcome("abandoned", None, time.time(), reason=reason)
        text = f"was lost {MAX_LOSSES} times ({reason}); it may be what takes the worker down"
        return TrialOutcome("failed", None, time.time(), reason=text, cause="lost")

    def _judged(self, request: TrialRequest, report: Report) -> TrialOutcome:
        trial = trial_of(request.experiment)
        if (problem := _beside("prepare", report)) is not None:
            return TrialOutcome(problem[0], None, time.time(), reason=problem[1])
        words = fill(trial.command[0], self._values(request))
        try:
            run = run_of(report, "command")
        except TrialError as error:
            raise TrialError(f"{words!r} {not_run(error.message)}") from error

        def text(source: TextSource) -> Reported:
            if source.path is None:
                return from_output(run.stdout, total=run.stdout_total)
            path = self._path(request, source)
            return from_file(path, report.files[path], here=False)

        wanted = request.experiment.instrumentation
        counts = report.machine or (None, None)
        instruments = recorded(wanted, run, *counts, inside=report.inside)
        told = remarks_there(self._remote, run) if wanted.perf else ()
        added = added_to(request.experiment, lambda source: report.files[self._path(request, source)].added)
        rule = rule_for(trial, self._values(request))
        outcome = judge(rule, request.experiment, run, text, instruments, (*told, *added), report.inside)
        outcome = outlived(outcome, report.container)
        if (found := self._seen(request, run)) is not None:
            outcome = with_seen(outcome, found)
        return concluded(outcome, _beside("conclude", report))

    def _seen(self, request: TrialRequest, run: RemoteRun) -> Seen | None:
        """Return what was seen of the trial's processes, or why nothing was; None if it was not requested."""
        if request.follow and not self._remote.supervised:
            return Seen([], problem=f"{self._remote.address.name}: {unsupervised(self._remote)}")
        return run.seen


def _beside(what: str, report: Report) -> Problem | None:
    if what not in report.runs:
        return None
    run = report.runs[what]
    return ("failed", f"{what}: {not_run(run)}") if isinstance(run, str) else problem_beside(what, run)
