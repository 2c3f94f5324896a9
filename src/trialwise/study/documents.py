"""The versioned documents that `run` and `status` print with --json; their schemas are in `schemas/`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from trialwise.analysis.stopping.results import StoppingState
from trialwise.execution.endings import EndingReason
from trialwise.experiment.factors import Level
from trialwise.store.records import Amendment, Event, Head, NodeDocument, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppingDocument(StoppingState):
    """Whether an experiment that stops by itself has enough, and what it knows about each claim.

    `reason` says why it ends, null while it continues; `lifts` says what to do about claims still open at its end. `rounds` of
    at most `most` have finished, and `forecast` is their expected number, null while unknown. `seconds` is the time used, of `budget`
    if there is one. `out_of_reach` says that a claim would take far more than `most`, so that the experiment ends before any more
    runs.
    """

    lifts: str | None


@dataclass(frozen=True, slots=True)
class RunDocument:
    """How a run ended; `counts` holds the attempts at trials by status. `stopping` is null if the plan alone decides."""

    directory: str
    ending: EndingReason
    text: str
    counts: dict[str, int]
    stopping: StoppingDocument | None = None
    format: Literal["trialwise.run/1"] = "trialwise.run/1"


@dataclass(frozen=True, slots=True)
class FailureDocument:
    """An attempt at a trial that did not finish, and why."""

    number: int
    attempt: int
    treatment: str
    status: Status
    reason: str | None


@dataclass(frozen=True, slots=True)
class WorkerDocument:
    """Progress of a worker: trials that ended, those of them that finished, those left, and its current trial.

    `missing` names the incomplete rounds, as text.
    """

    name: str
    done: int
    finished: int
    left: int
    running: tuple[int, ...]
    missing: str


@dataclass(frozen=True, slots=True)
class StatusDocument:
    """Progress of an experiment; `workers` is empty if only this machine works, `nodes` if trials are measured.

    `planned` and `done` count trials, `counts` and `treatments` attempts by status; `seconds_left` is null if it is unknown, and
    once a run has stopped by itself. Times of events are Unix seconds. `stopping` is null if the plan alone decides. `chain` is the
    head of the hash chain, null in a ledger of an older format; `amendments` are what was changed after the experiment began.
    """

    name: str
    planned: int
    done: int
    active: bool
    activity: str
    seconds_left: float | None
    counts: dict[str, int]
    treatments: dict[str, dict[str, int]]
    failures: list[FailureDocument]
    events: list[Event]
    workers: list[WorkerDocument] = field(default_factory=list[WorkerDocument])
    nodes: list[NodeDocument] = field(default_factory=list[NodeDocument])
    stopping: StoppingDocument | None = None
    chain: Head | None = None
    amendments: list[Amendment] = field(default_factory=list[Amendment])
    format: Literal["trialwise.status/1"] = "trialwise.status/1"


@dataclass(frozen=True, slots=True)
class ValueDocument:
    """What a trial reported from a source: the number, or how many there are and the file that holds them."""

    source: str
    value: float | None
    samples: int
    file: str | None


@dataclass(frozen=True, slots=True)
class OutputDocument:
    """What is kept of an output: its compressed file in the directory, and its size in bytes. `cut`: its middle is missing."""

    name: Literal["stdout", "stderr"]
    file: str
    bytes: int
    cut: bool


@dataclass(frozen=True, slots=True)
class KeptFileDocument:
    """A file that a trial wrote and that is kept in its archive; its size in bytes."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class TrialDocument:
    """An attempt at a trial: how it ran, what it reported, and what is kept of what it printed and wrote.

    Times are Unix seconds. `archive` and `log` are files in the directory, null if there are none.
    """

    number: int
    attempt: int
    attempts: int
    treatment: str
    factors: dict[str, Level]
    status: Status
    reason: str | None
    series: int
    round: int
    position: int
    seed: int
    worker: str | None
    started: float | None
    finished: float | None
    exit_code: int | None
    values: list[ValueDocument]
    outputs: list[OutputDocument]
    files: list[KeptFileDocument]
    archive: str | None
    log: str | None
    format: Literal["trialwise.trial/1"] = "trialwise.trial/1"


@dataclass(frozen=True, slots=True)
class ExclusionDocument:
    """The trials that `trialwise exclude` left out, or back: those of this call in `trials`, and all that are out in `excluded`."""

    directory: str
    kind: Literal["exclude", "include"]
    because: str
    who: str
    trials: list[FailureDocument]
    excluded: list[FailureDocument]
    chain: Head
    format: Literal["trialwise.exclude/1"] = "trialwise.exclude/1"


@dataclass(frozen=True, slots=True)
class SkippedDocument:
    """A treatment that is skipped, the number of its trials that do not run, and who asked for that, when and why."""

    treatment: str
    trials: int
    why: Amendment


@dataclass(frozen=True, slots=True)
class SkipDocument:
    """The treatments that `trialwise skip` skipped, or no longer skips: those of this call, and all that are in `skipped`."""

    directory: str
    kind: Literal["skip", "unskip"]
    because: str
    who: str
    treatments: list[str]
    skipped: list[SkippedDocument]
    chain: Head
    format: Literal["trialwise.skip/1"] = "trialwise.skip/1"


@dataclass(frozen=True, slots=True)
class PauseDocument:
    """A run that was asked to pause after its running trials: by whom and why."""

    directory: str
    because: str
    who: str
    chain: Head
    format: Literal["trialwise.pause/1"] = "trialwise.pause/1"


@dataclass(frozen=True, slots=True)
class WorkersDocument:
    """The workers that joined or left, and all that take part from now on (`employed`)."""

    directory: str
    kind: Literal["worker joins", "worker leaves"]
    because: str
    who: str
    workers: list[str]
    employed: list[str]
    chain: Head
    format: Literal["trialwise.workers/1"] = "trialwise.workers/1"
