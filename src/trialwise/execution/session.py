"""The session: who runs where, its environment, and whether that is still the environment of before."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Protocol, cast

from trialwise import __version__
from trialwise.errors import StoreError
from trialwise.execution.amending import amended_since
from trialwise.execution.reset import reset_files
from trialwise.execution.services.lifecycle import service_files
from trialwise.experiment.model import Experiment, Level
from trialwise.foreign_files import read_foreign
from trialwise.measurement.build import own_build
from trialwise.measurement.environment import GOVERNOR, Environment, capture
from trialwise.measurement.file_identity import NamedFile, signature
from trialwise.measurement.identity import Change, Identity, Scope, replaced, told, without
from trialwise.measurement.inherited import EVERYTHING, key_here, limits, passed_on, quick_limits, variables
from trialwise.measurement.known_files import KnownFiles
from trialwise.measurement.tree import Tree
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import ENVIRONMENT_CHANGED, REMARK, Event, Session, TrialRow, on_worker
from trialwise.trials.base import TrialKind, TrialOutcome
from trialwise.trials.surroundings import passed_by

_MAX_ENVIRONMENT = 4 << 20
"""Maximum bytes of the record of a session's environment."""
CLOCK_STEP = 0.02
"""Seconds: file times follow the kernel's tick, which lags behind the clock."""


class Watch(Protocol):
    """Watches the machine that trials run on."""

    worker: str
    marker: str
    """Suffix to the marker of this directory's processes that distinguishes them from those of other workers."""
    files: KnownFiles
    """The files that its trials run and read."""

    def stats(self) -> object:
        """Return a state that differs when a measured file or a limit changed, or the machine was rebooted; cheap."""
        ...

    def changed_since(self, moment: float, paths: Iterable[str]) -> set[str]:
        """Return the paths there that changed after a moment of our clock, in Unix seconds."""
        ...

    def look(self) -> tuple[Environment, Identity]:
        """Describe the machine, and what is measured on it."""
        ...


class LocalWatch:
    """Watches this machine, the files of the trials, what they inherit, and the checkout around the experiment's folder.

    If trials are computed (not `measures`), the machine and what they inherit do not matter, but Trialwise's build does.
    """

    worker = "local"
    marker = ""

    def __init__(
        self,
        programs: Iterable[NamedFile],
        folder: Path,
        own: Iterable[str] = (),
        *,
        passed: Sequence[str] = EVERYTHING,
        measures: bool = True,
    ) -> None:
        self.files = KnownFiles(folder)
        self.files.add(programs)
        self._folder = folder
        self._own = tuple(own)
        self._passed = passed
        self._measures = measures
        self._tree = Tree(Path("/"))

    def stats(self) -> object:
        """Return signatures of the existing files, and limits that may be changed from outside."""
        files = tuple((path, signature(path)) for path in self.files.paths)
        return files, quick_limits(), self._tree.text(GOVERNOR)

    def changed_since(self, moment: float, paths: Iterable[str]) -> set[str]:
        """Return the paths that changed after a moment, in Unix seconds."""
        return changed_since(moment, ((path, signature(path)) for path in paths))

    def look(self) -> tuple[Environment, Identity]:
        """Describe this machine."""
        passed = passed_on(os.environ, self._passed)
        environment = capture(checkout=self._folder, variables=passed)
        identity = Identity(
            environment.machine_identity(),
            self.files.identified(),
            variables(passed, self._own, key_here()) if self._measures else None,
            limits() if self._measures else None,
            None if self._measures else asdict(own_build()),
            tuple(sorted(self.files.volatile)),
        )
        return environment, identity


