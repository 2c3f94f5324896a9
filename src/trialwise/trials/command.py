"""Trial kind `command`: one execution of a program."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

from trialwise._linux import CommandResult
from trialwise.errors import PlanError, TrialError
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.placeholders import fill, names_in
from trialwise.experiment.sources import TextSource
from trialwise.experiment.traits import assumed, sources_of
from trialwise.experiment.trials import CommandTrial
from trialwise.measurement.counting import paranoid_level
from trialwise.measurement.file_identity import NamedFile
from trialwise.measurement.followed import notes_of, seen
from trialwise.measurement.interrupts import MachineCounts, read_machine_counts
from trialwise.measurement.keeping import Keeping, packed_folder
from trialwise.measurement.masking import Masks
from trialwise.measurement.outliving import Watched, Written
from trialwise.measurement.programs import files_beside, program_files
from trialwise.measurement.reported import Reported, from_file, from_output
from trialwise.trials.base import TrialOutcome, TrialRequest
from trialwise.trials.beside import Beside
from trialwise.trials.collecting import check_measurement, collecting
from trialwise.trials.container_cgroups import Cgroup, Used, cgroup_of, used_in
from trialwise.trials.containers import end_container, labelled
from trialwise.trials.instrumenting import check_instruments, recorded, remarks
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
from trialwise.trials.marked import MARKER, end_left, marker_beside, processes_beside
from trialwise.trials.removing import remove_tree
from trialwise.trials.starting import start, start_beside
from trialwise.trials.surroundings import inherited, masked_outcome, masked_run, secrets_of

_MOVED = "where the experiment's folder has moved, name its file: trialwise run FOLDER/experiment.toml --directory DIRECTORY"


class CommandKind:
    """Starts the program, measures it, and reads what it reports."""

    def __init__(self) -> None:
        self._environment = dict(os.environ)

    def check(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
        """Raise PlanError if a program, the working directory, or something to be recorded is missing."""
        check_instruments(experiment)
        check_measurement(experiment)
        trial = trial_of(experiment)
        check_kept(trial, experiment)
        secrets_of(trial, self._environment)
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
                    check_program(f"trial.{key}", *look[1:], dict(trial.environment), filled)

    def programs(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> Iterator[NamedFile]:
        """Name the programs' files: those that the commands start, and those that their words name."""
        trial = trial_of(experiment)
        seen: set[Path] = set()
        if experiment.measurement is not None and experiment.measurement.config is not None:
            yield NamedFile(experiment.folder / experiment.measurement.config, "input")
        for values in factors:
            filled = nowhere() | dict(values)
            environment = {name: fill(text, filled) for name, text in trial.environment}
            directory = experiment.folder / fill(trial.directory, filled)
            for key, command in commands(trial):
                words = [fill(word, filled) for word in command]
                named = program_files if key == "command" else files_beside
                for file in named(words, directory, environment):
                    if file.path not in seen:
                        seen.add(file.path)
                        yield file

    def attachments(
        self,
        experiment: Experiment,  # noqa: ARG002 required by the protocol
        factors: Sequence[Mapping[str, Level]],  # noqa: ARG002 required by the protocol
    ) -> Iterator[tuple[str, Path]]:
        """Yield nothing: the experiment file is complete."""
        yield from ()

    def execute(self, request: TrialRequest) -> TrialOutcome:
        """Run prepare, the program, and conclude; read every source that a metric names."""
        trial = trial_of(request.experiment)
        fresh = _fresh_directory(trial, request)
        masks = Masks(secrets_of(trial, self._environment))
        try:
            values = request.places | {"directory": str(fresh or request.experiment.folder)}
            with collecting(request, values) as collector:
                around = inherited(trial, self._environment)
                around |= {} if collector is None else collector.environment
                outcome = masked_outcome(
                    _Execution(trial, request, values, around, masks).run(), request, masks
                )
                return outcome if collector is None else collector.added(outcome)
        except TrialError as error:
            return TrialOutcome("failed", None, time.time(), reason=masks.text(error.message))
        finally:
            if fresh is not None:
                remove_tree(fresh)


