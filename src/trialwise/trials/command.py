"""Trial kind `command`: one execution of a program."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from trialwise._core import CommandResult, run_command
from trialwise.errors import PlanError, TrialError
from trialwise.experiment.model import CommandTrial, Experiment, Level, Resource, ResourceSource, TextSource
from trialwise.experiment.placeholders import fill, names_in
from trialwise.measurement.programs import program_files
from trialwise.measurement.reported import from_file, from_output
from trialwise.measurement.samples import Samples
from trialwise.measurement.sources import read_source
from trialwise.trials.base import MARKER, TrialOutcome, TrialRequest

ERROR_LIMIT = 1024 * 1024
"""Bytes of standard error kept for the log of a failed trial."""
GRACE_SECONDS = 2.0
SIDE_COMMAND_SECONDS = 600.0
"""How long prepare and conclude may take."""
_RESOURCES: Mapping[Resource, Callable[[CommandResult], float]] = {
    "wall": lambda run: run.wall_ns / 1e9,
    "user": lambda run: run.user_ns / 1e9,
    "system": lambda run: run.system_ns / 1e9,
    "max_rss": lambda run: float(run.max_rss_bytes),
}


class CommandKind:
    """Starts the program, measures it, and reads what it reports."""

    def check(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
        """Raise PlanError where a program, or the working directory, is not there."""
        trial = _trial_of(experiment)
        for values in factors:
            filled = {
                **dict.fromkeys(("seed", "series", "round", "position", "trial"), 0),
                "directory": ".",
                **values,
            }
            directory = experiment.folder / fill(trial.directory, filled)
            if "{directory}" not in trial.directory and not directory.is_dir():
                raise PlanError(f"trial.directory: {directory} is not a directory")
            for key, command in (
                ("command", trial.command),
                ("prepare", trial.prepare),
                ("conclude", trial.conclude),
            ):
                if command is not None:
                    _check_program(
                        f"trial.{key}", fill(command[0], filled), directory, dict(trial.environment)
                    )

    def programs(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> Iterator[Path]:
        """Name the program's files: what the command starts, and the script that it hands to an interpreter."""
        trial = _trial_of(experiment)
        seen: set[Path] = set()
        for values in factors:
            filled = {
                **dict.fromkeys(("seed", "series", "round", "position", "trial"), 0),
                "directory": ".",
                **values,
            }
            words = [fill(word, filled) for word in trial.command]
            for path in program_files(
                words, experiment.folder / fill(trial.directory, filled), dict(trial.environment)
            ):
                if path not in seen:
                    seen.add(path)
                    yield path

    def execute(self, request: TrialRequest) -> TrialOutcome:
        """Run prepare, the program, and conclude; read every source that a metric names."""
        trial = _trial_of(request.experiment)
        fresh = _fresh_directory(trial, request)
        try:
            values = request.places | {"directory": str(fresh or request.experiment.folder)}
            return _Execution(trial, request, values).run()
        except TrialError as error:
            return TrialOutcome("failed", None, time.time(), reason=error.message)
        finally:
            if fresh is not None:
                shutil.rmtree(fresh, ignore_errors=True)


