"""Events while an experiment runs, sent to observers that the caller passes in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from trialwise.measurement.samples import Samples
from trialwise.store.records import Session, TrialRow
from trialwise.trials.base import TrialOutcome


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """The runner begins or continues.

    `done` of `total` trials ended before; `reclaimed` were cut off by a kill and run again; `last_start` is the planned start of the
    last round (Unix seconds), None if rounds run back to back. `session` is None if there are workers
    besides this machine, which have their own sessions.
    """

    session: Session | None
    done: int
    total: int
    reclaimed: int
    last_start: float | None = None


@dataclass(frozen=True, slots=True)
class PlanGrew:
    """Trials were added to a run in progress, as for a worker that joins: there are `total` now, with those that have ended."""

    total: int


@dataclass(frozen=True, slots=True)
class TreatmentsSkipped:
    """These treatments, and no others, are skipped from now on; there are `total` trials now, with those that have ended."""

    treatments: frozenset[str]
    total: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """The next round starts at `until` (Unix seconds), or what else is waited `for_`."""

    until: float
    for_: str = "the next round"


@dataclass(frozen=True, slots=True)
class Resetting:
    """The machine is being reset."""

    row: TrialRow


@dataclass(frozen=True, slots=True)
class ServiceStarting:
    """A service is started before a trial, and waited for."""

    row: TrialRow
    name: str


@dataclass(frozen=True, slots=True)
class TrialStarted:
    """A trial was claimed and is about to run."""

    row: TrialRow


@dataclass(frozen=True, slots=True)
class Computing:
    """Independent trials are being computed concurrently; sent a few times per second.

    `oldest` is when the first of those still out was handed out (Unix seconds), None if none is out.
    """

    trials: int
    cores: int
    nodes: int
    oldest: float | None = None


@dataclass(frozen=True, slots=True)
class NodesAwaited:
    """A cluster has no node, or none any more; the run waits for one."""


@dataclass(frozen=True, slots=True)
class TrialEnded:
    """A trial has ended and is on disk; an independent trial is being written together with others.

    `is_last` is false if another attempt at it follows.
    """

    row: TrialRow
    outcome: TrialOutcome
    is_last: bool = True


@dataclass(frozen=True, slots=True)
class EnvironmentChanged:
    """Kernel, host or a measured program changed: later rounds form a new series."""

    text: str


@dataclass(frozen=True, slots=True)
class PathChanged:
    """A real path changed: its later trials form a new series, those on other paths do not; or it changed within a trial."""

    text: str


@dataclass(frozen=True, slots=True)
class TrialRecalled:
    """A trial finished by an earlier session, sent before `SessionStarted`; `samples` reads what it reported."""

    row: TrialRow
    samples: Callable[[], Mapping[str, Samples]]


@dataclass(frozen=True, slots=True)
class ClockDisturbed:
    """The machine slept, or its clock was set, around a trial."""

    row: TrialRow
    text: str


@dataclass(frozen=True, slots=True)
class Remarked:
    """A remark on the machine that concerns all trials; sent once."""

    text: str


@dataclass(frozen=True, slots=True)
class StopRequested:
    """A request to stop; sent immediately, even during a trial, and from another thread."""

    at_once: bool


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The runner stops on request; `at_once` if the current trial was abandoned."""

    at_once: bool


@dataclass(frozen=True, slots=True)
class WorkerNotice:
    """Something happened to a worker: it was reached, lost its connection, or was given up."""

    worker: str
    text: str


@dataclass(frozen=True, slots=True)
class StoppingOutlook:
    """Progress of an experiment that stops by itself, sent before each round.

    `total` is the expected number of trials, None while it is unknown; `texts` say what is still open. During a
    `pilot`, `total` counts only its own trials, because it is unknown how many follow.
    """

    total: int | None
    texts: tuple[str, ...]
    pilot: bool = False


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """The runner stops; `ending` gives the reason as a word."""

    ending: str


RunEvent = (
    SessionStarted
    | PlanGrew
    | TreatmentsSkipped
    | Waiting
    | Resetting
    | ServiceStarting
    | TrialStarted
    | Computing
    | NodesAwaited
    | TrialEnded
    | TrialRecalled
    | EnvironmentChanged
    | PathChanged
    | ClockDisturbed
    | Remarked
    | StopRequested
    | Interrupted
    | WorkerNotice
    | StoppingOutlook
    | SessionEnded
)


class Observer(Protocol):
    """Receives events between trials, and requests to stop even during one; it must return quickly."""

    def notice(self, event: RunEvent) -> None:
        """Take note of an event."""
        ...
