"""The runner: takes the planned trials of a ledger one by one, runs them, and records their outcomes."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from trialwise.design.subset import Subset
from trialwise.execution.allowance import Budget
from trialwise.execution.clocks import Clocks, disturbance, read_clocks
from trialwise.execution.endings import STOPPED_ON_REQUEST, Ending, departed, paused, plan_used_up
from trialwise.execution.events import (
    ClockDisturbed,
    EnvironmentChanged,
    Interrupted,
    Observer,
    PathChanged,
    Remarked,
    Resetting,
    RunEvent,
    TrialEnded,
    TrialStarted,
    Waiting,
)
from trialwise.execution.found_results import FoundResults
from trialwise.execution.interruption import Interruption
from trialwise.execution.namespaces import FreshNamespace
from trialwise.execution.orders import LOOK_SECONDS, Orders
from trialwise.execution.path_series import placed
from trialwise.execution.recording import Recorder
from trialwise.execution.reset import is_due, run_reset
from trialwise.execution.retrying import is_retried
from trialwise.execution.services.lifecycle import LocalServices, ServiceHost, Services
from trialwise.execution.session import SessionKeeper
from trialwise.execution.stopping import StoppingRule
from trialwise.execution.windows import expected_seconds, moment_text, opening, zone_text
from trialwise.experiment.model import Experiment, Reset
from trialwise.experiment.quantity import duration_text
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import Blocks, Event, TrialRow
from trialwise.trials.base import IndependentKind, KeepsProcesses, TrialKind, TrialOutcome, TrialRequest
from trialwise.trials.marked import end_left, marker_of_resets
from trialwise.trials.own_cost import costed


class Host(Protocol):
    """The machine of a runner, apart from the trials themselves."""

    def clocks(self) -> Clocks:
        """Its clocks now."""
        ...

    @property
    def services(self) -> ServiceHost:
        """What starts services on it."""
        ...

    def reset(
        self, experiment: Experiment, row: TrialRow, marker: str, cancel: int, services: Services
    ) -> str | None:
        """Reset it before `row`; return what went wrong, or None.

        Processes left running by the previous reset with the same `marker` are ended first.
        """
        ...

    @property
    def namespace_pid(self) -> int | None:
        """Return a process whose namespaces trials are to run in, or None."""
        ...

    def close(self) -> None:
        """Release what the reset created for trials to run in."""
        ...


_OWN = (Path(sys.prefix), Path(__file__).parents[1])
"""Folders that callables need: Python's, and ours."""


def _unfollowed(outcome: TrialOutcome) -> Iterator[str]:
    """Say what kept us from seeing which files a trial ran; then only those that its command names are compared."""
    seen = outcome.seen
    if seen is not None and (reason := seen.problem or seen.spoiled):
        yield f"processes of trials cannot be followed ({reason}): files that their commands name are compared, no others"


class LocalHost:
    """The machine that we run on; `folder` is that of the experiment, and `kept` are folders that trials need."""

    def __init__(self, folder: Path, kept: Sequence[Path] = ()) -> None:
        self.services = LocalServices(folder)
        self._namespace = FreshNamespace(kept)
        self._marker: str | None = None

    def clocks(self) -> Clocks:
        """Its clocks now."""
        return read_clocks()

    def reset(
        self, experiment: Experiment, row: TrialRow, marker: str, cancel: int, services: Services
    ) -> str | None:
        """Reset it before `row`; return what went wrong, or None."""
        end_left(marker)
        self._marker = marker
        return run_reset(experiment, row, self._namespace, services, marker=marker, cancel=cancel)

    @property
    def namespace_pid(self) -> int | None:
        """Return the first process of the namespace that the reset created."""
        return self._namespace.first

    def close(self) -> None:
        """End the namespace, and processes left running by the last reset."""
        self._namespace.end()
        if self._marker is not None:
            end_left(self._marker)


