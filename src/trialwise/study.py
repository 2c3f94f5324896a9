"""A study from its file to its analysis: composes the stages, and is the only module beside `cli` that sees them all."""

from __future__ import annotations

import dataclasses
import difflib
import errno
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from trialwise import __version__
from trialwise.analysis.directory import analyse_directory
from trialwise.analysis.results import Analysis
from trialwise.design.plan import Plan, PlannedTrial, make_plan, plan_digest
from trialwise.errors import PlanError, StoreError
from trialwise.execution.events import EnvironmentChanged, Observer, SessionEnded, SessionStarted
from trialwise.execution.interruption import Interruption
from trialwise.execution.leftovers import end_leftovers
from trialwise.execution.runner import Ending, Runner
from trialwise.execution.session import SessionKeeper, new_identity
from trialwise.execution.stopping import RunThePlan, StoppingRule
from trialwise.experiment.model import DrawnFactor, Experiment, Method
from trialwise.experiment.reading import parse_experiment, read_text
from trialwise.store.directory import FOLDERS, LOCK, DirectoryLock, ExperimentDirectory, is_locked
from trialwise.store.ledger import Ledger
from trialwise.store.records import Event, TrialRow
from trialwise.trials.kinds import kind_of


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended, and how many trials there are of each status."""

    directory: Path
    ending: Ending
    counts: dict[str, int]

    @property
    def failed(self) -> int:
        """Trials that failed or are invalid; a trial abandoned and run again does not count."""
        return self.counts.get("failed", 0) + self.counts.get("invalid", 0)


# Reading


def load(source: Path) -> Experiment:
    """Read the experiment of a file, or of the directory of an experiment that has begun."""
    return _sources(source, None)[1]


def default_directory(experiment: Experiment) -> Path:
    """Where results go unless told otherwise: NAME.results in the current folder."""
    return Path(f"{experiment.name}.results")


def open_directory(path: Path) -> tuple[Experiment, ExperimentDirectory, Ledger]:
    """Open an experiment directory for reading."""
    directory = ExperimentDirectory(path)
    ledger = directory.ledger()
    return _frozen_experiment(directory, ledger), directory, ledger


def analyse(path: Path, method: Method = "default") -> Analysis:
    """Analyse an experiment directory."""
    experiment, directory, ledger = open_directory(path)
    try:
        return analyse_directory(experiment, directory, ledger, method)
    finally:
        ledger.close()


def _frozen_experiment(directory: ExperimentDirectory, ledger: Ledger) -> Experiment:
    experiment = parse_experiment(read_text(directory.experiment_file), directory.experiment_file)
    return dataclasses.replace(experiment, folder=Path(ledger.meta()["folder"]))


@dataclass(frozen=True, slots=True)
class State:
    """How far an experiment is."""

    name: str
    planned: int
    counts: dict[str, int]
    treatments: dict[str, dict[str, int]]
    failures: tuple[TrialRow, ...]
    events: tuple[Event, ...]
    running: tuple[TrialRow, ...]
    is_active: bool
    left: float | None

    @property
    def done(self) -> int:
        """Trials that finished, failed or are invalid."""
        return sum(self.counts.get(status, 0) for status in ("finished", "failed", "invalid"))

    @property
    def failed(self) -> int:
        """Trials that failed or are invalid."""
        return self.counts.get("failed", 0) + self.counts.get("invalid", 0)

    @property
    def activity(self) -> str:
        """What the runner does at present, in words."""
        if self.is_active:
            return (
                f"running trial {self.running[0].number} ({self.running[0].treatment})"
                if self.running
                else "between trials"
            )
        return (
            "complete"
            if self.done == self.planned
            else "not running; `trialwise run` on the directory goes on"
        )

    def to_json(self) -> dict[str, object]:
        """The state as a document (format trialwise.status/1)."""
        return {
            "format": "trialwise.status/1",
            "name": self.name,
            "planned": self.planned,
            "done": self.done,
            "active": self.is_active,
            "activity": self.activity,
            "seconds_left": self.left,
            "counts": self.counts,
            "treatments": self.treatments,
            "failures": [
                {
                    "number": row.number,
                    "attempt": row.attempt,
                    "treatment": row.treatment,
                    "status": row.status,
                    "reason": row.reason,
                }
                for row in self.failures
            ],
            "events": [dataclasses.asdict(event) for event in self.events],
        }


def state(path: Path) -> State:
    """Say how far the experiment in a directory is; while it runs, or after."""
    directory = ExperimentDirectory(path)
    ledger = directory.ledger()
    try:
        rows = ledger.trials()
        treatments: dict[str, dict[str, int]] = {}
        for row in rows:
            counts = treatments.setdefault(row.treatment, {})
            counts[row.status] = counts.get(row.status, 0) + 1
        return State(
            name=ledger.meta()["name"],
            planned=len({row.number for row in rows}),
            counts=ledger.counts(),
            treatments=dict(sorted(treatments.items())),
            failures=tuple(row for row in rows if row.status in ("failed", "invalid", "abandoned")),
            events=tuple(ledger.events()),
            running=tuple(row for row in rows if row.status == "running"),
            is_active=is_locked(directory),
            left=_time_left(rows),
        )
    finally:
        ledger.close()


def _time_left(rows: Sequence[TrialRow]) -> float | None:
    """How long the planned trials take: from claim to claim of those that are done, or until the last planned start."""
    claimed = sorted(row.claimed for row in rows if row.claimed is not None)
    planned = [row for row in rows if row.status == "planned"]
    if len(claimed) < 2 or not planned:
        return None
    gaps = sorted(after - before for before, after in pairwise(claimed))
    return gaps[len(gaps) // 2] * len(planned)


# Running


def run(
    source: Path,
    path: Path | None = None,
    *,
    extend: bool = False,
    stopping: StoppingRule | None = None,
    observers: Sequence[Observer] = (),
) -> RunResult:
    """Run an experiment, or go on with it.

    Parameters
    ----------
    source
        An experiment file, or the directory of an experiment that has begun.
    path
        The experiment directory; default `default_directory`, or `source` where that is a directory.
    extend
        Whether more rounds or series than before may be planned.
    stopping, observers
        The rule that may end the run before the plan is used up, and who is told what happens.

    Raises
    ------
    PlanError
        The file is wrong, or differs from the one that the directory began with.
    StoreError
        The directory cannot be used: another runner is at work, the disk is full.
    """
    text, experiment, directory = _sources(source, path)
    try:
        return _run(text, experiment, directory, stopping or RunThePlan(), observers, extend=extend)
    except OSError as error:
        hint = (
            "free some space and run again; what is finished is kept" if error.errno == errno.ENOSPC else None
        )
        raise StoreError(f"{error.filename or directory.path}: {error.strerror}", hint=hint) from error


def _run(
    text: str,
    experiment: Experiment,
    directory: ExperimentDirectory,
    stopping: StoppingRule,
    observers: Sequence[Observer],
    *,
    extend: bool,
) -> RunResult:
    plan = make_plan(experiment)
    kind = kind_of(experiment)
    if not directory.is_begun:
        kind.check(experiment, _factors(plan))
        _refuse_foreign(directory)
    directory.make()
    with DirectoryLock(directory), Interruption() as interruption:
        ledger = _begin_or_resume(text, experiment, plan, directory, extend=extend)
        try:
            keeper = SessionKeeper(
                directory, list(kind.programs(experiment, _factors(plan))), experiment.folder
            )
            runner = Runner(
                experiment, directory, ledger, kind, keeper, stopping=stopping, observers=observers
            )
            return _session(runner, keeper, directory, ledger, observers, interruption)
        finally:
            ledger.close()


def _sources(source: Path, path: Path | None) -> tuple[str, Experiment, ExperimentDirectory]:
    if source.is_dir():
        directory = ExperimentDirectory(source)
        ledger = directory.ledger()
        experiment = _frozen_experiment(directory, ledger)
        ledger.close()
        return read_text(directory.experiment_file), experiment, directory
    text = read_text(source)
    experiment = parse_experiment(text, source)
    return text, experiment, ExperimentDirectory(path or default_directory(experiment))


def _factors(plan: Plan) -> list[dict[str, str | int | float | bool]]:
    """One mapping of factors for each treatment, from its first planned trial."""
    first: dict[str, PlannedTrial] = {}
    for trial in plan.trials:
        first.setdefault(trial.treatment.name, trial)
    return [dict(trial.factors) for trial in first.values()]


def _refuse_foreign(directory: ExperimentDirectory) -> None:
    """Refuse a folder with something in it, unless a runner made it and was killed before the experiment began."""
    path = directory.path
    if (
        not path.exists()
        or (path.is_dir() and {entry.name for entry in path.iterdir()} <= FOLDERS)
        or (path / LOCK).exists()
    ):
        return
    raise StoreError(f"{path}: exists and is not an experiment directory", hint="choose another with --dir")


def _begin_or_resume(
    text: str, experiment: Experiment, plan: Plan, directory: ExperimentDirectory, *, extend: bool
) -> Ledger:
    if directory.is_begun:
        ledger = directory.ledger(read_only=False)
        _check_same_plan(text, plan, directory, ledger, extend=extend)
        return ledger
    _freeze(text, experiment, directory)
    meta = {
        "name": experiment.name,
        "identity": new_identity(),
        "created": repr(time.time()),
        "plan": plan.digest,
        "folder": str(experiment.folder),
        "version": __version__,
    }
    return Ledger.create(directory.ledger_file, meta, map(planned_row, plan.trials))


def _freeze(text: str, experiment: Experiment, directory: ExperimentDirectory) -> None:
    """Copy the experiment file, and the files that factors are drawn from, into the directory."""
    directory.write_durably("experiment.toml", text.encode())
    for factor in experiment.factors:
        if isinstance(factor, DrawnFactor) and (source := experiment.folder / factor.origin).is_file():
            target = directory.path / factor.origin
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def planned_row(trial: PlannedTrial) -> TrialRow:
    """The ledger's row of a planned trial."""
    return TrialRow(
        number=trial.number,
        attempt=1,
        status="planned",
        treatment=trial.treatment.name,
        factors=trial.factors,
        series=trial.series,
        round=trial.round,
        position=trial.position,
        order=trial.order,
        seed=trial.seed,
        warmup=trial.warmup,
        planned_start=trial.start,
    )


