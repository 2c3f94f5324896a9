"""Pairs of versions below one folder: each pair of programs, as they are now, has its own experiment directory."""

import dataclasses
import hashlib
import itertools
from collections.abc import Iterator
from pathlib import Path

from trialwise.design.plan import make_plan, plan_digest
from trialwise.design.sizing import size
from trialwise.errors import StoreError
from trialwise.execution.create import factors_of
from trialwise.execution.session import LocalWatch, local_watch, recorded_identity
from trialwise.experiment.model import Experiment
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.writing import write_experiment
from trialwise.measurement.file_identity import NamedFile
from trialwise.measurement.identity import Identity, told
from trialwise.store.directory import EXPERIMENT, ExperimentDirectory, pairs_below
from trialwise.store.ledger import Ledger
from trialwise.trials.kinds import kind_of


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """The directory for the trials of a pair; `change` says what differs from the previous pair's trials, if there is one."""

    directory: Path
    change: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class _Recorded:
    path: Path
    identity: Identity
    plan: str
    fits: bool


def pair_of(
    experiment: Experiment, place: Path, sides: tuple[tuple[NamedFile, ...], ...], *, own_change: bool = False
) -> Pair:
    """Find the directory of an experiment's current pair: one that has begun with the same pair, or a new one.

    The same pair has the same plan, the same content in every file that trials were seen to run or read, and inherits the same.

    Parameters
    ----------
    place
        The folder that contains the directories of pairs.
    sides
        The known files of base and of head, from which each side's part of the name is made.
    own_change
        Say only what has changed since the same comparison, not what another one compared.

    Raises
    ------
    PlanError
        The experiment cannot be planned.
    """
    read = parse_experiment(write_experiment(experiment), experiment.folder / EXPERIMENT)
    plan = make_plan(read)
    factors = factors_of(plan)
    kind = kind_of(read)
    change = None
    for before in _recorded(place, read):
        if own_change and before.plan != plan_digest(read):
            continue
        now = _now(local_watch(read, kind, factors), before.identity)
        found = told(now.changes(before.identity))
        if found is None and before.plan == plan_digest(read) and before.fits:
            return Pair(before.path)
        change = change or found or "the comparison is another"
    now = _now(local_watch(read, kind, factors), None)
    name = "-".join(_digest(read, now, files) for files in sides)
    free = (
        place / f"{name}{suffix}" for suffix in itertools.chain([""], (f"-{n}" for n in itertools.count(2)))
    )
    return Pair(next(path for path in free if not path.exists()), change)


def _now(watch: LocalWatch, before: Identity | None) -> Identity:
    if before is not None:
        watch.files.recall(before.files, before.volatile)
    return watch.look()[1]


def _recorded(place: Path, experiment: Experiment) -> Iterator[_Recorded]:
    """Yield the pairs that have begun, latest first, without those whose programs changed while they were measured."""
    for path in pairs_below(place):
        directory = ExperimentDirectory(path)
        try:
            ledger = directory.ledger()
        except StoreError:
            continue
        try:
            sessions = ledger.sessions()
            if sessions and len({session.epoch for session in sessions}) == 1:
                identity = recorded_identity(directory, sessions[-1])
                yield _Recorded(path, identity, ledger.fact("plan"), _fits(ledger, experiment))
        except StoreError:
            continue
        finally:
            ledger.close()


def _fits(ledger: Ledger, experiment: Experiment) -> bool:
    """Return True if the plan has no fewer rounds than the one that began."""
    before = parse_experiment(ledger.fact("experiment"), Path(EXPERIMENT))
    return size(experiment).rounds >= size(before).rounds


def _digest(experiment: Experiment, now: Identity, files: tuple[NamedFile, ...]) -> str:
    """Return eight digits for one side: its files, on this machine, in this plan."""
    watch = LocalWatch(files, experiment.folder)
    own = watch.files.identified()
    identity = dataclasses.replace(now, files=own)
    return hashlib.sha256(f"{plan_digest(experiment)} {identity.digest}".encode()).hexdigest()[:8]