class Runner:
    """Runs what is planned, or a subset of it, one trial at a time, on one machine.

    `blocks` are the numbers of its trials (default all); `place` performs resets and reads clocks; `budget` says what trials
    may send over real paths.
    """

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
        only: Subset | None = None,
        blocks: Blocks | None = None,
        host: Host | None = None,
        budget: Budget | None = None,
        orders: Orders | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._experiment = experiment
        self._directory = directory
        self._ledger = ledger
        self._kind = kind
        self._keeper = keeper
        self._stopping = stopping
        self._observers = observers
        self._only = only
        self._blocks = blocks
        self._host = host or LocalHost(experiment.folder, [experiment.folder, directory.path, *_OWN])
        self._budget = budget
        self._orders = orders or Orders(ledger, self._tell, only)
        self._now = now
        self._origin = float(ledger.fact("created"))
        self._last: TrialRow | None = None
        self._setup = 0.0
        self._recorder = Recorder(directory, ledger, now)
        self._services = Services(
            experiment, directory, ledger, self._host.services, keeper.marker, self._tell, now
        )
        self._found = FoundResults(ledger)

    def run(self, interruption: Interruption) -> Ending:
        """Run until the plan is used up, the stopping rule is satisfied, or a stop is requested.

        Raises
        ------
        StoreError
            The directory cannot be written, or no longer exists.
        """
        try:
            return self._run(interruption)
        finally:
            with contextlib.ExitStack() as stack:  # each is closed, whatever goes wrong with another
                stack.callback(self._host.close)
                stack.callback(self._services.close)
                if isinstance(self._kind, KeepsProcesses):
                    stack.callback(self._kind.close)

    def _run(self, interruption: Interruption) -> Ending:
        place: tuple[int, int, bool] | None = None
        clocks = self._host.clocks()
        while (row := self._ledger.next_planned(self._only, self._blocks)) is not None:
            is_new_round = (row.series, row.round, row.warmup) != place
            if ending := self._before(row, interruption, is_new_round=is_new_round):
                return ending
            if not self._ledger.is_planned(row):  # skipped a moment ago
                continue
            place = (row.series, row.round, row.warmup)
            outcome = self._trial(row, interruption)
            clocks = self._look_at_clocks(row, clocks)
            if outcome.status == "abandoned" and interruption.requested:
                return self._interrupted(interruption)
        return plan_used_up(self._ledger, self._blocks)

    # Before a trial

    def _before(self, row: TrialRow, interruption: Interruption, *, is_new_round: bool) -> Ending | None:
        """Do everything that precedes a trial; return the ending if the trial is not to be run."""
        if interruption.requested:
            return self._interrupted(interruption)
        if is_new_round:
            if ending := self._ends_before(row):
                return ending
            self._wait(row, interruption)
        if ending := self._asked(interruption) or self._await_window(row, interruption):
            return ending
        self._ledger.check_in_place()
        if self._budget is not None and (reason := self._budget.reason_to_stop(row)):
            return Ending("cap reached", reason)
        reset = self._experiment.reset if is_due(self._experiment.reset, self._last, row) else None
        preparing = self._now()
        began = None if reset is None else preparing
        if ending := self._set_up(row, interruption, reset):
            return ending
        self._setup = max(self._setup, self._now() - preparing)
        # After the reset, which may reboot the machine or build the programs.
        if change := self._keeper.look_again(self._ledger, began, self._services.began):
            self._tell(EnvironmentChanged(change))
        return None

    def _wait(self, row: TrialRow, interruption: Interruption) -> None:
        if row.planned_start is None:
            return
        moment = self._origin + row.planned_start
        if moment > self._now():
            self._tell(Waiting(moment))
            self._sleep_until(moment, interruption)

    def _await_window(self, row: TrialRow, interruption: Interruption) -> Ending | None:
        """Wait until the times of day between which trials run have come, and leave enough for this one."""
        between = self._experiment.design.between
        if between is None:
            return None
        takes = self._setup + expected_seconds(self._experiment, self._ledger, row.treatment)
        began = self._now()
        opens = opening(between, began, takes)
        if opens is None:
            return Ending(
                "stopped",
                f"trial {row.number} takes about {duration_text(takes)}, which no time between {between.text} has",
            )
        if opens > began:
            waits = f"from {moment_text(began)} until {moment_text(opens)} for between = {between.text}"
            self._ledger.add_event(Event(began, "waits", waits))
            self._tell(Waiting(opens, f"between = {between.text} ({zone_text(opens)})"))
            self._sleep_until(opens, interruption)
        return self._asked(interruption)

    def _sleep_until(self, moment: float, interruption: Interruption) -> None:
        """Sleep until a moment, or until somebody asks to stop or to pause."""
        while not interruption.requested and self._now() < moment and self._orders.pause() is None:
            interruption.sleep_until(min(moment, self._now() + LOOK_SECONDS))

    def _set_up(self, row: TrialRow, interruption: Interruption, reset: Reset | None) -> Ending | None:
        """Start services, reset the machine if that is due, and see that all services run."""
        ending = self._serve(row, interruption, reset)
        if ending is None and reset is not None:
            ending = self._reset(reset, row, interruption) or self._serve(row, interruption)
        return ending

    def _serve(self, row: TrialRow, interruption: Interruption, reset: Reset | None = None) -> Ending | None:
        """Have the services run that the trial needs, except one that a `reset` is to start; return the ending if they do not."""
        without = [] if reset is None or reset.service is None else [reset.service]
        problem = self._services.prepare(row, interruption.wish, without)
        if interruption.requested:
            return self._interrupted(interruption)
        return None if problem is None else Ending("service failed", problem)

    def _reset(self, reset: Reset, row: TrialRow, interruption: Interruption) -> Ending | None:
        self._tell(Resetting(row))
        began = self._now()
        problem = self._host.reset(
            self._experiment,
            row,
            marker_of_resets(self._keeper.marker),
            interruption.descriptor,
            self._services,
        )
        if interruption.at_once:
            return self._interrupted(interruption)
        if problem is None:
            took = duration_text(self._now() - began)
            self._ledger.add_event(Event(began, "reset", f"before trial {row.number}, took {took}"))
            interruption.sleep_until(self._now() + reset.settle)
            return self._interrupted(interruption) if interruption.requested else None
        self._ledger.add_event(Event(self._now(), "reset failed", problem))
        return Ending("reset failed", problem)

    def _asked(self, interruption: Interruption) -> Ending | None:
        """Return the ending if somebody asked to stop, or to pause."""
        if interruption.requested:
            return self._interrupted(interruption)
        if request := self._orders.pause():
            self._tell(Interrupted(at_once=False))
            return paused(request, self._directory)
        return None

    def _ends_before(self, row: TrialRow) -> Ending | None:
        """Return the ending if the round of `row` is not to run here: by the rule, or since workers leave or join."""
        if reason := self._stopping.reason_to_stop(row):
            return Ending("stopped", reason)
        self._orders.pause()
        worker = self._keeper.session.worker
        if worker in self._orders.left:
            return departed(self._ledger, worker, self._blocks)
        if self._blocks is None and self._orders.joined:
            return Ending("stopped", "another worker joins")
        return None

    def _interrupted(self, interruption: Interruption) -> Ending:
        self._tell(Interrupted(at_once=interruption.at_once))
        return STOPPED_ON_REQUEST

    # A trial

    def _trial(self, row: TrialRow, interruption: Interruption) -> TrialOutcome:
        self._last = row
        self._ledger.claim(row, self._keeper.session, self._now())
        session = self._keeper.session
        row = replace(
            row, epoch=session.epoch, worker=session.worker, session=session.number, boot=session.boot
        )
        self._tell(TrialStarted(row))
        began = self._now()
        self._services.begin_use()
        outcome = self._services.judged(row, self._execute(self.request(row, interruption)))
        outcome = self._found.checked(row.treatment, outcome)
        row = self._on_path(self._learned(row, outcome, began), outcome)
        is_last = self._record(row, outcome)
        for text in self._recorder.new_remarks((*outcome.remarks, *_unfollowed(outcome))):
            self._tell(Remarked(text))
        self._tell(TrialEnded(row, outcome, is_last))
        return outcome

    def _record(self, row: TrialRow, outcome: TrialOutcome) -> bool:
        """Record the outcome; return whether no further attempt at the trial follows."""
        before = self._ledger.unsuccessful_attempts(row.number)
        retry = is_retried(self._experiment.trial.retries, outcome, before)
        self._recorder.record(row, outcome, retry=retry)
        return not retry and outcome.status != "abandoned"

    def _learned(self, row: TrialRow, outcome: TrialOutcome, began: float) -> TrialRow:
        """Take in what the trial ran; if that differs from earlier trials, move it to a new session."""
        change = self._keeper.learn(self._ledger, row, outcome, began)
        if change is None:
            return row
        session = self._keeper.session
        row = replace(row, session=session.number, epoch=session.epoch)
        self._ledger.move(row)
        self._tell(EnvironmentChanged(change))
        return row

    def _on_path(self, row: TrialRow, outcome: TrialOutcome) -> TrialRow:
        """Take in the condition of the real path of the trial; if it has changed, the trial begins another series."""
        if self._keeper.learn_ends(self._ledger, outcome):
            row = replace(row, session=self._keeper.session.number)
            self._ledger.move(row)
        row, changes = placed(self._ledger, row, outcome)
        for text in changes:
            self._tell(PathChanged(text))
        return row

    def record_late(self, row: TrialRow, outcome: TrialOutcome) -> None:
        """Record, and announce, the outcome of a trial that an earlier run had begun."""
        outcome = self._found.checked(row.treatment, outcome)
        self._tell(TrialEnded(row, outcome, self._record(row, outcome)))

    def _execute(self, request: TrialRequest) -> TrialOutcome:
        """Execute a trial; one that is computed here measures no machine, and what it cost is added."""
        kind = self._kind
        if isinstance(kind, IndependentKind):
            return costed(kind, request, lambda: kind.execute(request))
        return kind.execute(request)

    def request(self, row: TrialRow, interruption: Interruption) -> TrialRequest:
        """Return the request to the kind of trial."""
        return TrialRequest(
            experiment=self._experiment,
            factors=row.factors,
            number=row.number,
            attempt=row.attempt,
            series=row.series,
            round=row.round,
            position=row.position,
            seed=row.seed,
            scratch=self._directory.scratch,
            marker=self._marker(row),
            cancel=interruption.descriptor,
            namespace_pid=self._host.namespace_pid,
            session=row.session or 1,
            follow=self._keeper.wants_to_follow(row.treatment),
        )

    def _marker(self, row: TrialRow) -> str:
        return f"{self._keeper.marker}:{row.number}:{row.attempt}"

    def _look_at_clocks(self, row: TrialRow, before: Clocks) -> Clocks:
        now = self._host.clocks()
        if text := disturbance(before, now):
            self._ledger.add_event(
                Event(now.realtime, "clock", f"{text}, before or during trial {row.number}")
            )
            self._tell(ClockDisturbed(row, text))
        return now

    def _tell(self, event: RunEvent) -> None:
        for observer in self._observers:
            observer.notice(event)