def _check_same_plan(
    text: str,
    plan: Plan,
    directory: ExperimentDirectory,
    ledger: Ledger,
    *,
    extend: bool,
) -> None:
    frozen_text = read_text(directory.experiment_file)
    frozen = parse_experiment(frozen_text, directory.experiment_file)
    if plan_digest(frozen) != plan.digest:
        raise PlanError(
            f"{directory.path}: this directory began with another plan\n{_difference(frozen_text, text)}",
            hint="put the file back, or start a new experiment with --dir",
        )
    frozen_plan = make_plan(frozen)
    if len(frozen_plan.trials) == len(plan.trials):
        return
    if not extend or len(plan.trials) < len(frozen_plan.trials):
        raise PlanError(
            f"{directory.path}: the number of trials differs from the plan that began here\n{_difference(frozen_text, text)}",
            hint="add --extend to go on with the same sequence and more trials"
            if len(plan.trials) > len(frozen_plan.trials)
            else None,
        )
    _extend(text, plan, directory, ledger)


def _extend(text: str, plan: Plan, directory: ExperimentDirectory, ledger: Ledger) -> None:
    """Plan the further trials: rounds and series that the ledger has not seen, numbered after those it has."""
    known = {(row.treatment, row.series, row.round, row.warmup) for row in ledger.trials()}
    last = max(row.number for row in ledger.trials())
    further = [
        trial
        for trial in plan.trials
        if (trial.treatment.name, trial.series, trial.round, trial.warmup) not in known
    ]
    ledger.extend(
        planned_row(dataclasses.replace(trial, number=last + n)) for n, trial in enumerate(further, 1)
    )
    directory.write_durably("experiment.toml", text.encode())


def _difference(before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(),
        after.splitlines(),
        "experiment.toml of the directory",
        "experiment.toml now",
        lineterm="",
        n=1,
    )
    return "\n".join(lines) or "(the text is the same: a file that a factor is drawn from has changed)"


def _session(
    runner: Runner,
    keeper: SessionKeeper,
    directory: ExperimentDirectory,
    ledger: Ledger,
    observers: Sequence[Observer],
    interruption: Interruption,
) -> RunResult:
    end_leftovers(ledger.meta()["identity"])
    shutil.rmtree(directory.path / "scratch", ignore_errors=True)
    reclaimed = ledger.abandon_running("the runner was killed during this trial")
    change = keeper.open(ledger)
    counts = ledger.counts()
    done = sum(counts.get(status, 0) for status in ("finished", "failed", "invalid"))
    for observer in observers:
        observer.notice(SessionStarted(keeper.session, done, done + counts.get("planned", 0), reclaimed))
        if change:
            observer.notice(EnvironmentChanged(change))
    ending = runner.run(interruption)
    keeper.close(ledger, ending.word)
    for observer in observers:
        observer.notice(SessionEnded(ending.word))
    return RunResult(directory.path, ending, ledger.counts())