class _Execution:
    """One trial, from its filled-in texts to its outcome."""

    def __init__(
        self,
        trial: CommandTrial,
        request: TrialRequest,
        values: Mapping[str, Level],
        around: Mapping[str, str],
        masks: Masks,
    ) -> None:
        self.trial = trial
        self.masks = masks
        self.request = request
        self.values = values
        self.directory = request.experiment.folder / fill(trial.directory, values)
        own = {name: fill(text, values) for name, text in trial.environment}
        self.environment = {**around, **own, MARKER: request.marker, "TRIALWISE_SEED": str(request.seed)}
        self.notes: list[bytes] = []
        self.notes_beside = b""
        self.container: str | None = None
        self.used: Used | None = None

    def run(self) -> TrialOutcome:
        """Run prepare, the program and conclude; finally, end processes that prepare left running."""
        began = time.time_ns()
        try:
            outcome = self._run()
            if not self.request.follow or not self.notes:
                return outcome
            scratch = os.fspath(self.request.scratch)
            found = seen(b"".join(self.notes), self.environment, scratch, began, self.notes_beside)
            return with_seen(outcome, found)
        finally:
            if self.trial.prepare is not None:
                end_left(marker_beside(self.request.marker))

    def _run(self) -> TrialOutcome:
        """Run all commands, and also keep what those beside the program wrote."""
        if self.trial.prepare is None and self.trial.conclude is None:
            return self._steps()
        with contextlib.closing(Keeping(self._kept_places(), self.trial.keep_limit, self.masks)) as keeping:
            outcome = self._steps()
            return self._keeping_of(outcome, keeping, outcome.kept)

    def _steps(self) -> TrialOutcome:
        if self.trial.prepare is not None and (problem := self._prepared(self.trial.prepare)):
            return TrialOutcome(problem[0], None, time.time(), reason=problem[1])
        # Fill in before the clock is read, so that only the program runs between start and end.
        words = [fill(word, self.values) for word in self.trial.command]
        with (
            _Files(
                (self._path(source) for source in file_sources(self.request.experiment)), self.masks
            ) as files,
            contextlib.closing(Keeping(self._kept_places(), self.trial.keep_limit, self.masks)) as keeping,
        ):
            run, around = self._measured(words)
            outcome = self._keeping_of(self._judged(run, around, files), keeping)
        if self.request.follow:
            self.notes_beside = notes_of(processes_beside(self.request.marker))
        if self.trial.conclude is not None and not run.cancelled:
            return concluded(outcome, self._concluded(self.trial.conclude))
        return outcome

    def _keeping_of(
        self, outcome: TrialOutcome, keeping: Keeping, program: bytes | None = None
    ) -> TrialOutcome:
        return with_kept(outcome, *keeping.packed(program)) if keeps(self.trial, outcome) else outcome

    def _judged(
        self, run: CommandResult, around: tuple[MachineCounts, MachineCounts] | None, files: _Files
    ) -> TrialOutcome:
        outcome = judge(
            rule_for(self.trial, self.values),
            self.request.experiment,
            run,
            lambda source: self._text(source, run, files),
            recorded(
                self.request.experiment.instrumentation,
                run,
                *(around or (None, None)),
                inside=self.used,
            ),
            tuple(remarks(run, paranoid_level())) if run.counted else (),
            self.used,
        )
        added = added_to(self.request.experiment, lambda source: files.were_added_to(self._path(source)))
        return outlived(dataclasses.replace(outcome, remarks=(*outcome.remarks, *added)), self.container)

    def _measured(self, words: list[str]) -> tuple[CommandResult, tuple[MachineCounts, MachineCounts] | None]:
        """Run the program; if requested, also return the machine's counts before and after."""
        wanted = self.request.experiment.instrumentation
        directory = os.fspath(self.directory)
        cgroup = cgroup_of(words, self.request.marker, self.environment, directory)
        before = read_machine_counts() if wanted.interrupts else None
        run = start(
            labelled(words, self.request.marker, cgroup.options if isinstance(cgroup, Cgroup) else ()),
            environment=self.environment,
            directory=self.directory,
            timeout=self.trial.timeout,
            cancel=self.request.cancel,
            limit=self.trial.output_limit,
            counters=wanted.perf,
            cpus=wanted.cpus,
            isolate=self.trial.isolate,
            namespace_pid=self.request.namespace_pid,
            follow=self.request.follow,
        )
        self.container = end_container(words, self.request.marker, self.environment, directory)
        self.used = used_in(cgroup)
        self.notes.append(run.followed or b"")
        run = masked_run(run, self.masks)
        return run, None if before is None else (before, read_machine_counts())

    def _prepared(self, command: Sequence[str]) -> Problem | None:
        around = self.environment | {MARKER: marker_beside(self.request.marker)}
        return self._beside("prepare", command, start_beside, around)

    def _concluded(self, command: Sequence[str]) -> Problem | None:
        return self._beside("conclude", command, start, self.environment)

    def _beside(
        self,
        what: str,
        command: Sequence[str],
        begin: Callable[..., Beside | CommandResult],
        environment: Mapping[str, str],
    ) -> Problem | None:
        """Run a command beside the measured one; return the trial's status and reason if it went wrong."""
        try:
            run = begin(
                [fill(word, self.values) for word in command],
                environment=environment,
                directory=self.directory,
                timeout=SIDE_COMMAND_SECONDS,
                cancel=self.request.cancel,
                namespace_pid=self.request.namespace_pid,
                follow=self.request.follow,
            )
        except TrialError as error:
            return "failed", f"{what}: {error.message}"
        if isinstance(run, CommandResult):
            self.notes.append(run.followed or b"")
        return problem_beside(what, masked_run(run, self.masks))

    def _kept_places(self) -> list[tuple[str, str, str]]:
        return list(kept_places(self.trial, self.values, self.request.experiment.folder))

    def _path(self, source: TextSource) -> str:
        return str(self.directory / Path(fill(source.path or "", self.values)).expanduser())

    def _text(self, source: TextSource, run: CommandResult, files: _Files) -> Reported:
        if source.path is None:
            return from_output(run.stdout, total=run.stdout_total)
        path = self._path(source)
        if source.may_be_folder and Path(path).is_dir():
            return from_file(path, packed_folder(path, self.masks))
        return from_file(path, files.written(path))


