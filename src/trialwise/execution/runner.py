"""The runner: takes the planned trials of a ledger one by one, executes them, and writes down what came of them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trialwise.errors import TrialwiseError
from trialwise.execution.events import (
    EnvironmentChanged,
    Interrupted,
    Observer,
    Resetting,
    RunEvent,
    TrialEnded,
    TrialStarted,
    Waiting,
)
from trialwise.execution.interruption import Interruption
from trialwise.execution.reset import run_reset
from trialwise.execution.session import SessionKeeper
from trialwise.execution.stopping import StoppingRule
from trialwise.experiment.model import Experiment
from trialwise.measurement.samples import Samples
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import Event, TrialRow
from trialwise.store.samples import file_name, write_samples
from trialwise.trials.base import TrialKind, TrialOutcome, TrialRequest


@dataclass(frozen=True, slots=True)
class Ending:
    """Why the runner stopped: "complete", "interrupted", "stopped" (by the rule, which says why) or "reset failed"."""

    word: str
    text: str


class Runner:
    """Executes what is planned, one trial at a time, on this machine."""

    def __init__(
        self,
        experiment: Experiment,
        directory: ExperimentDirectory,
        ledger: Ledger,
        kind: TrialKind,
        keeper: SessionKeeper,
        *,
        stopping: StoppingRule,
        observers: Sequence[Observer],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._experiment = experiment
        self._directory = directory
        self._ledger = ledger
        self._kind = kind
        self._keeper = keeper
        self._stopping = stopping
        self._observers = observers
        self._now = now
        self._origin = float(ledger.meta()["created"])

    def run(self, interruption: Interruption) -> Ending:
        """Run until the plan is used up, the stopping rule has enough, or somebody asks to stop."""
        place: tuple[int, int, bool] | None = None
        while (row := self._ledger.next_planned()) is not None:
            if interruption.requested:
                return self._interrupted(interruption)
            if (row.series, row.round, row.warmup) != place:
                place = (row.series, row.round, row.warmup)
                if ending := self._begin_round(row, interruption):
                    return ending
            elif self._reset_every("trial") and (ending := self._reset(row)):
                return ending
            outcome = self._trial(row, interruption)
            if outcome.status == "abandoned":
                return self._interrupted(interruption)
        return Ending("complete", "every planned trial has come to an end")

    # A round

    def _begin_round(self, row: TrialRow, interruption: Interruption) -> Ending | None:
        if reason := self._stopping.reason_to_stop(row):
            return Ending("stopped", reason)
        if row.planned_start is not None:
            self._wait(self._origin + row.planned_start, interruption)
            if interruption.requested:
                return self._interrupted(interruption)
        if change := self._keeper.look_again(self._ledger):
            self._tell(EnvironmentChanged(change))
        return self._reset(row) if self._experiment.reset else None

    def _wait(self, moment: float, interruption: Interruption) -> None:
        if moment > self._now():
            self._tell(Waiting(moment))
            interruption.sleep_until(moment)

    def _reset_every(self, what: str) -> bool:
        return self._experiment.reset is not None and self._experiment.reset.every == what

    def _reset(self, row: TrialRow) -> Ending | None:
        self._tell(Resetting(row))
        problem = run_reset(self._experiment, row)
        if problem is None:
            return None
        self._ledger.add_event(Event(self._now(), "reset failed", problem))
        return Ending("reset failed", problem)

    def _interrupted(self, interruption: Interruption) -> Ending:
        self._tell(Interrupted(at_once=interruption.at_once))
        return Ending("interrupted", "stopped on request; run again to go on")

    # A trial

    def _trial(self, row: TrialRow, interruption: Interruption) -> TrialOutcome:
        self._ledger.claim(row, self._keeper.session, self._now())
        self._tell(TrialStarted(row))
        outcome = self._kind.execute(self._request(row, interruption))
        self._record(row, outcome)
        self._tell(TrialEnded(row, outcome))
        return outcome

    def _request(self, row: TrialRow, interruption: Interruption) -> TrialRequest:
        return TrialRequest(
            experiment=self._experiment,
            factors=row.factors,
            number=row.number,
            attempt=row.attempt,
            series=row.series,
            round=row.round,
            position=row.position,
            seed=row.seed,
            scratch=self._directory.path / "scratch",
            marker=f"{self._keeper.identity}:{row.number}:{row.attempt}",
            cancel=interruption.descriptor,
        )

    def _record(self, row: TrialRow, outcome: TrialOutcome) -> None:
        try:
            values = [self._store(row, source, samples) for source, samples in outcome.samples.items()]
            if outcome.status != "finished":
                self._log(row, outcome)
            self._ledger.finish(
                row,
                outcome.status,
                started=outcome.started,
                finished=outcome.finished,
                exit_code=outcome.exit_code,
                reason=outcome.reason,
                values=values,
            )
            if outcome.status == "abandoned":
                self._ledger.retry(row)
        except TrialwiseError:
            shutil.rmtree(self._directory.path / "scratch", ignore_errors=True)
            raise

    def _store(
        self, row: TrialRow, source: str, samples: Samples
    ) -> tuple[str, float | None, int, str | None]:
        if len(samples.values) == 1 and samples.times is None:
            return source, float(samples.values[0]), 1, None
        name = file_name(row.number, row.attempt, source)
        write_samples(self._directory.path / name, samples.values, samples.times)
        return source, None, len(samples.values), name

    def _log(self, row: TrialRow, outcome: TrialOutcome) -> None:
        text = f"trial {row.number} attempt {row.attempt}: {row.treatment}\n{outcome.status}: {outcome.reason}\n".encode()
        parts = (b"--- standard output\n", outcome.output, b"\n--- standard error\n", outcome.errors)
        self._directory.write_durably(f"logs/{row.number:06d}-{row.attempt}.txt", text + b"".join(parts))

    def _tell(self, event: RunEvent) -> None:
        for observer in self._observers:
            observer.notice(event)
