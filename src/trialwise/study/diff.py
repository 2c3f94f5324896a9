"""From two places to how they differ: experiment directories, or this machine."""

from __future__ import annotations

import contextlib
import json
import os
import tomllib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from trialwise.analysis.comparison.comparing import compare
from trialwise.analysis.context import session_facts
from trialwise.analysis.diff import Diff, ResultsDiff, Side, diff
from trialwise.analysis.environments import EnvironmentDifference, facts_of, plan_facts
from trialwise.analysis.influences import Study
from trialwise.analysis.progress import Progress
from trialwise.errors import AnalysisError
from trialwise.exchange.artifact.manifest import NAME as MANIFEST
from trialwise.exchange.artifact.privacy import are_same_but_names
from trialwise.exchange.artifact.reading import opened_artifact
from trialwise.experiment.model import Experiment
from trialwise.foreign_files import absent
from trialwise.measurement.environment import capture
from trialwise.measurement.file_identity import described
from trialwise.measurement.identity import FileIdentity, Identity
from trialwise.store.directory import LEDGER, ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.study.locating import frozen_text, opened
from trialwise.study.reading import comparison_set
from trialwise.study.sources import is_ours

HERE = "here"
"""Stands for this machine."""
_NAME = f"name a directory made by `trialwise run`, an artifact, or {HERE} for this machine"
_MOST_FILES = 500


def diff_places(a: str, b: str, told: Progress | None = None) -> Diff:
    """Return how two experiment directories or artifacts, or one of them and this machine (`HERE`), differ.

    Raises
    ------
    AnalysisError
        A place is neither directory nor artifact, an artifact holds several experiments, or both are this machine.
    StoreError
        An artifact is damaged, or holds what none may hold.
    """
    if a == b == HERE:
        raise AnalysisError(
            "this machine does not differ from itself", hint="name an experiment directory on one side"
        )
    with contextlib.ExitStack() as stack:
        places = [None if each == HERE else stack.enter_context(_directory(Path(each))) for each in (a, b)]
        sides = [
            None if place is None else _side(place, name) for place, name in zip(places, (a, b), strict=True)
        ]
        first, second = (_here(next(filter(None, sides))) if side is None else side for side in sides)
        found = diff(first.side, second.side, _results(places, told))
        return replace(found, differences=tuple(one for one in found.differences if not _is_of_names(one)))


def _is_of_names(difference: EnvironmentDifference) -> bool:
    """Return True if the sides differ only by names that were replaced when one was packed."""
    return len(difference.a) == len(difference.b) and all(map(are_same_but_names, difference.a, difference.b))


@contextlib.contextmanager
def _directory(path: Path) -> Generator[Path]:
    """Yield the experiment directory that a path stands for: itself, or the only one of an artifact."""
    if not path.exists():
        raise absent(path, _NAME)
    if is_ours(path):
        yield path
        return
    if path.is_dir() and not (path / MANIFEST).is_file():
        raise AnalysisError(f"{path}: is neither an experiment directory nor an artifact", hint=_NAME)
    with opened_artifact(path) as artifact:
        folders = [name.removesuffix(f"/{LEDGER}") for name in artifact.names if name.endswith(f"/{LEDGER}")]
        if len(folders) != 1:
            held = ", ".join(folders) or "none"
            raise AnalysisError(
                f"{path}: holds {len(folders)} experiments: {held}",
                hint="unpack it, and name one of its folders",
            )
        yield artifact.folder / folders[0]


@dataclass(frozen=True, slots=True)
class _Read:
    """A side, with what this machine is asked for on the other side: files, and whose variables."""

    side: Side
    files: Sequence[FileIdentity] = ()
    experiment: Experiment | None = None
    facts: Mapping[str, str] = field(default_factory=dict[str, str])


def _side(path: Path, name: str) -> _Read:
    with opened(path) as (experiment, directory, ledger):
        records = list(_records(directory, ledger))
        files = {file.name: file for record in records for file in _files(record)}
        side = Side(
            name=name,
            environments=tuple(map(facts_of, records)),
            plan=plan_facts(tomllib.loads(frozen_text(directory))),
            study=_study(experiment),
        )
        return _Read(side, list(files.values())[:_MOST_FILES], experiment, ledger.meta())


def _study(experiment: Experiment) -> Study:
    traits = experiment.trial.traits
    if traits.computed:
        return "computed"
    return "path" if traits.own_namespaces else "measured"


def _records(directory: ExperimentDirectory, ledger: Ledger) -> Iterator[dict[str, object]]:
    """Yield the environments of the sessions in which trials finished; of all, if none has."""
    ran = {row.session for row in ledger.trials("finished")}
    sessions = session_facts(directory, ledger)
    kept = [facts for facts in sessions if facts.record.number in ran] or sessions
    yield from (dict(facts.environment) for facts in kept if facts.environment)


def _files(record: dict[str, object]) -> tuple[FileIdentity, ...]:
    try:
        return Identity.from_json(record).files
    except ValueError:
        return ()


def _here(other: _Read) -> _Read:
    """Return this machine, with the programs of the other side as they are here."""
    from trialwise.measurement.inherited import key_here, limits, passed_on, variables
    from trialwise.trials.surroundings import inheriting, passed_by  # neither is on Windows

    if other.experiment is None:
        raise AssertionError("the other side is a directory")
    trial = inheriting(other.experiment, other.facts).trial
    passed = passed_on(os.environ, passed_by(trial))
    environment = capture(variables=passed)
    identity = Identity(
        environment.machine_identity(),
        tuple(_found_here(other.files)),
        variables(passed, trial.variables, key_here()),
        limits(),
    )
    facts = facts_of(json.loads(json.dumps(environment.record(identity))))
    return _Read(Side(HERE, (facts,), None, other.side.study))


def _found_here(files: Iterable[FileIdentity]) -> Iterator[FileIdentity]:
    for file in files:
        if (found := described(file.path)) is not None:
            yield FileIdentity(file.name, found[0], found[1], found[2], file.role, file.treatments)


def _results(places: Sequence[Path | None], told: Progress | None) -> ResultsDiff:
    found_there = [place for place in places if place is not None]
    if len(found_there) < len(places):
        return ResultsDiff({}, f"{HERE} has no results")
    try:
        first, second = (comparison_set(place, told=told) for place in found_there)
        found = compare(first, second)
    except AnalysisError as error:
        return ResultsDiff({}, error.message)
    return ResultsDiff(found.counts, None)
