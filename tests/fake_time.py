"""A clock, a machine and a kind of trial of the tests' own, so that hours of an experiment take milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trialwise.design.plan import make_plan
from trialwise.execution.clocks import Clocks
from trialwise.execution.create import begin, resume
from trialwise.execution.endings import Ending
from trialwise.execution.events import Observer
from trialwise.execution.interruption import Interruption
from trialwise.execution.runner import Runner
from trialwise.execution.services.lifecycle import LocalServices
from trialwise.execution.session import LocalWatch, SessionKeeper
from trialwise.execution.stopping import RunThePlan, StoppingRule
from trialwise.experiment.model import Experiment
from trialwise.experiment.reading import read_experiment
from trialwise.store.directory import DirectoryLock, ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import TrialRow
from trialwise.trials.base import TrialOutcome, TrialRequest


class FakeClock:
    """A clock that goes on only when somebody waits."""

    def __init__(self, begin: float = 1_700_000_000.0) -> None:
        self.realtime = begin
        self._monotonic = self._boottime = 1000.0
        self.waited: list[float] = []

    def now(self) -> float:
        return self.realtime

    def clocks(self) -> Clocks:
        return Clocks(self.realtime, self._monotonic, self._boottime)

    def wait(self, seconds: float) -> None:
        """Let time pass, as a program sees that waits."""
        self.realtime += seconds
        self._monotonic += seconds
        self._boottime += seconds

    def sleep_machine(self, seconds: float) -> None:
        """Let the machine sleep."""
        self.realtime += seconds
        self._boottime += seconds

    def step(self, seconds: float) -> None:
        """Set the clock of the day."""
        self.realtime += seconds


class FakeInterruption(Interruption):
    """Sleeps on a fake clock; `requests` are moments at which somebody asks to stop."""

    def __init__(self, clock: FakeClock, requests: Sequence[float] = ()) -> None:
        super().__init__()
        self._clock = clock
        self._requests = sorted(requests)

    def sleep_until(self, moment: float) -> None:
        asked = next((each for each in self._requests if self._clock.now() < each <= moment), None)
        until = moment if asked is None else asked
        seconds = max(until - self._clock.now(), 0.0)
        self._clock.waited.append(seconds)
        self._clock.wait(seconds)
        if asked is not None:
            self.requested = True


@dataclass
class FakeHost:
    """A machine whose resets take no program."""

    clock: FakeClock
    reset_takes: float = 0.0
    problem: str | None = None
    resets: list[float] = field(default_factory=list[float])
    namespace_pid: int | None = None
    services: LocalServices = field(default_factory=lambda: LocalServices("."))

    def clocks(self) -> Clocks:
        return self.clock.clocks()

    def reset(
        self, experiment: Experiment, row: TrialRow, marker: str, cancel: int, services: object
    ) -> str | None:
        del experiment, row, marker, cancel, services
        self.resets.append(self.clock.now())
        self.clock.wait(self.reset_takes)
        return self.problem

    def close(self) -> None:
        """Nothing was made."""


Script = Callable[[TrialRequest], Mapping[str, Any]]
"""Of a trial, what differs from one that finishes at once."""


class FakeKind:
    """Trials that take `lasts` seconds of a fake clock and end as a script says."""

    def __init__(self, clock: FakeClock, lasts: float = 1.0, script: Script = lambda _: {}) -> None:
        self._clock = clock
        self._lasts = lasts
        self._script = script
        self.began: list[float] = []

    def check(self, *_: object) -> None:
        """Anything goes."""

    def programs(self, *_: object) -> Iterator[Any]:
        return iter(())

    def attachments(self, *_: object) -> Iterator[Any]:
        return iter(())

    def execute(self, request: TrialRequest) -> TrialOutcome:
        started = self._clock.now()
        self.began.append(started)
        said = self._script(request)
        self._clock.wait(self._lasts)
        outcome = {"status": "finished", "started": started, "finished": self._clock.now(), "exit_code": 0}
        return TrialOutcome(**{**outcome, **said})


@dataclass
class FakeRun:
    """An experiment on a fake machine: `go` runs it, or goes on with it."""

    folder: Path
    text: str
    clock: FakeClock = field(default_factory=FakeClock)
    lasts: float = 1.0
    script: Script = lambda _: {}
    host: FakeHost = field(init=False)
    kind: FakeKind = field(init=False)

    def __post_init__(self) -> None:
        self.host = FakeHost(self.clock)
        self.kind = FakeKind(self.clock, self.lasts, self.script)

    @property
    def directory(self) -> ExperimentDirectory:
        return ExperimentDirectory(self.folder / "run.results")

    def go(
        self,
        *,
        stopping: StoppingRule | None = None,
        observers: Sequence[Observer] = (),
        requests: Sequence[float] = (),
        extend: bool = False,
    ) -> Ending:
        file = self.folder / "experiment.toml"
        file.write_text(self.text)
        experiment, directory = read_experiment(file), self.directory
        directory.make()
        with DirectoryLock(directory):
            ledger = (
                resume(self.text, experiment, directory, extend=extend)
                if directory.is_begun
                else begin(self.text, experiment, make_plan(experiment), directory, [])
            )
            try:
                return self._run(experiment, ledger, stopping or RunThePlan(), observers, requests)
            finally:
                ledger.close()

    def _run(
        self,
        experiment: Experiment,
        ledger: Ledger,
        stopping: StoppingRule,
        observers: Sequence[Observer],
        requests: Sequence[float],
    ) -> Ending:
        # A fake clock begins when the directory was made.
        self.clock.realtime = max(self.clock.realtime, float(ledger.fact("created")))
        keeper = SessionKeeper(self.directory, ledger, LocalWatch((), self.folder))
        keeper.open(ledger)
        runner = Runner(
            experiment,
            self.directory,
            ledger,
            self.kind,
            keeper,
            stopping=stopping,
            observers=observers,
            host=self.host,
            now=self.clock.now,
        )
        with FakeInterruption(self.clock, requests) as interruption:
            ending = runner.run(interruption)
        keeper.close(ledger, ending.reason)
        return ending

    def rows(self) -> list[TrialRow]:
        ledger = self.directory.ledger()
        try:
            return ledger.trials()
        finally:
            ledger.close()

    def events(self) -> list[tuple[str, str]]:
        ledger = self.directory.ledger()
        try:
            return [(event.kind, event.text) for event in ledger.events()]
        finally:
            ledger.close()
