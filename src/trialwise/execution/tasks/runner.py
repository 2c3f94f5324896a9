"""The runner of independent trials: has them computed ahead, and records them one after the other, as if there were one core."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

from trialwise.design.subset import Subset, matches
from trialwise.errors import WorkerError
from trialwise.execution.endings import STOPPED_ON_REQUEST, Ending, paused, plan_used_up
from trialwise.execution.events import Computing, Interrupted, Observer, Remarked, RunEvent, TrialEnded
from trialwise.execution.interruption import Interruption
from trialwise.execution.orders import LOOK_SECONDS, Orders
from trialwise.execution.recording import Ended, Recorder
from trialwise.execution.session import SessionKeeper
from trialwise.execution.stopping import StoppingRule
from trialwise.execution.tasks.accounting import NodeAccounting
from trialwise.execution.tasks.executor import Delivery, Executor, ExecutorLostError
from trialwise.execution.tasks.in_flight import MAX_LOSSES, Window
from trialwise.execution.tasks.pacing import Pacing
from trialwise.execution.tasks.worker_process import Batch, failures
from trialwise.experiment.model import Experiment
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import Amendment, TrialRow
from trialwise.trials.base import IndependentKind, Task, TrialOutcome

POLL_SECONDS = 0.1
"""Maximum delay before a stop request is noticed, in seconds."""
RECORD_SECONDS = 0.2
"""Maximum age in seconds of a trial that is in order but not on disk: a power cut loses these besides the trials in flight."""
MAX_PENDING = 1000
MAX_PENDING_SAMPLES = 1 << 20
"""Maximum number of trials, and of their samples (8 MiB per million), recorded together."""


class TaskRunner:
    """Runs what is planned, or a subset of it, on an executor.

    Observers and the stopping rule see trials in plan order, and the rule is asked before the same rounds as when trials run
    one after the other: the ledger's trials, their values and the ending do not depend on who computes, nor on how many.
    Results beyond the end are discarded; those trials stay planned.
    """

    def __init__(
        self,
        experiment: Experiment,
        directory: ExperimentDirectory,
        ledger: Ledger,
        kind: IndependentKind,
        keeper: SessionKeeper,
        executor: Executor,
        *,
        stopping: StoppingRule,
        observers: Sequence[Observer],
        only: Subset,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._experiment = experiment
        self._directory = directory
        self._ledger = ledger
        self._kind = kind
        self._keeper = keeper
        self._executor = executor
        self._stopping = stopping
        self._observers = observers
        self._now = now
        self._recorder = Recorder(directory, ledger, now)
        self._orders = Orders(ledger, self._tell, only)
        self._looked, self._asked = 0.0, None
        self._book = NodeAccounting(ledger, self._tell)
        self._window = Window([row for row in ledger.trials("planned") if matches(row.factors, only)])
        self._pacing = Pacing()
        self._batch_ids = count(1)
        self._flights: dict[int, list[int]] = {}
        self._round: tuple[int, int, bool] | None = None
        self._pending: list[Ended] = []
        self._pending_samples = 0
        self._recorded = 0.0

    def run(self, interruption: Interruption) -> Ending:
        """Run until the plan is used up, the stopping rule is satisfied, a stop is requested, or nothing is left to compute on.

        Raises
        ------
        StoreError
            The directory cannot be written, or no longer exists.
        WorkerError
            A node has another build; what was in order by then is recorded.
        """
        try:
            ending = self._run(interruption)
        except ExecutorLostError as error:
            ending = Ending("worker lost", str(error))
        except WorkerError:
            self._keep()
            raise
        self._keep()
        return ending or plan_used_up(self._ledger)

    def _keep(self) -> None:
        self._record()
        self._book.write()

    def _run(self, interruption: Interruption) -> Ending | None:
        """Return why to end; None if nothing is left of the plan."""
        while (ending := self._advance()) is None and self._window.head is not None:
            if interruption.at_once or (interruption.requested and not self._flights):
                self._tell(Interrupted(at_once=interruption.at_once))
                return STOPPED_ON_REQUEST
            if (pause := self._pause()) and not self._flights:
                self._tell(Interrupted(at_once=False))
                return paused(pause, self._directory)
            nodes = self._executor.nodes()
            self._book.look(nodes)
            cores = sum(node.cores for node in nodes)
            if cores and not interruption.requested and pause is None:
                self._hand_out(cores)
            if cores:
                self._tell(Computing(self._window.in_hand, cores, len(nodes), self._window.oldest))
            for delivery in self._executor.collect(POLL_SECONDS):
                self._receive(delivery)
        return ending

    def _pause(self) -> Amendment | None:
        """Return the request to pause, if there is one; look at most once in `LOOK_SECONDS`."""
        if time.monotonic() - self._looked >= LOOK_SECONDS:
            self._looked = time.monotonic()
            self._asked = self._orders.pause()
        return self._asked

    # Handing out and taking in

    def _hand_out(self, cores: int) -> None:
        window, pacing = self._window, self._pacing
        size = pacing.batch(cores, window.remaining)
        while len(self._flights) < pacing.in_hand(cores) and (
            window.has_lost or (window.remaining and window.ahead < pacing.window(cores, size))
        ):
            places = window.hand_out(size, self._now())
            batch_id = next(self._batch_ids)
            self._flights[batch_id] = places
            tasks = tuple(self._task(window.row(place)) for place in places)
            self._executor.submit(batch_id, Batch(self._kind, tasks))

    def _receive(self, delivery: Delivery) -> None:
        places = self._flights.pop(delivery.batch_id)
        if delivery.computed is None:
            hopeless = self._window.lose(places)
            reason = f"{delivery.reason} ({MAX_LOSSES} times)"
            self._window.come_back(hopeless, failures(len(hopeless), reason))
            return
        computed = delivery.computed
        self._pacing.learn(len(places), computed.seconds)
        self._book.count(computed.node, len(places))
        self._window.come_back(places, computed.outcomes)

    def _task(self, row: TrialRow) -> Task:
        return Task(
            experiment=self._experiment,
            factors=row.factors,
            number=row.number,
            attempt=row.attempt,
            series=row.series,
            round=row.round,
            position=row.position,
            seed=row.seed,
        )

    # In plan order

    def _advance(self) -> Ending | None:
        """Advance in the plan as far as everything is back; return the ending if the rule is satisfied."""
        while (row := self._window.head) is not None:
            if reason := self._reason_to_stop(row):
                return Ending("stopped", reason)
            if (taken := self._window.take()) is None:
                break
            if row.treatment in self._orders.skipped:  # since it was handed out
                continue
            self._end(*taken)
            if self._is_due():
                self._record()
        if self._is_due():
            self._record()
        return None

    def _reason_to_stop(self, row: TrialRow) -> str | None:
        """Ask the rule, once before each round."""
        upcoming = (row.series, row.round, row.warmup)
        if upcoming == self._round:
            return None
        self._round = upcoming
        return self._stopping.reason_to_stop(row)

    def _end(self, row: TrialRow, outcome: TrialOutcome, claimed: float) -> None:
        session = self._keeper.session
        row = replace(row, worker=session.worker, session=session.number, boot=session.boot)
        self._pending.append(Ended(row, outcome, claimed))
        self._pending_samples += sum(len(samples) for samples in outcome.samples.values())
        for text in self._recorder.new_remarks(outcome.remarks):
            self._tell(Remarked(text))
        self._tell(TrialEnded(row, outcome, outcome.status != "abandoned"))

    def _is_due(self) -> bool:
        return bool(self._pending) and (
            time.monotonic() - self._recorded > RECORD_SECONDS
            or len(self._pending) >= MAX_PENDING
            or self._pending_samples >= MAX_PENDING_SAMPLES
        )

    def _record(self) -> None:
        if self._pending:
            self._recorder.record_together(self._pending, self._keeper.session)
            self._pending.clear()
            self._pending_samples = 0
        self._recorded = time.monotonic()

    def _tell(self, event: RunEvent) -> None:
        for observer in self._observers:
            observer.notice(event)