class _Files:
    """The files that the program is to write, watched from before it starts; each is read once, on request."""

    def __init__(self, paths: Iterable[str], masks: Masks) -> None:
        self._masks = masks
        self._watched = {path: Watched(path) for path in dict.fromkeys(paths)}
        self._written: dict[str, Written] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for watched in self._watched.values():
            watched.close()

    def written(self, path: str) -> Written:
        if path not in self._written:
            self._written[path] = self._masks.written(self._watched[path].written())
        return self._written[path]

    def were_added_to(self, path: str) -> bool:
        """Return True if a file was read and the program appended to earlier content."""
        return path in self._written and self._written[path].added


def file_sources(experiment: Experiment) -> Iterator[TextSource]:
    """Yield the sources that are read from files."""
    found = [] if experiment.results is None else [experiment.results.text]
    for source in (*(source for _, source in sources_of(experiment.metrics, TextSource)), *found):
        if source.path is not None:
            yield source


def added_to(experiment: Experiment, added: Callable[[TextSource], bool]) -> Iterator[str]:
    """Remark, for each file that trials append to, that only each trial's own part counts."""
    for path in dict.fromkeys(source.path for source in file_sources(experiment) if added(source)):
        yield f"{path}: trials append to it; of each trial, only what it appended is read"


def kept_places(
    trial: CommandTrial, values: Mapping[str, Level], folder: str | Path
) -> Iterator[tuple[str, str, str]]:
    """Yield which of a trial's files are kept: the name of each place in the archive, its path, and the folder it must stay in.

    Names are relative to the folder that trials run in; places in the trial's own {directory} are named after it.
    """
    own = os.fspath(Path(folder) / str(values.get("directory", ".")))
    base = os.fspath(Path(folder) / fill(trial.directory, values))
    for place in trial.kept_places:
        path = os.fspath(Path(base) / fill(place, values))
        yield kept_name(trial, values, place), path, base if f"{path}/".startswith(f"{base}/") else own


