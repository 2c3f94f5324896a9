"""The interface of all kinds of trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from trialwise.experiment.model import Experiment, Level
    from trialwise.measurement.file_identity import NamedFile
    from trialwise.measurement.followed import Seen
    from trialwise.measurement.path_condition import PathCondition
    from trialwise.measurement.samples import Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One trial, as far as its computation may depend on it: the same task gives the same outcome wherever it runs."""

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
        """Return the factors and the built-in placeholders except `directory`."""
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
    `cancel` a file descriptor that becomes readable to abandon the trial. `namespace_pid` is a process whose namespaces
    the trial is to run in, if any. `session` is the number of the runner's run that it belongs to. `follow` requests
    the files that the trial runs and reads.
    """

    scratch: Path
    marker: str
    cancel: int
    namespace_pid: int | None = None
    session: int = 1
    follow: bool = False


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """The outcome of a trial: how it ended, and the samples that it reported by source key. Times are Unix seconds.

    `remarks` concern the machine, not the trial, and are reported once however many trials have them.
    `record` is a Parquet file in the scratch folder with a row per packet or flow, to be kept with the samples, and its kind; for a
    trial computed elsewhere, it is the file's content. `process` names the process that the trial shared with
    others, None if it had its own. `seen` answers `TrialRequest.follow`. `kept` is an archive of those files written by the trial
    that are to be kept. `cause` says more than the status about what ended it, if that is known. `condition` is that of the real path
    that the trial ran over, `ends` what the session's record keeps of its ends, by name.
    """

    status: Literal["finished", "failed", "abandoned", "invalid"]
    started: float | None
    finished: float
    exit_code: int | None = None
    reason: str | None = None
    cause: Literal["timeout", "service", "lost"] | None = None
    samples: Mapping[str, Samples] = field(default_factory=dict[str, "Samples"])
    record: tuple[Literal["packets", "flows"], Path | bytes] | None = None
    remarks: tuple[str, ...] = ()
    output: bytes = b""
    errors: bytes = b""
    process: str | None = None
    seen: Seen | None = None
    kept: bytes = b""
    condition: PathCondition | None = None
    ends: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, "Mapping[str, object]"])


class TrialKind(Protocol):
    """A kind of trial."""

    def check(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
        """Check before anything runs that the trials can run; raise PlanError if not.

        `factors` holds one mapping per treatment, including sampled factors.
        """
        ...

    def programs(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> Iterator[NamedFile]:
        """Name the files that trials are known in advance to run or read; a change in them makes trials incomparable."""
        ...

    def attachments(
        self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]
    ) -> Iterator[tuple[str, Path]]:
        """Name the files that complete the experiment file: a relative name for the copy, and the path of each."""
        ...

    def execute(self, request: TrialRequest) -> TrialOutcome:
        """Execute one trial; never raises for anything the measured program does."""
        ...


class ComputedKind:
    """Base of kinds that compute trials from the task alone; they need no files and no check beforehand."""

    def check(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
        """Accept every experiment."""

    def programs(
        self,
        experiment: Experiment,  # noqa: ARG002 the protocol's
        factors: Sequence[Mapping[str, Level]],  # noqa: ARG002 the protocol's
    ) -> Iterator[NamedFile]:
        """Name no files."""
        yield from ()

    def attachments(
        self,
        experiment: Experiment,  # noqa: ARG002 the protocol's
        factors: Sequence[Mapping[str, Level]],  # noqa: ARG002 the protocol's
    ) -> Iterator[tuple[str, Path]]:
        """Name no files."""
        yield from ()

    def execute(self, request: TrialRequest) -> TrialOutcome:
        """Compute the trial in this process."""
        return self.compute(request)

    def compute(self, task: Task) -> TrialOutcome:
        """Compute one trial; see `IndependentKind`."""
        raise NotImplementedError


@runtime_checkable
class KeepsProcesses(Protocol):
    """A kind of trial whose processes outlive a trial."""

    def close(self) -> None:
        """End them: no further trial comes for now."""
        ...


@runtime_checkable
class IndependentKind(TrialKind, Protocol):
    """A kind whose trials measure no machine: they may be computed concurrently, in any order, in any process.

    The kind is pickled with its tasks, and so are the outcomes.
    """

    def compute(self, task: Task) -> TrialOutcome:
        """Compute one trial from the task alone; samples have the same bits wherever and however often this is done.

        It is never abandoned: a process that is no longer needed is killed.
        """
        ...
