"""What every kind of trial takes and gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from trialwise.experiment.model import Experiment, Level
    from trialwise.measurement.file_identity import NamedFile
    from trialwise.measurement.followed import Seen
    from trialwise.measurement.samples import Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One trial, as far as what it computes may depend on: the same task gives the same outcome wherever it is carried out."""

    experiment: Experiment
    factors: Mapping[str, Level]
    number: int
    attempt: int
    series: int
    round: int
    position: int
    seed: int

    @property
    def places(self) -> dict[str, Level]:
        """The factors and the built-in placeholders but `directory`."""
        built_in: dict[str, Level] = {
            "seed": self.seed,
            "series": self.series,
            "round": self.round,
            "position": self.position,
            "trial": self.number,
        }
        return built_in | dict(self.factors)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRequest(Task):
    """One trial to be executed on this machine.

    `scratch` is a folder in which a fresh directory may be made, `marker` the value of the variable `MARKER`, and
    `cancel` a file descriptor that becomes readable when the trial is to be abandoned. `inside` is a process whose namespaces
    the trial is to run in, where there is one. `session` is the number of the run of the runner that it belongs to. `follow` asks
    which files the trial runs and reads.
    """

    scratch: Path
    marker: str
    cancel: int
    inside: int | None = None
    session: int = 1
    follow: bool = False


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """What came of a trial: its end, and the samples that it reported by source key. Times are Unix seconds.

    `remarks` are about the machine rather than the trial: told once, however many trials have them.
    `record` is a Parquet file in the scratch folder, with a row for each packet or flow, to be kept with the samples; and which. Of a
    trial that is computed elsewhere it is what stands in the file. `process` names the process that the trial shared with
    others, None for one of its own. `seen` is what was asked for by `TrialRequest.follow`. `kept` is an archive of the files that it
    wrote, of those that are to be kept.
    """

    status: Literal["finished", "failed", "abandoned", "invalid"]
    started: float | None
    finished: float
    exit_code: int | None = None
    reason: str | None = None
    samples: Mapping[str, Samples] = field(default_factory=dict[str, "Samples"])
    record: tuple[Literal["packets", "flows"], Path | bytes] | None = None
    remarks: tuple[str, ...] = ()
    output: bytes = b""
    errors: bytes = b""
    process: str | None = None
    seen: Seen | None = None
    kept: bytes = b""


class TrialKind(Protocol):
    """A kind of trial."""

    def check(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
        """Look before anything runs whether the trials can run; raise PlanError where they cannot.

        `factors` holds one mapping for each treatment, drawn factors included.
        """
        ...

    def programs(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> Iterator[NamedFile]:
        """Name the files that are known before any trial to be run or read by them; their change makes trials incomparable."""
        ...

    def attachments(
        self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]
    ) -> Iterator[tuple[str, Path]]:
        """Name the files that belong to what the experiment file says: a relative name for the copy, and where each is."""
        ...

    def execute(self, request: TrialRequest) -> TrialOutcome:
        """Execute one trial; never raises for what the measured program does."""
        ...


@runtime_checkable
class KeepsProcesses(Protocol):
    """A kind of trial whose processes outlive a trial."""

    def leave(self) -> None:
        """End them: no further trial comes for now."""
        ...


@runtime_checkable
class IndependentKind(TrialKind, Protocol):
    """A kind whose trials measure no machine: they may be computed at the same time, in any order, in any process.

    The kind is pickled with its tasks, and so are the outcomes.
    """

    def compute(self, task: Task) -> TrialOutcome:
        """Compute one trial from nothing but the task; samples are the same bits wherever and however often that is done.

        It is never abandoned: who is not waited for any more is killed.
        """
        ...
