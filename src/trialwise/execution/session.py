"""Who runs where: the session, its environment, and whether that environment is still the one of before."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Protocol, cast

from trialwise import __version__
from trialwise.measurement.environment import Environment, capture
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import Event, Session


class Watch(Protocol):
    """What is to be known of the machine that trials run on."""

    worker: str
    marker: str
    """What is added to the marker of this directory's processes, so that they are told from those of other workers."""

    def stats(self) -> object:
        """What differs when a measured program was changed, or the machine was booted again; cheap."""
        ...

    def environment(self) -> Environment:
        """The machine with its programs."""
        ...


class LocalWatch:
    """Watches this machine, the files of the measured programs, and the checkout around the experiment's folder."""

    worker = "local"
    marker = ""

    def __init__(self, programs: Sequence[Path], folder: Path) -> None:
        self._programs = tuple(programs)
        self._folder = folder

    def stats(self) -> tuple[tuple[str, int, int, int], ...]:
        """Size, time of change and inode of each program that is there."""
        return tuple(
            (str(path), status.st_size, status.st_mtime_ns, status.st_ino)
            for path in self._programs
            if (status := _stat_or_none(path)) is not None
        )

    def environment(self) -> Environment:
        """Describe the machine that we run on."""
        return capture(self._programs, checkout=self._folder)


class SessionKeeper:
    """Opens a session in the ledger and watches whether the measured programs stay what they are.

    An epoch is a span of sessions of a worker in which nothing that makes rounds incomparable has changed; a change, or another
    worker, begins the next one, and analysis takes each epoch's rounds as series of their own. Where trials are computed (not
    `measures`), the machine makes nothing incomparable, and programs do by what is in them, wherever they stand.
    """

    def __init__(
        self, directory: ExperimentDirectory, ledger: Ledger, watch: Watch, *, measures: bool = True
    ) -> None:
        self._directory = directory
        self._watch = watch
        self._measures = measures
        self._stats = watch.stats()
        self.session: Session
        self.marker = marker_of(directory, ledger) + watch.marker

    def open(self, ledger: Ledger) -> str | None:
        """Record a new session; return what has changed since the one before on this worker, or None."""
        own = [session for session in ledger.sessions() if session.worker == self._watch.worker]
        return self._begin(ledger, own[-1] if own else None, self._watch.environment())

    def look_again(self, ledger: Ledger) -> str | None:
        """Begin a new session where a measured program has changed or the machine was booted again.

        Returns the change that makes it a new epoch, or None.
        """
        stats = self._watch.stats()
        if stats == self._stats:
            return None
        self._stats = stats
        environment = self._watch.environment()
        booted = self.session.boot != _boot(environment)
        if not booted and self._change(self.session, environment) is None:
            return None  # touched, or built again to the same bytes
        ledger.end_session(self.session.number, time.time(), "rebooted" if booted else "program changed")
        return self._begin(ledger, self.session, environment)

    def close(self, ledger: Ledger, ending: str) -> None:
        """Record how the session ended."""
        ledger.end_session(self.session.number, time.time(), ending)

    def _begin(self, ledger: Ledger, previous: Session | None, environment: Environment) -> str | None:
        change = None if previous is None else self._change(previous, environment)
        boot = _boot(environment)
        with ledger.alone():
            sessions = ledger.sessions()
            number = len(sessions) + 1
            name = f"environments/{number:03d}-{boot[:8]}.json"
            self._directory.write_durably(name, json.dumps(environment.to_json(), indent=1).encode())
            self.session = Session(
                number=number,
                started=time.time(),
                ended=None,
                ending=None,
                epoch=_epoch(sessions, previous, changed=change is not None),
                worker=self._watch.worker,
                boot=boot,
                version=__version__,
                environment=name,
            )
            ledger.start_session(self.session)
        if change:
            ledger.add_event(Event(time.time(), "environment changed", change))
        return change

    def _change(self, previous: Session, environment: Environment) -> str | None:
        """What has changed since the session before, in words; None where nothing that matters has."""
        try:
            before = json.loads((self._directory.path / previous.environment).read_text())["fingerprint"]
        except (OSError, ValueError, KeyError):
            return "the environment of the session before cannot be read"
        after = json.loads(json.dumps(asdict(environment.fingerprint())))
        if not self._measures:
            return _other_contents(before.get(_PROGRAMS), after[_PROGRAMS])
        differences = [
            _difference(key, before.get(key), after[key]) for key in after if before.get(key) != after[key]
        ]
        return "; ".join(differences) or None


def marker_of(directory: ExperimentDirectory, ledger: Ledger) -> str:
    """What the processes of this directory's trials carry; nobody else's do, not even those of a copy of it."""
    return f"{ledger.fact('identity')}.{directory.token}"


def _epoch(sessions: Sequence[Session], previous: Session | None, *, changed: bool) -> int:
    if previous is not None and not changed:
        return previous.epoch
    return max((session.epoch for session in sessions), default=0) + 1


def _boot(environment: Environment) -> str:
    return environment.machine.boot_id or "unknown"


def new_identity() -> str:
    """A random name for an experiment directory, carried by every process of its trials."""
    return uuid.uuid4().hex


_PROGRAMS = "executables"
"""Key of a fingerprint: pairs of a program's path and its digest."""


def _difference(key: str, before: object, after: object) -> str:
    if key != _PROGRAMS:
        return f"{key.replace('_', ' ')}: {before} → {after}"
    return _programs_text(path for path, _ in _pairs(after) ^ _pairs(before))


def _other_contents(before: object, after: object) -> str | None:
    """Which programs are new by what is in them; None where the same ones are there, at whatever place."""
    then, now = _pairs(before), _pairs(after)
    differing = {digest for _, digest in then} ^ {digest for _, digest in now}
    if not differing:
        return None
    return _programs_text(path for path, digest in then | now if digest in differing)


def _programs_text(paths: Iterable[str]) -> str:
    return f"programs: {', '.join(sorted(set(paths)))}"


def _pairs(programs: object) -> set[tuple[str, str]]:
    return {(str(path), str(digest)) for path, digest in cast("list[list[str]]", programs or [])}


def _stat_or_none(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
