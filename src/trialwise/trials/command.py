"""Trial kind `command`: one execution of a program."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from trialwise._core import CommandResult
from trialwise.errors import PlanError, TrialError
from trialwise.experiment.model import (
    CommandTrial,
    Experiment,
    InstrumentSource,
    Level,
    Resource,
    ResourceSource,
    TextSource,
)
from trialwise.experiment.placeholders import fill, names_in
from trialwise.measurement.interrupts import MachineCounts, read_machine_counts
from trialwise.measurement.programs import program_files
from trialwise.measurement.reported import FileMark, from_file, from_output, mark
from trialwise.measurement.samples import Samples
from trialwise.measurement.sources import read_source
from trialwise.trials.base import MARKER, TrialOutcome, TrialRequest
from trialwise.trials.instrumenting import check_instruments, recorded, remarks
from trialwise.trials.starting import ending, start

SIDE_COMMAND_SECONDS = 600.0
"""How long prepare and conclude may take."""
_MOVED = "where the experiment's folder has moved, name its file: trialwise run FOLDER/experiment.toml --dir DIRECTORY"
_RESOURCES: Mapping[Resource, Callable[[CommandResult], float]] = {
    "wall": lambda run: run.wall_ns / 1e9,
    "user": lambda run: run.user_ns / 1e9,
    "system": lambda run: run.system_ns / 1e9,
    "max_rss": lambda run: float(run.max_rss_bytes),
}


class CommandKind:
    """Starts the program, measures it, and reads what it reports."""

    def __init__(self) -> None:
        self._environment = dict(os.environ)

    def check(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
        """Raise PlanError where a program, the working directory, or what is to be recorded is not there."""
        check_instruments(experiment)
        trial = _trial_of(experiment)
        looked_at: set[tuple[str, str, Path]] = set()
        for values in factors:
            filled = _nowhere() | dict(values)
            directory = experiment.folder / fill(trial.directory, filled)
            if "directory" not in names_in(trial.directory) and not directory.is_dir():
                raise PlanError(f"trial.directory: {directory} is not a directory", hint=_MOVED)
            for key, command in _commands(trial):
                look = key, fill(command[0], filled), directory
                if look not in looked_at and "directory" not in names_in(command[0]):
                    looked_at.add(look)
                    _check_program(*look, dict(trial.environment), filled)

    def programs(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> Iterator[Path]:
        """Name the program's files: what the command starts, and the script that it hands to an interpreter."""
        trial = _trial_of(experiment)
        seen: set[Path] = set()
        for values in factors:
            filled = _nowhere() | dict(values)
            words = [fill(word, filled) for word in trial.command]
            environment = {name: fill(text, filled) for name, text in trial.environment}
            directory = experiment.folder / fill(trial.directory, filled)
            for path in program_files(words, directory, environment):
                if path not in seen:
                    seen.add(path)
                    yield path

    def attachments(
        self,
        experiment: Experiment,  # noqa: ARG002 the protocol's
        factors: Sequence[Mapping[str, Level]],  # noqa: ARG002 the protocol's
    ) -> Iterator[tuple[str, Path]]:
        """None: the experiment file says it all."""
        yield from ()

    def execute(self, request: TrialRequest) -> TrialOutcome:
        """Run prepare, the program, and conclude; read every source that a metric names."""
        trial = _trial_of(request.experiment)
        fresh = _fresh_directory(trial, request)
        try:
            values = request.places | {"directory": str(fresh or request.experiment.folder)}
            return _Execution(trial, request, values, self._environment).run()
        except TrialError as error:
            return TrialOutcome("failed", None, time.time(), reason=error.message)
        finally:
            if fresh is not None:
                shutil.rmtree(fresh, ignore_errors=True)