def kept_name(trial: CommandTrial, values: Mapping[str, Level], path: str) -> str:
    """Return a file's name in a trial's archive."""
    known = {**values, "directory": "{directory}"}
    return os.fspath(Path(fill(trial.directory, known)) / fill(path, known)).lstrip("/")


def keeps(trial: CommandTrial, outcome: TrialOutcome) -> bool:
    """Return True if files of a trial with this outcome are to be kept."""
    return not trial.keeps_failed or outcome.status in ("failed", "invalid")


def with_kept(outcome: TrialOutcome, kept: bytes, left_out: Sequence[str]) -> TrialOutcome:
    """Return the outcome with the kept files, and a remark if some were left out."""
    if not left_out:
        return dataclasses.replace(outcome, kept=kept)
    more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
    remarks = dict.fromkeys((*outcome.remarks, f"trial.keep: {left_out[0]}{more}: not kept"))
    return dataclasses.replace(outcome, kept=kept, remarks=tuple(remarks))


def trial_of(experiment: Experiment) -> CommandTrial:
    """Return the trial of an experiment of this kind."""
    return assumed(experiment.trial, CommandTrial)


def check_kept(trial: CommandTrial, experiment: Experiment) -> None:
    """Raise PlanError if what failed is to be kept, and trials have no folder of their own."""
    if trial.keeps_failed and not asks_for_directory(trial, experiment):
        raise PlanError(
            'trial.keep: "failed" keeps the folder of a trial that failed, and no text of the trial uses {directory}',
            hint='write {directory} into trial.command, trial.directory or trial.environment, or name files: keep = ["*.log"]',
        )


def asks_for_directory(trial: CommandTrial, experiment: Experiment) -> bool:
    """Return True if a text of the trial contains {directory}."""
    texts = [word for _, command in commands(trial) for word in command]
    texts += [trial.directory, *dict(trial.environment).values()]
    texts += [source.path or "" for source in file_sources(experiment)]
    return any("directory" in names_in(text) for text in texts)


def _fresh_directory(trial: CommandTrial, request: TrialRequest) -> Path | None:
    """Create the trial's own directory, but only if a text contains {directory}."""
    if not asks_for_directory(trial, request.experiment):
        return None
    request.scratch.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{request.number}-{request.attempt}-", dir=request.scratch))


def commands(trial: CommandTrial) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the commands of a trial under their keys in the file."""
    yield "command", trial.command
    if trial.prepare is not None:
        yield "prepare", trial.prepare
    if trial.conclude is not None:
        yield "conclude", trial.conclude


def nowhere() -> dict[str, Level]:
    """Return stand-ins for the built-in placeholders when no trial runs."""
    return {**dict.fromkeys(("seed", "series", "round", "position", "trial"), 0), "directory": "."}


def check_program(
    key: str, program: str, directory: Path, environment: Mapping[str, str], values: Mapping[str, Level]
) -> None:
    """Raise PlanError if the program of a command, which stands under `key` in the file, is not there or not executable."""
    path = fill(environment.get("PATH", os.environ.get("PATH", os.defpath)), values)
    found = (
        (directory / program).is_file() if "/" in program else shutil.which(program, path=path) is not None
    )
    if not found:
        where = f"in {directory}" if "/" in program else "in PATH"
        raise PlanError(f"{key}: no program {program!r} {where}", hint="install it, or write its path")
    if "/" in program and not os.access(directory / program, os.X_OK):
        raise PlanError(f"{key}: {directory / program} is not executable", hint=f"chmod +x {program}")
