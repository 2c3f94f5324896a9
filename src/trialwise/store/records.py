"""Records of the facts in the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from trialwise.experiment.masked import MASKED
from trialwise.experiment.model import Level

Status = Literal["planned", "running", "finished", "failed", "abandoned", "invalid", "excluded", "skipped"]
"""What became of an attempt; `excluded` is a finished one that somebody left out, with a reason, `skipped` one that is not to run."""
NOT_BEGUN: tuple[Status, ...] = ("planned", "skipped")
"""Statuses of attempts that have not run."""
Blocks = Sequence[tuple[int, int]]
"""Ranges of trial numbers, first and last."""


@dataclass(frozen=True, slots=True)
class TrialRow:
    """One attempt at one trial, as recorded in the ledger.

    `series`, `round` and `position` count from 1. `epoch` counts the environments (kernel, host, measured programs, real path)
    that the experiment has seen. Times are seconds since the Unix epoch, None until they are known. `process` names the
    process that it shared with other trials; None if it had its own.
    """

    number: int
    attempt: int
    status: Status
    treatment: str
    factors: Mapping[str, Level]
    series: int
    round: int
    position: int
    order: str
    seed: int
    warmup: bool
    planned_start: float | None
    epoch: int | None = None
    session: int | None = None
    worker: str | None = None
    boot: str | None = None
    claimed: float | None = None
    started: float | None = None
    finished: float | None = None
    exit_code: int | None = None
    reason: str | None = None
    process: str | None = None


@dataclass(frozen=True, slots=True)
class TrialEnd:
    """The end of an attempt at a trial, and what it reported.

    `values` holds (source, value, number of samples, file below the directory); multiple samples are in the file. `claimed` is the
    time at which the trial was taken, for a trial that is not marked as running before its end. Times are Unix seconds.
    `process` names the process that the trial shared with others.
    """

    row: TrialRow
    status: Status
    started: float | None
    finished: float
    exit_code: int | None
    reason: str | None
    values: Sequence[tuple[str, float | None, int, str | None]]
    claimed: float | None = None
    process: str | None = None


EXCLUDE, INCLUDE, REREAD, PLAN, UPGRADE = "exclude", "include", "reread", "plan", "upgrade"
"""Kinds of amendments: a trial is left out, or back; values were read later; the file was changed; an old ledger was upgraded."""
SKIP, UNSKIP, PAUSE = "skip", "unskip", "pause"
"""Kinds of amendments that a run in progress takes up: trials of a treatment are not to run, or are again; it is to stop for now."""
JOIN, LEAVE = "worker joins", "worker leaves"
"""Kinds of amendments that a run in progress takes up: a worker takes part from now on, or no longer does."""
WORKER = "worker"
"""Key of the detail of an amendment: the name of the worker that it is about."""
TREATMENT = "treatment"
"""Key of the detail of an amendment: the treatment that it is about."""


@dataclass(frozen=True, slots=True)
class Amendment:
    """What somebody changed in a begun experiment, or about a trial that has run: when (Unix seconds), who, and why.

    `trial` and `attempt` are those it is about, None for the whole experiment; `detail` is what else the kind needs.
    """

    time: float
    kind: str
    who: str
    because: str = ""
    trial: int | None = None
    attempt: int | None = None
    detail: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class LateValues:
    """Values read later from what finished trials left behind, by number and attempt: source, value, number, and file of each.

    What a trial has reported is not replaced. `amendment` says who read them and why, and what was read as a whole; it is recorded
    first, and then for each trial with the values that it got. `digests` are those of the files.
    """

    values: Mapping[tuple[int, int], Sequence[tuple[str, float | None, int, str | None]]]
    amendment: Amendment
    digests: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Head:
    """The last link of the chain: its SHA-256, and the number of rows that it covers."""

    rows: int
    hash: str


@dataclass(frozen=True, slots=True)
class Session:
    """One run of the runner on the directory."""

    number: int
    started: float
    ended: float | None
    ending: str | None
    epoch: int
    worker: str
    boot: str
    version: str
    environment: str


@dataclass(frozen=True, slots=True)
class NodeDocument:
    """A node that computed independent trials in the last run: its `cores` (0: gone) and the number of trials `done` in that run."""

    name: str
    cores: int
    done: int


SERVICE, SERVICE_DIED, SERVICE_FAILED = "service", "service died", "service failed"
"""Kinds of the events of services: one was started, was gone when it was needed, could not be started."""
_VERSION = "; version "
ENVIRONMENT_CHANGED, PATH_CHANGED = "environment changed", "path changed"
"""Kinds of the events after which trials form another series."""

_ON = " (on worker "


def on_worker(change: str, worker: str) -> str:
    """Return what an event says of a change on a worker."""
    return f"{change}{_ON}{worker})"


REMARK = "remark"
"""The kind of what is said of a trial, or of all."""
MASKED_OUTPUTS = "outputs with masked secrets"
"""What trials and services are counted as that printed or wrote a secret."""
_ROUTINE = {"reset": "resets", SERVICE: "services started"}


def service_started(name: str, took: str, trial: int, version: str | None) -> str:
    """Return the text of the event that a service was started, before a trial."""
    return f"{name}: ready {took} after its start, before trial {trial}" + (
        f"{_VERSION}{version}" if version else ""
    )


def service_versions(events: Iterable[Event]) -> dict[str, tuple[str, ...]]:
    """Return the versions of services, by name, that events tell of; several where they changed."""
    found: dict[str, dict[str, None]] = {}
    for event in events:
        started, told, version = event.text.partition(_VERSION)
        if event.kind == SERVICE and told:
            found.setdefault(started.partition(":")[0], {})[version] = None
    return {name: tuple(versions) for name, versions in found.items()}


@dataclass(frozen=True, slots=True)
class Event:
    """An event outside the trials: a reset, a change of environment, an interruption."""

    time: float
    kind: str
    text: str

    @property
    def routine(self) -> str | None:
        """What to call events of its kind where they are counted, since they happen too often for a list; None for others."""
        if self.kind == REMARK and self.text.endswith(MASKED):
            return MASKED_OUTPUTS
        return _ROUTINE.get(self.kind)

    @property
    def change(self) -> tuple[str, str | None]:
        """What it says, and the worker that it is about, if it names one (`on_worker`)."""
        what, mark, worker = self.text.removesuffix(")").rpartition(_ON)
        return (what, worker) if mark and self.text.endswith(")") else (self.text, None)

    @property
    def begins_series(self) -> bool:
        """Whether trials after it form another series than those before, on the machine or the path that it names."""
        return self.kind in (ENVIRONMENT_CHANGED, PATH_CHANGED)

    @property
    def is_caveat(self) -> bool:
        """Whether readers of the values need to know of it: true of all non-routine events except who computed the values."""
        return self.routine is None and self.kind != "node"
