"""What happens while an experiment runs, told to observers that the caller hands in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from trialwise.store.records import Session, TrialRow
from trialwise.trials.base import TrialOutcome


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """The runner begins or goes on; `done` of `total` trials have come to an end before."""

    session: Session
    done: int
    total: int
    reclaimed: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """The next round starts at `until` (Unix seconds)."""

    until: float


@dataclass(frozen=True, slots=True)
class Resetting:
    """The reset command runs."""

    row: TrialRow


@dataclass(frozen=True, slots=True)
class TrialStarted:
    """A trial was claimed and is about to run."""

    row: TrialRow


@dataclass(frozen=True, slots=True)
class TrialEnded:
    """A trial came to its end and is on disk."""

    row: TrialRow
    outcome: TrialOutcome


@dataclass(frozen=True, slots=True)
class EnvironmentChanged:
    """Kernel, host or a measured program changed: later rounds are a series of their own."""

    text: str


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Somebody asked to stop; `at_once` when the trial in hand is abandoned."""

    at_once: bool


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """The runner stops: `ending` says why in a word."""

    ending: str


RunEvent = (
    SessionStarted
    | Waiting
    | Resetting
    | TrialStarted
    | TrialEnded
    | EnvironmentChanged
    | Interrupted
    | SessionEnded
)


class Observer(Protocol):
    """Somebody who is told what happens; it must return quickly, and never during a trial."""

    def notice(self, event: RunEvent) -> None:
        """Take note of an event."""
        ...