class _Execution:
    """One trial, from its filled texts to its outcome."""

    def __init__(
        self,
        trial: CommandTrial,
        request: TrialRequest,
        values: Mapping[str, Level],
        around: Mapping[str, str],
    ) -> None:
        self.trial = trial
        self.request = request
        self.values = values
        self.directory = request.experiment.folder / fill(trial.directory, values)
        own = {name: fill(text, values) for name, text in trial.environment}
        self.environment = {**around, **own, MARKER: request.marker, "TRIALWISE_SEED": str(request.seed)}

    def run(self) -> TrialOutcome:
        if self.trial.prepare is not None and (problem := self._beside("prepare", self.trial.prepare)):
            return TrialOutcome(problem[0], None, time.time(), reason=problem[1])
        # Filled before the clock is read: nothing but the program is to stand between start and end.
        words = [fill(word, self.values) for word in self.trial.command]
        marks = self._marks()
        run, around = self._measured(words)
        outcome = self._judge(run, marks, around)
        if self.trial.conclude is not None and not run.cancelled:
            return self._concluded(outcome, self.trial.conclude)
        return outcome

    def _concluded(self, outcome: TrialOutcome, command: Sequence[str]) -> TrialOutcome:
        problem = self._beside("conclude", command)
        if problem is None:
            return outcome
        reason = problem[1] if outcome.reason is None else f"{outcome.reason}; {problem[1]}"
        return dataclasses.replace(outcome, status=problem[0], reason=reason, samples={})

    def _measured(self, words: list[str]) -> tuple[CommandResult, tuple[MachineCounts, MachineCounts] | None]:
        """Run the program; with what the machine counted before and after, where that is to be recorded."""
        wanted = self.request.experiment.instrumentation
        before = read_machine_counts() if wanted.interrupts else None
        run = start(
            words,
            environment=self.environment,
            directory=self.directory,
            timeout=self.trial.timeout,
            cancel=self.request.cancel,
            limit=self.trial.output_limit,
            counters=wanted.perf,
            cpus=wanted.cpus,
            isolate=self.trial.isolate,
        )
        return run, None if before is None else (before, read_machine_counts())

    def _start(self, words: list[str], *, timeout: float | None) -> CommandResult:
        return start(
            words,
            environment=self.environment,
            directory=self.directory,
            timeout=timeout,
            cancel=self.request.cancel,
        )

    def _beside(self, what: str, command: Sequence[str]) -> tuple[Literal["failed", "abandoned"], str] | None:
        """Run a command beside the measured one; return the trial's status and reason where it went wrong."""
        try:
            run = self._start([fill(word, self.values) for word in command], timeout=SIDE_COMMAND_SECONDS)
        except TrialError as error:
            return "failed", f"{what}: {error.message}"
        if run.cancelled:
            return "abandoned", f"abandoned on request during {what}"
        if run.timed_out:
            return "failed", f"{what} took longer than {SIDE_COMMAND_SECONDS:g} s and was ended"
        return None if run.exit_code == 0 else ("failed", f"{what} {ending(run)}")

    def _marks(self) -> dict[Path, FileMark | None]:
        """The state of the files that the program is to write, so that what an earlier trial wrote is known."""
        sources = (metric.source for metric in self.request.experiment.metrics)
        paths = {
            self._path(source.path)
            for source in sources
            if isinstance(source, TextSource) and source.path is not None
        }
        return {path: mark(path) for path in paths}

    def _path(self, path: str) -> Path:
        return self.directory / fill(path, self.values)

    def _judge(
        self,
        run: CommandResult,
        marks: Mapping[Path, FileMark | None],
        around: tuple[MachineCounts, MachineCounts] | None,
    ) -> TrialOutcome:
        started = run.started_realtime_ns / 1e9
        problem = self._problem(run)
        samples: dict[str, Samples] = {}
        if problem is None:
            try:
                samples = recorded(self.request.experiment.instrumentation, run, *(around or (None, None)))
                samples |= self._read(run, marks, samples)
            except TrialError as error:
                problem = error.message
        return TrialOutcome(
            status="abandoned" if run.cancelled else "finished" if problem is None else "failed",
            started=started,
            finished=started + run.wall_ns / 1e9,
            exit_code=run.exit_code,
            reason=problem,
            samples=samples if problem is None else {},
            remarks=tuple(remarks(run)),
            output=run.stdout,
            errors=run.stderr,
        )

    def _problem(self, run: CommandResult) -> str | None:
        if run.cancelled:
            return "abandoned on request"
        if run.timed_out:
            return f"took longer than the timeout of {self.trial.timeout:g} s and was ended"
        if run.signal is not None or run.exit_code not in self.trial.exit_codes:
            return ending(run)
        if run.stdout_total > self.trial.output_limit:
            return (
                f"printed {run.stdout_total} bytes, more than trial.output_limit = {self.trial.output_limit}"
            )
        if run.leftover_processes and self.trial.leftovers == "fail":
            return f"left {run.leftover_processes} process(es) running, which were ended; wait for them in the command"
        return None

    def _read(
        self,
        run: CommandResult,
        marks: Mapping[Path, FileMark | None],
        instruments: Mapping[str, Samples],
    ) -> dict[str, Samples]:
        samples: dict[str, Samples] = {}
        for metric in self.request.experiment.metrics:
            source = metric.source
            if source.key in samples:
                continue
            try:
                if isinstance(source, ResourceSource):
                    samples[source.key] = Samples(np.array([_RESOURCES[source.resource](run)]))
                elif isinstance(source, InstrumentSource):
                    samples[source.key] = _counted(source, instruments)
                elif isinstance(source, TextSource):
                    samples[source.key] = self._text(source, run, marks)
            except TrialError as error:
                raise TrialError(f"metric {metric.name}: {error.message}", hint=error.hint) from error
        return samples

    def _text(self, source: TextSource, run: CommandResult, marks: Mapping[Path, FileMark | None]) -> Samples:
        if source.path is None:
            return read_source(source, from_output(run.stdout, total=run.stdout_total))
        path = self._path(source.path)
        return read_source(source, from_file(path, unlike=marks[path]))