def local_watch(
    experiment: Experiment,
    kind: TrialKind,
    factors: Sequence[Mapping[str, Level]],
    *,
    measures: bool = True,
) -> LocalWatch:
    """Watch this machine for an experiment whose trials have these factors."""
    named = chain(kind.programs(experiment, factors), reset_files(experiment, factors))
    trial = experiment.trial
    passed = passed_by(trial)
    watch = LocalWatch(named, experiment.folder, trial.variables, passed=passed, measures=measures)
    watch.files.add(service_files(experiment, factors), of_services=True)
    return watch


@dataclass(frozen=True, slots=True)
class _End:
    """What trials of a session have told of an end of a real path: what is compared, and what is recorded."""

    compared: Mapping[str, str]
    recorded: Mapping[str, object]

    def joined(self, later: _End) -> _End:
        """Return it with what a later trial adds, such as the programs of another scheme."""
        programs = {
            **cast("Mapping[str, str]", self.recorded.get("programs", {})),
            **cast("Mapping[str, str]", later.recorded.get("programs", {})),
        }
        return _End({**self.compared, **later.compared}, {**later.recorded, "programs": programs})


class SessionKeeper:
    """Opens a session in the ledger and watches whether what is measured stays the same.

    An epoch is a span of a worker's sessions in which nothing changed that makes rounds incomparable; a change, or another
    worker, begins the next one, and analysis treats each epoch's rounds as separate series. If trials are computed (not
    `measures`), the machine makes nothing incomparable, and files do so by content, wherever they are.
    """

    def __init__(
        self, directory: ExperimentDirectory, ledger: Ledger, watch: Watch, *, measures: bool = True
    ) -> None:
        self._directory = directory
        self._watch = watch
        self._scope: Scope = "measured" if measures else "computed"
        self._stats: object = None
        self._before: Identity | None = None
        self._identity: Identity
        self._environment: Environment
        self._changed: set[str] = set()
        self._learned: set[str] = set()
        self._ends: dict[str, _End] = {}
        self.session: Session
        self.marker = marker_of(directory, ledger) + watch.marker

    def open(self, ledger: Ledger) -> str | None:
        """Record a new session; return what has changed since the previous one on this worker, or None."""
        own = [session for session in ledger.sessions() if session.worker == self._watch.worker]
        previous = own[-1] if own else None
        problem = None
        if previous is not None:
            try:
                self._before = recorded_identity(self._directory, previous)
                self._watch.files.recall(self._before.files, self._before.volatile)
            except StoreError as error:
                problem = error.message
        self._stats = self._watch.stats()
        environment, identity = self._watch.look()
        if self._before is not None:
            problem = told(identity.changes(self._before, self._scope))
        if previous is not None and (amended := amended_since(ledger, previous.started)):
            problem = amended if problem is None else f"{amended}; {problem}"
        return self._begin(ledger, previous, environment, identity, problem)

    def look_again(
        self, ledger: Ledger, reset: float | None = None, served: float | None = None
    ) -> str | None:
        """Begin a new session if what is measured has changed or the machine was rebooted.

        If a reset that began at `reset` (Unix seconds) changed an input file, our own steps write that file: what they
        run and read counts instead, and the file is left out from then on. So is a file that was seen in trials, is named by no
        command, and changes before each of two trials, and one that only services name, the first of which began at `served`.
        Returns the change that begins a new epoch, or None.
        """
        stats = self._watch.stats()
        if stats == self._stats:
            self._changed.clear()
            return None
        self._stats = stats
        environment, identity = self._watch.look()
        identity = self._leave_out_written(ledger, identity, reset, served)
        change = told(identity.changes(self._identity, self._scope))
        booted = self.session.boot != _boot(environment)
        if not booted and change is None:  # touched, or rebuilt to the same bytes
            if identity.volatile != self._identity.volatile:
                self._identity = replace(self._identity, files=identity.files, volatile=identity.volatile)
                self._write(self.session.environment)
            return None
        ledger.end_session(self.session.number, time.time(), "rebooted" if booted else "program changed")
        return self._begin(ledger, self.session, environment, identity, change)

    def wants_to_follow(self, treatment: str) -> bool:
        """Return True until a trial of the treatment has been followed in this session."""
        return treatment not in self._learned

    def learn(self, ledger: Ledger, row: TrialRow, outcome: TrialOutcome, since: float) -> str | None:
        """Take in the files that a trial ran and read; it began at `since` (Unix seconds).

        Returns what differs from trials of an earlier session, or None; if it differs, a new session has begun, which includes the
        trial.
        """
        if not self.wants_to_follow(row.treatment):
            return None
        spoiled = outcome.seen is not None and (outcome.seen.spoiled or outcome.seen.problem)
        if outcome.status == "finished" or spoiled:
            self._learned.add(row.treatment)
        files, found = self._watch.files, [] if outcome.seen is None else outcome.seen.files
        news = files.learn(row.treatment, found)
        written = self._written_by_trial(since)
        files.drop(written)
        if not news and not written:
            return None
        self._stats = self._watch.stats()
        _, identity = self._watch.look()
        moved = list(self._elsewhere(row.treatment, {files.name(each)[0] for each in found}, identity))
        if not moved:
            self._add(identity)
            self._write(self.session.environment)
            return None
        files.forget(change.before for change in moved)
        ledger.end_session(self.session.number, time.time(), "program changed")
        return self._begin(ledger, self.session, *self._watch.look(), told(moved))

    def learn_ends(self, ledger: Ledger, outcome: TrialOutcome) -> bool:
        """Take in the environments of the ends of a real path.

        Returns True if an end is another than in earlier trials of this session: then another session has begun, of the same epoch,
        which includes the trial. Which series that begins, each path says.
        """
        if outcome.condition is None or not outcome.ends:
            return False
        before, now = self._ends, outcome.condition.machines
        differs = any(
            before[end].compared.get(name, text) != text
            for end, facts in now.items()
            if end in before
            for name, text in facts.items()
        )
        found = {end: _End(facts, outcome.ends[end]) for end, facts in now.items()}
        if not differs:
            found = {end: before[end].joined(one) if end in before else one for end, one in found.items()}
            if all(end in before and before[end].compared == one.compared for end, one in found.items()):
                return False
        self._ends = before | found
        if not differs:
            self._write(self.session.environment)
            return False
        ledger.end_session(self.session.number, time.time(), "end of a path changed")
        self._begin(ledger, self.session, self._environment, self._identity, None)
        return True

    def close(self, ledger: Ledger, ending: str) -> None:
        """Record how the session ended."""
        ledger.end_session(self.session.number, time.time(), ending)

    def _leave_out_written(
        self, ledger: Ledger, identity: Identity, reset: float | None, served: float | None
    ) -> Identity:
        changed = {
            change.name for change in identity.changes(self._identity, self._scope) if change.kind == "file"
        }
        by_reset = changed.intersection([] if reset is None else self._written(reset))
        of_services = changed & self._watch.files.of_services
        by_services = of_services.intersection(
            [] if served is None or not of_services else self._written(served)
        )
        by_trials = {name for name in changed & self._changed if not self._watch.files.is_of_command(name)}
        self._changed = changed
        for who, written in (
            ("resets write", by_reset),
            ("services write", by_services - by_reset),
            ("trials write", by_trials - by_reset - by_services),
        ):
            if written:
                self._watch.files.drop(written)
                text = f"{who} {', '.join(sorted(written))}: a change of it begins no series any more"
                ledger.add_event(Event(time.time(), REMARK, text))
                identity = without(identity, written)
        return identity

    def _add(self, identity: Identity) -> None:
        """Add what was seen; known files that changed during the trial are left to the check before the next one."""
        known = {each.name: each for each in self._identity.files}
        files = tuple(
            replace(known.get(each.name, each), treatments=each.treatments) for each in identity.files
        )
        if files != identity.files:
            self._stats = None
        self._identity = replace(self._identity, files=files, volatile=identity.volatile)

    def _written(self, since: float) -> list[str]:
        """Return the input files that changed after a trial or a reset began: it wrote them."""
        inputs = self._watch.files.inputs()
        changed = self._watch.changed_since(since, inputs.values()) if inputs else ()
        return [name for name, path in inputs.items() if path in changed]

    def _written_by_trial(self, since: float) -> list[str]:
        """Return the input files that a trial wrote; unchanged content means a change shortly before the trial, within a tick."""
        changed = self._written(since)
        if not changed:
            return []
        before = {each.name: each.sha256 for each in self._identity.files}
        now = {each.name: each.sha256 for each in self._watch.look()[1].files}
        return [name for name in changed if name not in before or before[name] != now.get(name)]

    def _elsewhere(self, treatment: str, names: set[str], identity: Identity) -> Iterator[Change]:
        """Yield what an earlier session's trials of a treatment ran elsewhere, with other content."""
        if self._before is None:
            return
        then = [each for each in self._before.files if treatment in each.treatments]
        now = [each for each in identity.files if each.name in names]
        for other, each in replaced(then, now):
            yield Change("place", each.name.rpartition("/")[2], other.name, each.name)

    def _begin(
        self,
        ledger: Ledger,
        previous: Session | None,
        environment: Environment,
        identity: Identity,
        change: str | None,
    ) -> str | None:
        boot = _boot(environment)
        self._environment, self._identity = environment, identity
        if change:
            self._learned.clear()
            self._before = None
        with ledger.alone():
            sessions = ledger.sessions()
            number = len(sessions) + 1
            name = f"environments/{number:03d}-{boot[:8]}.json"
            self._write(name)
            self.session = Session(
                number=number,
                started=time.time(),
                ended=None,
                ending=None,
                epoch=ledger.last_epoch() + 1 if previous is None or change else previous.epoch,
                worker=self._watch.worker,
                boot=boot,
                version=__version__,
                environment=name,
            )
            ledger.start_session(self.session)
        if change:
            worker = self._watch.worker
            text = change if worker == LocalWatch.worker else on_worker(change, worker)
            ledger.add_event(Event(time.time(), ENVIRONMENT_CHANGED, text))
        wait_a_tick()
        return change

    def _write(self, name: str) -> None:
        record = self._environment.record(self._identity)
        if self._ends:
            record["ends"] = {name: end.recorded for name, end in self._ends.items()}
        self._directory.write_durably(name, json.dumps(record, indent=1).encode())


