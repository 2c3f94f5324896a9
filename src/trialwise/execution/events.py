"""What happens while an experiment runs, told to observers that the caller hands in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from trialwise.measurement.samples import Samples
from trialwise.store.records import Session, TrialRow
from trialwise.trials.base import TrialOutcome


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """The runner begins or goes on.

    `done` of `total` trials have come to an end before; `reclaimed` were cut off by a kill and run again; `last_start` is when the
    last round is planned to start (Unix seconds), None where rounds run back to back. `session` is None where there are workers
    beside this machine, which have sessions of their own.
    """

    session: Session | None
    done: int
    total: int
    reclaimed: int
    last_start: float | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """The next round starts at `until` (Unix seconds)."""

    until: float


@dataclass(frozen=True, slots=True)
class Resetting:
    """The machine is reset."""

    row: TrialRow


@dataclass(frozen=True, slots=True)
class TrialStarted:
    """A trial was claimed and is about to run."""

    row: TrialRow


@dataclass(frozen=True, slots=True)
class Computing:
    """So many independent trials are being computed at the same time; told a few times each second.

    `oldest` is when the first of those that are not back was handed out (Unix seconds), None where all are.
    """

    trials: int
    cores: int
    nodes: int
    oldest: float | None = None


@dataclass(frozen=True, slots=True)
class NodesAwaited:
    """Of a cluster no node is there, or none any more; the run waits for one."""


@dataclass(frozen=True, slots=True)
class TrialEnded:
    """A trial came to its end and is on disk; of independent trials, on its way there with those that came in with it."""

    row: TrialRow
    outcome: TrialOutcome


@dataclass(frozen=True, slots=True)
class EnvironmentChanged:
    """Kernel, host or a measured program changed: later rounds are a series of their own."""

    text: str


@dataclass(frozen=True, slots=True)
class TrialRecalled:
    """A trial that an earlier session finished, told before `SessionStarted`; `samples` reads what it reported."""

    row: TrialRow
    samples: Callable[[], Mapping[str, Samples]]


@dataclass(frozen=True, slots=True)
class ClockDisturbed:
    """The machine slept, or its clock was set, around a trial."""

    row: TrialRow
    text: str


@dataclass(frozen=True, slots=True)
class Remarked:
    """Something about the machine that matters to all trials; told once."""

    text: str


@dataclass(frozen=True, slots=True)
class StopRequested:
    """Somebody asks to stop; told at once, also during a trial, and from another thread."""

    at_once: bool


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The runner stops because it was asked to; `at_once` when the trial in hand was abandoned."""

    at_once: bool


@dataclass(frozen=True, slots=True)
class WorkerNotice:
    """Something happened to a worker: it was reached, lost its connection, or is given up."""

    worker: str
    text: str


@dataclass(frozen=True, slots=True)
class StoppingOutlook:
    """How far an experiment that stops by itself is, told before each round.

    `total` is how many trials there will be by what is known so far, None while nothing is; `texts` say what is still open. In a
    `pilot` those are its own, and nobody knows yet how many follow.
    """

    total: int | None
    texts: tuple[str, ...]
    pilot: bool = False


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """The runner stops: `ending` says why in a word."""

    ending: str


RunEvent = (
    SessionStarted
    | Waiting
    | Resetting
    | TrialStarted
    | Computing
    | NodesAwaited
    | TrialEnded
    | TrialRecalled
    | EnvironmentChanged
    | ClockDisturbed
    | Remarked
    | StopRequested
    | Interrupted
    | WorkerNotice
    | StoppingOutlook
    | SessionEnded
)


class Observer(Protocol):
    """Somebody who is told what happens between trials, and of a request to stop also during one; it must return quickly."""

    def notice(self, event: RunEvent) -> None:
        """Take note of an event."""
        ...