def _counted(source: InstrumentSource, instruments: Mapping[str, Samples]) -> Samples:
    if source.key not in instruments:
        raise TrialError(f"{source.name} was not counted")
    return instruments[source.key]


def _trial_of(experiment: Experiment) -> CommandTrial:
    if not isinstance(experiment.trial, CommandTrial):
        raise TypeError(experiment.trial)
    return experiment.trial


def _fresh_directory(trial: CommandTrial, request: TrialRequest) -> Path | None:
    """A directory of the trial's own, made only where a text asks for {directory}."""
    texts = [word for _, command in _commands(trial) for word in command]
    texts += [trial.directory, *dict(trial.environment).values()]
    texts += [
        metric.source.path or ""
        for metric in request.experiment.metrics
        if isinstance(metric.source, TextSource)
    ]
    if not any("directory" in names_in(text) for text in texts):
        return None
    request.scratch.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{request.number}-{request.attempt}-", dir=request.scratch))


def _commands(trial: CommandTrial) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The commands of a trial under the keys that they have in the file."""
    yield "command", trial.command
    if trial.prepare is not None:
        yield "prepare", trial.prepare
    if trial.conclude is not None:
        yield "conclude", trial.conclude


def _nowhere() -> dict[str, Level]:
    """Stand-ins for the built-in placeholders, while no trial runs."""
    return {**dict.fromkeys(("seed", "series", "round", "position", "trial"), 0), "directory": "."}


def _check_program(
    key: str, program: str, directory: Path, environment: Mapping[str, str], values: Mapping[str, Level]
) -> None:
    path = fill(environment.get("PATH", os.environ.get("PATH", os.defpath)), values)
    found = (
        (directory / program).is_file() if "/" in program else shutil.which(program, path=path) is not None
    )
    if not found:
        where = f"in {directory}" if "/" in program else "in PATH"
        raise PlanError(f"trial.{key}: no program {program!r} {where}", hint="install it, or write its path")
    if "/" in program and not os.access(directory / program, os.X_OK):
        raise PlanError(f"trial.{key}: {directory / program} is not executable", hint=f"chmod +x {program}")
