"""Who runs where: the session, its environment, and whether that environment is still the one of before."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import cast

from trialwise import __version__
from trialwise.measurement.environment import Environment, capture
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import Event, Session


class SessionKeeper:
    """Opens a session in the ledger and watches whether the measured programs stay what they are.

    An epoch is a span of sessions in which nothing that makes rounds incomparable has changed; a change begins the
    next one, and analysis takes each epoch's rounds as series of their own.
    """

    def __init__(
        self, directory: ExperimentDirectory, ledger: Ledger, programs: Sequence[Path], folder: Path
    ) -> None:
        self._directory = directory
        self._programs = tuple(programs)
        self._folder = folder
        self._stats = self._stat()
        self.session: Session
        self.marker = f"{ledger.fact('identity')}.{directory.token}"

    def open(self, ledger: Ledger) -> str | None:
        """Record a new session; return what has changed since the one before, or None."""
        sessions = ledger.sessions()
        environment = capture(self._programs, checkout=self._folder)
        return self._begin(ledger, sessions[-1] if sessions else None, environment)

    def look_again(self, ledger: Ledger) -> str | None:
        """Begin a new session and epoch where a measured program has changed; return the change, or None."""
        stats = self._stat()
        if stats == self._stats:
            return None
        self._stats = stats
        environment = capture(self._programs, checkout=self._folder)
        if _change(self._directory, self.session, environment) is None:
            return None  # touched, or built again to the same bytes
        ledger.end_session(self.session.number, time.time(), "program changed")
        return self._begin(ledger, self.session, environment)

    def close(self, ledger: Ledger, ending: str) -> None:
        """Record how the session ended."""
        ledger.end_session(self.session.number, time.time(), ending)

    def _begin(self, ledger: Ledger, previous: Session | None, environment: Environment) -> str | None:
        change = None if previous is None else _change(self._directory, previous, environment)
        number = 1 if previous is None else previous.number + 1
        boot = environment.machine.boot_id or "unknown"
        name = f"environments/{number:03d}-{boot[:8]}.json"
        self._directory.write_durably(name, json.dumps(environment.to_json(), indent=1).encode())
        self.session = Session(
            number=number,
            started=time.time(),
            ended=None,
            ending=None,
            epoch=1 if previous is None else previous.epoch + (change is not None),
            worker="local",
            boot=boot,
            version=__version__,
            environment=name,
        )
        ledger.start_session(self.session)
        if change:
            ledger.add_event(Event(time.time(), "environment changed", change))
        return change

    def _stat(self) -> tuple[tuple[str, int, int, int], ...]:
        return tuple(
            (str(path), status.st_size, status.st_mtime_ns, status.st_ino)
            for path in self._programs
            if (status := _stat_or_none(path)) is not None
        )


def new_identity() -> str:
    """A random name for an experiment directory, carried by every process of its trials."""
    return uuid.uuid4().hex


def _change(directory: ExperimentDirectory, previous: Session, environment: Environment) -> str | None:
    """What has changed since the session before, in words; None where nothing that matters has."""
    try:
        before = json.loads((directory.path / previous.environment).read_text())["fingerprint"]
    except (OSError, ValueError, KeyError):
        return "the environment of the session before cannot be read"
    after = json.loads(json.dumps(asdict(environment.fingerprint())))
    differences = [
        _difference(key, before.get(key), after[key]) for key in after if before.get(key) != after[key]
    ]
    return "; ".join(differences) or None


def _difference(key: str, before: object, after: object) -> str:
    if key != "executables":
        return f"{key.replace('_', ' ')}: {before} → {after}"
    programs = {path for path, _ in _pairs(after) ^ _pairs(before)}
    return f"programs: {', '.join(sorted(programs))}"


def _pairs(programs: object) -> set[tuple[str, str]]:
    return {(str(path), str(digest)) for path, digest in cast("list[list[str]]", programs or [])}


def _stat_or_none(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
