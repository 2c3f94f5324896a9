"""What `run` and `status` print with --json: versioned documents, whose schemas stand in `schemas/`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from trialwise.store.records import Event, Status


@dataclass(frozen=True, slots=True)
class ClaimDocument:
    """One thing that is to be known, and how far that is.

    `state` is open while it is not judged. The bounds are at `confidence` percent; `width` is half of what lies between them and
    `target` the half-width asked for (of a difference: the margin), all in `unit`. `n` are the units of `level` that were judged, of
    each side; `wanted` how many the forecast asks for, null where there is none, and `wanted_low` to `wanted_high` its 95 %
    interval. `estimand` is per_trial or pooled, `convention` that of a percentile of samples, and `looks` how often a rule has
    looked that looks more than once. `controls` are control variates where the claim is looked at with them: `gain` is then what
    they take the variance down by, and of the plain and the controlled interval `low` and `high` is the one that is to be used.
    """

    kind: Literal["metric", "kpi", "variability", "difference"]
    metric: str
    unit: str
    subject: str
    what: str
    asked: str
    state: Literal["open", "decided", "undecided"]
    verdict: Literal["different", "equivalent", "undecided"] | None
    estimate: float | None
    low: float | None
    high: float | None
    width: float | None
    target: float | None
    n: tuple[int, ...]
    wanted: int | None
    level: str
    confidence: float
    method: str
    note: str
    estimand: str = ""
    convention: str = ""
    looks: int = 0
    wanted_low: int | None = None
    wanted_high: int | None = None
    controls: str = ""
    gain: float | None = None
    plain_low: float | None = None
    plain_high: float | None = None
    controlled_low: float | None = None
    controlled_high: float | None = None


@dataclass(frozen=True, slots=True)
class StoppingDocument:
    """Whether an experiment that stops by itself has enough, and what it knows of each claim.

    `reason` says why it ends, null while it goes on; `lifts` what to do about claims that it ends without. `rounds` have run to
    their end of `most`, and `forecast` is how many it will be, null while nobody knows. `seconds` is the time used. `out_of_reach`
    says that a claim would take far more than `most`, for which it ends before any more runs.
    """

    looks: Literal["two-stage", "geometric", "anytime", "cceval"]
    phase: Literal["pilot", "fresh", "looking", "judged"]
    decided: bool
    reason: str | None
    lifts: str | None
    rounds: int
    forecast: int | None
    most: int
    seconds: float
    budget: float | None
    correction: str
    claims: tuple[ClaimDocument, ...]
    warnings: tuple[str, ...]
    out_of_reach: bool = False


@dataclass(frozen=True, slots=True)
class RunDocument:
    """How a run ended; `counts` holds the attempts at trials by status. `stopping` is null where the plan alone decides."""

    directory: str
    ending: Literal["complete", "interrupted", "stopped", "reset failed", "worker lost"]
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
    """How far a worker is: trials that came to an end, those of them that finished, those left, and what it has in hand.

    `missing` names the rounds that are not complete, in words.
    """

    name: str
    done: int
    finished: int
    left: int
    running: tuple[int, ...]
    missing: str


@dataclass(frozen=True, slots=True)
class NodeDocument:
    """Who computes independent trials in the last run: so many `cores` (0: gone), and so many trials `done` in that run."""

    name: str
    cores: int
    done: int


@dataclass(frozen=True, slots=True)
class StatusDocument:
    """How far an experiment is; `workers` is empty where only this machine works, `nodes` where trials are measured.

    `planned` and `done` count trials, `counts` and `treatments` attempts by status; `seconds_left` is null where nothing says it, and
    once a run has stopped by itself. Times of events are Unix seconds. `stopping` is null where the plan alone decides.
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
    format: Literal["trialwise.status/1"] = "trialwise.status/1"
