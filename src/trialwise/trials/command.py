"""Trial kind `command`: one execution of a program."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from trialwise._core import CommandResult
from trialwise.errors import PlanError, TrialError
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.placeholders import fill, names_in
from trialwise.experiment.sources import TextSource
from trialwise.experiment.trials import CommandTrial
from trialwise.measurement.counting import paranoid_level
from trialwise.measurement.interrupts import MachineCounts, read_machine_counts
from trialwise.measurement.programs import program_files
from trialwise.measurement.reported import FileMark, from_file, from_output, mark
from trialwise.measurement.samples import Samples
from trialwise.measurement.sources import read_source
from trialwise.trials.base import MARKER, TrialOutcome, TrialRequest
from trialwise.trials.collecting import check_measurement, collecting
from trialwise.trials.instrumenting import check_instruments, recorded, remarks
from trialwise.trials.judging import SIDE_COMMAND_SECONDS, Problem, concluded, judge, problem_beside
from trialwise.trials.starting import start

_MOVED = "where the experiment's folder has moved, name its file: trialwise run FOLDER/experiment.toml --dir DIRECTORY"


class CommandKind:
    """Starts the program, measures it, and reads what it reports."""

    def __init__(self) -> None:
        self._environment = dict(os.environ)

    def check(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
        """Raise PlanError where a program, the working directory, or what is to be recorded is not there."""
        check_instruments(experiment)
        check_measurement(experiment)
        trial = trial_of(experiment)
        looked_at: set[tuple[str, str, Path]] = set()
        for values in factors:
            filled = nowhere() | dict(values)
            directory = experiment.folder / fill(trial.directory, filled)
            if "directory" not in names_in(trial.directory) and not directory.is_dir():
                raise PlanError(f"trial.directory: {directory} is not a directory", hint=_MOVED)
            for key, command in commands(trial):
                look = key, fill(command[0], filled), directory
                if look not in looked_at and "directory" not in names_in(command[0]):
                    looked_at.add(look)
                    _check_program(*look, dict(trial.environment), filled)

    def programs(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> Iterator[Path]:
        """Name the program's files: what the command starts, and the script that it hands to an interpreter."""
        trial = trial_of(experiment)
        seen: set[Path] = set()
        if experiment.measurement is not None and experiment.measurement.config is not None:
            yield experiment.folder / experiment.measurement.config
        for values in factors:
            filled = nowhere() | dict(values)
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
        trial = trial_of(request.experiment)
        fresh = _fresh_directory(trial, request)
        try:
            values = request.places | {"directory": str(fresh or request.experiment.folder)}
            with collecting(request, values) as collector:
                around = self._environment | ({} if collector is None else collector.environment)
                outcome = _Execution(trial, request, values, around).run()
                return outcome if collector is None else collector.added(outcome)
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
        outcome = judge(
            self.trial,
            self.request.experiment,
            run,
            lambda source: self._text(source, run, marks),
            recorded(self.request.experiment.instrumentation, run, *(around or (None, None))),
            tuple(remarks(run, paranoid_level())) if run.counted else (),
        )
        if self.trial.conclude is not None and not run.cancelled:
            return concluded(outcome, self._beside("conclude", self.trial.conclude))
        return outcome

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
            inside=self.request.inside,
        )
        return run, None if before is None else (before, read_machine_counts())

    def _start(self, words: list[str], *, timeout: float | None) -> CommandResult:
        return start(
            words,
            environment=self.environment,
            directory=self.directory,
            timeout=timeout,
            cancel=self.request.cancel,
            inside=self.request.inside,
        )

    def _beside(self, what: str, command: Sequence[str]) -> Problem | None:
        """Run a command beside the measured one; return the trial's status and reason where it went wrong."""
        try:
            run = self._start([fill(word, self.values) for word in command], timeout=SIDE_COMMAND_SECONDS)
        except TrialError as error:
            return "failed", f"{what}: {error.message}"
        return problem_beside(what, run)

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

    def _text(self, source: TextSource, run: CommandResult, marks: Mapping[Path, FileMark | None]) -> Samples:
        if source.path is None:
            return read_source(source, from_output(run.stdout, total=run.stdout_total))
        path = self._path(source.path)
        return read_source(source, from_file(path, unlike=marks[path]))


def trial_of(experiment: Experiment) -> CommandTrial:
    """The trial of an experiment of this kind."""
    if not isinstance(experiment.trial, CommandTrial):
        raise TypeError(experiment.trial)
    return experiment.trial


def asks_for_directory(trial: CommandTrial, experiment: Experiment) -> bool:
    """Whether a text of the trial asks for a {directory} of its own."""
    texts = [word for _, command in commands(trial) for word in command]
    texts += [trial.directory, *dict(trial.environment).values()]
    texts += [
        metric.source.path or "" for metric in experiment.metrics if isinstance(metric.source, TextSource)
    ]
    return any("directory" in names_in(text) for text in texts)


def _fresh_directory(trial: CommandTrial, request: TrialRequest) -> Path | None:
    """A directory of the trial's own, made only where a text asks for {directory}."""
    if not asks_for_directory(trial, request.experiment):
        return None
    request.scratch.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{request.number}-{request.attempt}-", dir=request.scratch))


def commands(trial: CommandTrial) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The commands of a trial under the keys that they have in the file."""
    yield "command", trial.command
    if trial.prepare is not None:
        yield "prepare", trial.prepare
    if trial.conclude is not None:
        yield "conclude", trial.conclude


def nowhere() -> dict[str, Level]:
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