class _Execution:
    """One trial, from its filled texts to its outcome."""

    def __init__(self, trial: CommandTrial, request: TrialRequest, values: Mapping[str, Level]) -> None:
        self.trial = trial
        self.request = request
        self.values = values
        self.directory = request.experiment.folder / fill(trial.directory, values)
        own = {name: fill(text, values) for name, text in trial.environment}
        self.environment = {**os.environ, **own, MARKER: request.marker, "TRIALWISE_SEED": str(request.seed)}

    def run(self) -> TrialOutcome:
        if self.trial.prepare is not None:
            self._beside("prepare", self.trial.prepare)
        # Filled before the clock is read: nothing but the program is to stand between start and end.
        words = [fill(word, self.values) for word in self.trial.command]
        run = self._start(words, timeout=self.trial.timeout, limit=self.trial.output_limit)
        outcome = self._judge(run)
        if self.trial.conclude is not None and not run.cancelled:
            self._beside("conclude", self.trial.conclude)
        return outcome

    def _start(self, words: list[str], *, timeout: float | None, limit: int) -> CommandResult:
        try:
            return run_command(
                words,
                environment=self.environment,
                working_directory=str(self.directory),
                timeout=timeout,
                grace=GRACE_SECONDS,
                stdout_limit=limit,
                stderr_limit=ERROR_LIMIT,
                cancel_fd=self.request.cancel,
            )
        except OSError as error:
            raise TrialError(f"{words[0]!r} cannot be started: {error.strerror}") from error
        except ValueError as error:
            raise TrialError(f"{words[0]!r} cannot be started: {error}") from error

    def _beside(self, what: str, command: Sequence[str]) -> None:
        run = self._start(
            [fill(word, self.values) for word in command], timeout=SIDE_COMMAND_SECONDS, limit=ERROR_LIMIT
        )
        if run.exit_code != 0:
            detail = run.stderr.decode(errors="replace").strip()[-300:]
            raise TrialError(f"{what} {_ending(run)}" + (f": {detail}" if detail else ""))

    def _judge(self, run: CommandResult) -> TrialOutcome:
        started = run.started_realtime_ns / 1e9
        problem = self._problem(run)
        samples: dict[str, Samples] = {}
        if problem is None:
            try:
                samples = self._read(run)
            except TrialError as error:
                problem = error.message
        return TrialOutcome(
            status="abandoned" if run.cancelled else "finished" if problem is None else "failed",
            started=started,
            finished=started + run.wall_ns / 1e9,
            exit_code=run.exit_code,
            reason=problem,
            samples=samples,
            output=run.stdout,
            errors=run.stderr,
        )

    def _problem(self, run: CommandResult) -> str | None:
        if run.cancelled:
            return "abandoned on request"
        if run.timed_out:
            return f"took longer than the timeout of {self.trial.timeout:g} s and was ended"
        if run.signal is not None or run.exit_code not in self.trial.exit_codes:
            detail = run.stderr.decode(errors="replace").strip().splitlines()
            return _ending(run) + (f": {detail[-1][:300]}" if detail else "")
        if run.stdout_total > self.trial.output_limit:
            return (
                f"printed {run.stdout_total} bytes, more than trial.output_limit = {self.trial.output_limit}"
            )
        if run.leftover_processes and self.trial.leftovers == "fail":
            return f"left {run.leftover_processes} process(es) running, which were ended; wait for them in the command"
        return None

    def _read(self, run: CommandResult) -> dict[str, Samples]:
        samples: dict[str, Samples] = {}
        for metric in self.request.experiment.metrics:
            source = metric.source
            if source.key in samples:
                continue
            try:
                if isinstance(source, ResourceSource):
                    samples[source.key] = Samples(np.array([_RESOURCES[source.resource](run)]))
                elif isinstance(source, TextSource):
                    samples[source.key] = self._text(source, run)
            except TrialError as error:
                raise TrialError(f"metric {metric.name}: {error.message}", hint=error.hint) from error
        return samples

    def _text(self, source: TextSource, run: CommandResult) -> Samples:
        if source.path is None:
            return read_source(source, from_output(run.stdout, total=run.stdout_total))
        path = self.directory / fill(source.path, self.values)
        return read_source(source, from_file(path, not_before=run.started_realtime_ns / 1e9))


def _trial_of(experiment: Experiment) -> CommandTrial:
    if not isinstance(experiment.trial, CommandTrial):
        raise TypeError(experiment.trial)
    return experiment.trial


def _fresh_directory(trial: CommandTrial, request: TrialRequest) -> Path | None:
    """A directory of the trial's own, made only where a text asks for {directory}."""
    texts = [
        *trial.command,
        *(trial.prepare or ()),
        *(trial.conclude or ()),
        trial.directory,
        *dict(trial.environment).values(),
    ]
    texts += [
        metric.source.path or ""
        for metric in request.experiment.metrics
        if isinstance(metric.source, TextSource)
    ]
    if not any("directory" in names_in(text) for text in texts):
        return None
    request.scratch.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{request.number}-{request.attempt}-", dir=request.scratch))


def _check_program(key: str, program: str, directory: Path, environment: Mapping[str, str]) -> None:
    path = environment.get("PATH", os.environ.get("PATH", os.defpath))
    found = (
        (directory / program).is_file() if "/" in program else shutil.which(program, path=path) is not None
    )
    if not found:
        where = f"in {directory}" if "/" in program else "in PATH"
        raise PlanError(f"{key}: no program {program!r} {where}", hint="install it, or write its path")
    if "/" in program and not os.access(directory / program, os.X_OK):
        raise PlanError(f"{key}: {directory / program} is not executable", hint=f"chmod +x {program}")


def _ending(run: CommandResult) -> str:
    if run.signal is not None:
        return f"was ended by signal {run.signal}"
    return f"ended with exit code {run.exit_code}"
