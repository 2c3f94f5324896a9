"""Begin an experiment in a directory, and continue it: with the same plan or a longer one, never another."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import tomlkit

from trialwise import __version__
from trialwise.design.plan import Plan, plan_digest
from trialwise.errors import PlanError, StoreError
from trialwise.execution.amending import HINT, Changes, amendment, event_of, line_of, why_refused
from trialwise.execution.replanning import Began, Step, difference_of, replanned
from trialwise.execution.rereading import found_text, read_again, read_found
from trialwise.execution.session import new_identity
from trialwise.execution.worker_plan import planned_row
from trialwise.experiment.amendable import KeyChange, differences
from trialwise.experiment.model import DrawnFactor, Experiment, Level
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.text import frozen_name, frozen_or_named
from trialwise.store.chain import start_of
from trialwise.store.directory import EXPERIMENT, FOLDERS, LOCK, ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import PLAN, Amendment
from trialwise.store.user import user_name
from trialwise.trials.surroundings import FACT, STATED

Attachments = Callable[[Sequence[Mapping[str, Level]]], Iterable[tuple[str, Path]]]
"""Of the factors of trials, the files to freeze: relative names and paths."""
_ASKED = "read again with --reread"
_FROZEN = "experiment"
"""Key of `meta` for the text of the experiment file that the directory began with."""


def refuse_foreign(directory: ExperimentDirectory) -> None:
    """Raise StoreError if a folder contains anything other than the beginning of an experiment."""
    path = directory.path
    if directory.is_begun or not path.exists():
        return
    if not path.is_dir():
        raise StoreError(f"{path}: is not a directory", hint="choose another with --directory")
    entries = {entry.name for entry in path.iterdir()}
    if any(_holds_something(path / name) for name in FOLDERS & entries):
        raise StoreError(
            f"{path}: holds what trials reported, and no ledger",
            hint=f"put {directory.ledger_file.name} back, or choose another directory with --directory",
        )
    if entries <= FOLDERS or LOCK in entries:  # left by a runner killed before the experiment began
        return
    raise StoreError(
        f"{path}: exists and is not an experiment directory", hint="choose another with --directory"
    )


def begin(
    text: str,
    experiment: Experiment,
    plan: Plan,
    directory: ExperimentDirectory,
    attachments: Iterable[tuple[str, Path]],
) -> Ledger:
    """Freeze the experiment file with its attachments (relative names and paths), and plan the trials."""
    _freeze(text, experiment, directory, attachments)
    meta = {
        "name": experiment.name,
        "identity": new_identity(),
        "created": repr(time.time()),
        "plan": plan.digest,
        "folder": str(experiment.folder),
        "version": __version__,
        FACT: STATED,
        _FROZEN: text,
    }
    return Ledger.create(directory.ledger_file, meta, map(planned_row, plan.trials))


def resume(
    text: str,
    experiment: Experiment,
    directory: ExperimentDirectory,
    *,
    extend: bool,
    reread: bool = False,
    amend: bool = False,
    attachments: Attachments = lambda _: (),
    tell: Callable[[str], None] = lambda _: None,
) -> Ledger:
    """Open the ledger of an experiment that has begun; its plan must be that of `experiment`, or an amended one.

    `amend`: trials may run differently from now on, in a new epoch. `reread`: every metric is read from what was kept of finished
    trials that lack it, where that is possible. `attachments` checks what is to run with these factors, and names the files to freeze.
    `tell` receives one line that says what was amended, or read.

    Raises
    ------
    PlanError
        The plans differ (the message says how), or the new one is longer and `extend` is false.
    """
    ledger = directory.ledger(read_only=False)
    try:
        _check_same_plan(
            text,
            experiment,
            directory,
            ledger,
            extend=extend,
            reread=reread,
            amend=amend,
            attachments=attachments,
            tell=tell,
        )
        if ledger.fact("folder") != str(experiment.folder):
            ledger.set_meta("folder", str(experiment.folder))
    except BaseException:
        ledger.close()
        raise
    return ledger


def differences_of(
    experiment: Experiment, directory: ExperimentDirectory, ledger: Ledger
) -> tuple[KeyChange, ...]:
    """Return the keys in which a file differs from the one that a directory began with, and what follows from each."""
    text = ledger.meta().get(_FROZEN)
    return () if text is None else differences(began_with(directory, text), experiment)


def began_with(directory: ExperimentDirectory, text: str) -> Experiment:
    """Return the experiment that a directory began with, or was last amended to, from the text that its ledger has."""
    return parse_experiment(text, directory.experiment_file, frozen=True)


def factors_of(plan: Plan) -> list[dict[str, Level]]:
    """Return the distinct factors of all planned trials, including sampled ones."""
    return _distinct(trial.factors for trial in plan.trials)


def _distinct(all_factors: Iterable[Mapping[str, Level]]) -> list[dict[str, Level]]:
    distinct = {tuple(factors.items()): factors for factors in all_factors}
    return [dict(factors) for factors in distinct.values()]


def _holds_something(path: Path) -> bool:
    return path.is_dir() and next(path.iterdir(), None) is not None


def _freeze(
    text: str, experiment: Experiment, directory: ExperimentDirectory, attachments: Iterable[tuple[str, Path]]
) -> None:
    """Copy the experiment file, the files that factors are sampled from, the file of streams, and the attachments."""
    directory.write_durably(EXPERIMENT, text.encode())
    copies = ((frozen_name(name), source) for name, source in attachments)
    for name, source in (*_drawn_files(experiment), *_stream_files(experiment), *copies):
        (directory.path / name).parent.mkdir(parents=True, exist_ok=True)
        directory.write_durably(name, source.read_bytes())


def _freeze_further(
    experiment: Experiment,
    directory: ExperimentDirectory,
    attachments: Iterable[tuple[str, Path]],
    *,
    sets_apart: bool,
) -> None:
    """Copy the files that an amended experiment names, as `_freeze` does; raise PlanError if another one stands under its name."""
    drawn = _drawn_files(experiment) if sets_apart else ()
    copies = ((frozen_name(name), source) for name, source in attachments)
    new = {name: source.read_bytes() for name, source in (*drawn, *_stream_files(experiment), *copies)}
    for name, content in new.items():
        path = directory.path / name
        if path.exists() and path.read_bytes() != content:
            raise PlanError(
                f"{name}: is another file than the one of this name that finished trials used",
                hint="give it another name, so that both are kept",
            )
    for name, content in new.items():
        path = directory.path / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            directory.write_durably(name, content)


def _stream_files(experiment: Experiment) -> Iterator[tuple[str, Path]]:
    """Yield the file that says which points become which streams."""
    if experiment.measurement is not None and experiment.measurement.config is not None:
        config = experiment.measurement.config
        yield frozen_name(config), frozen_or_named(experiment.folder, config)


def _drawn_files(experiment: Experiment) -> Iterator[tuple[str, Path]]:
    """Yield the files that factors are sampled from: their names in an experiment directory, and their paths."""
    for factor in experiment.factors:
        if isinstance(factor, DrawnFactor) and factor.values and factor.origin != "list":
            yield frozen_name(factor.origin), frozen_or_named(experiment.folder, factor.origin)


def _check_same_plan(
    text: str,
    experiment: Experiment,
    directory: ExperimentDirectory,
    ledger: Ledger,
    *,
    extend: bool,
    reread: bool,
    amend: bool,
    attachments: Attachments,
    tell: Callable[[str], None],
) -> None:
    meta = ledger.meta()
    before_text = meta.get(_FROZEN, text)
    before = began_with(directory, before_text)
    digest = plan_digest(before)
    change = None
    if (
        digest != plan_digest(experiment)
        and (change := amendment(before, experiment, partly=reread, otherwise=amend)) is None
    ):
        difference = difference_of(before_text, text) or _drawn_difference(experiment, directory)
        refused = why_refused(before, experiment)
        hint = (
            "; ".join((*refused, "put the file back, or start a new experiment with --directory"))
            if refused
            else HINT
        )
        raise PlanError(f"{directory.path}: this directory began with another plan\n{difference}", hint=hint)
    if meta.get("version") == __version__ and digest != meta.get("plan"):
        _explain(before, before_text, str(meta.get("plan")), directory, tell)
    to_read = experiment.metrics if reread else () if change is None else change.metrics
    if change is not None and change.sets_apart:
        to_read = ()
    found = read_again(to_read, experiment, directory, ledger, partly=reread)
    step = replanned(
        Began(before, before_text, directory.path), experiment, text, ledger, change, extend=extend
    )
    if reread and change is None:
        tell(found_text(found) if found else "nothing to read again: every finished trial has every metric")
    if change is None and step is None:
        late = read_found([each for each in found if each.rows], experiment, directory, _ASKED)
        if late is not None:
            ledger.add_values(late)
        return
    step = step or Step()
    event = None if change is None else event_of(change, found, ledger.count(["finished"]), step.text)
    of_trials = change is not None and change.is_of_trials
    files = attachments(_distinct(row.factors for row in step.rows)) if of_trials and step.rows else ()
    _freeze_further(experiment, directory, files, sets_apart=change is not None and change.sets_apart)
    late = read_found(found, experiment, directory, _ASKED if change is None else change.text)
    directory.write_durably(EXPERIMENT, text.encode())
    ledger.extend(
        step.rows,
        {_FROZEN: text, "plan": plan_digest(experiment), "name": experiment.name, **step.meta},
        withdrawn=step.withdrawn,
        events=[each for each in (*step.events, event) if each is not None],
        amendments=[_plan_amendment(text, step, change)],
        late=late,
    )
    if change is not None and event is not None:
        tell(line_of(change, event))


def _explain(
    before: Experiment, text: str, plan: str, directory: ExperimentDirectory, tell: Callable[[str], None]
) -> None:
    """Say why the plan on record is not that of the directory's file; raise PlanError unless only a unit is the reason."""
    stated = _with_stated_units(before, text)
    if plan_digest(stated) == plan:
        pairs = zip(before.metrics, stated.metrics, strict=True)
        for now, then in ((now, then) for now, then in pairs if now.unit != then.unit):
            tell(
                f"metrics.{now.name}: the file of this directory was once amended to the unit {then.unit!r}; numbers were never "
                f"converted, they are in {now.unit} and shown so"
            )
        return
    if any(True for _ in _drawn_files(before)):
        raise PlanError(
            f"{directory.path}: a file that a factor is drawn from has been changed inside the directory",
            hint="put it back as it was when the experiment began",
        )
    raise PlanError(
        f"{directory.path}: the plan on record is not that of the experiment file on record",
        hint="what has been measured can be analysed as ever; start anew with --directory to measure further",
    )


def _with_stated_units(experiment: Experiment, text: str) -> Experiment:
    """Return the experiment with the units as its text has them, also of metrics whose unit is known."""
    tables = tomlkit.parse(text).unwrap().get("metrics", {})
    metrics = tuple(
        dataclasses.replace(metric, unit=tables.get(metric.name, {}).get("unit", metric.unit))
        for metric in experiment.metrics
    )
    return dataclasses.replace(experiment, metrics=metrics)


def _plan_amendment(text: str, step: Step, change: Changes | None) -> Amendment:
    """Say what the file now says otherwise, with its SHA-256, for the ledger."""
    because = change.text if change is not None else "a longer plan" if step.rows else "when to stop"
    detail = {"experiment": start_of(text), "added": len(step.rows), "withdrawn": len(step.withdrawn)}
    return Amendment(time.time(), PLAN, user_name(), because, detail=detail)


def _drawn_difference(experiment: Experiment, directory: ExperimentDirectory) -> str:
    for name, source in _drawn_files(experiment):
        before, now = (directory.path / name).read_text(errors="replace"), source.read_text(errors="replace")
        if before != now:
            return difference_of(before, now, name)
    return "(the text is the same, and read differently by this version of Trialwise)"