def wait_a_tick() -> None:
    """Let files written before a session grow older than a tick, so that its first trial is not taken for their writer."""
    time.sleep(CLOCK_STEP)


def changed_since(moment: float, states: Iterable[tuple[str, Sequence[int] | None]]) -> set[str]:
    """Return the paths that changed after `moment`, on their machine's clock, given their signatures."""
    limit = (moment - CLOCK_STEP) * 1e9
    return {path for path, state in states if state is not None and state[4] >= limit}


def recorded_identity(directory: ExperimentDirectory, session: Session) -> Identity:
    """Return what was measured in a session.

    Raises
    ------
    StoreError
        The record of its environment cannot be read.
    """
    try:
        file = directory.path / session.environment
        recorded = read_foreign(file, _MAX_ENVIRONMENT, within=directory.path, error=StoreError)
        return Identity.from_json(json.loads(recorded))
    except (ValueError, RecursionError) as error:
        raise StoreError("the environment of the session before cannot be read") from error


def marker_of(directory: ExperimentDirectory, ledger: Ledger) -> str:
    """Return the marker of the processes of this directory's trials; no other's, not even a copy's, have it."""
    return f"{ledger.fact('identity')}.{directory.token}"


def _boot(environment: Environment) -> str:
    return environment.machine.boot_id or "unknown"


def new_identity() -> str:
    """Return a random name for an experiment directory, which every process of its trials carries."""
    return uuid.uuid4().hex
