"""The progress of an experiment, read from its directory while it runs or after."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from trialwise.execution.tasks.accounting import nodes_of
from trialwise.execution.windows import expected_seconds, moment_text, opening
from trialwise.execution.worker_plan import has_lanes, in_blocks, lanes
from trialwise.experiment.machine_names import LOCAL
from trialwise.experiment.model import Experiment
from trialwise.numbers import ranges_text
from trialwise.store.directory import ExperimentDirectory, is_locked, latest
from trialwise.store.ledger import Ledger
from trialwise.store.records import Amendment, Event, Head, NodeDocument, TrialRow
from trialwise.study.documents import FailureDocument, StatusDocument, StoppingDocument, WorkerDocument
from trialwise.study.locating import frozen_experiment


@dataclass(frozen=True, slots=True)
class State:
    """The progress of an experiment.

    `done` of `planned` trials have ended, of which `failed` finally failed or are invalid; `counts` and `treatments` count
    attempts.
    """

    name: str
    planned: int
    done: int
    failed: int
    counts: dict[str, int]
    treatments: dict[str, dict[str, int]]
    failures: tuple[TrialRow, ...]
    events: tuple[Event, ...]
    running: tuple[TrialRow, ...]
    is_active: bool
    left: float | None
    workers: tuple[WorkerDocument, ...] = ()
    nodes: tuple[NodeDocument, ...] = ()
    stopping: StoppingDocument | None = None
    chain: Head | None = None
    amendments: tuple[Amendment, ...] = ()
    waits: str | None = None
    """Until when, and for what, the next trial has to wait; None if it has not."""

    @property
    def goes_on(self) -> bool:
        """Whether anything is left of the run: one that stopped by itself does not use up its plan."""
        return self.stopping is None or self.stopping.reason is None

    @property
    def activity(self) -> str:
        """What the runner is doing now, as text."""
        if self.is_active:
            texts = [f"trial {row.number} ({row.treatment})" for row in self.running]
            if texts:
                return f"running {', '.join(texts)}"
            if self.waits is not None:
                return f"waiting {self.waits}"
            return "computing" if self.nodes else "between trials"
        if not self.goes_on:
            return "stopped by itself"
        return (
            "complete"
            if self.done == self.planned
            else "not running; `trialwise run` on the directory goes on"
        )

    @property
    def document(self) -> StatusDocument:
        """Return the state as a document (format trialwise.status/1)."""
        failures = [failure_document(row) for row in self.failures]
        return StatusDocument(
            name=self.name,
            planned=self.planned,
            done=self.done,
            active=self.is_active,
            activity=self.activity,
            seconds_left=self.left if self.goes_on else None,
            counts=self.counts,
            treatments=self.treatments,
            failures=failures,
            events=list(self.events),
            workers=list(self.workers),
            nodes=list(self.nodes),
            stopping=self.stopping,
            chain=self.chain,
            amendments=list(self.amendments),
        )


def failure_document(row: TrialRow) -> FailureDocument:
    """Return an attempt without a value, and why, as a document."""
    return FailureDocument(row.number, row.attempt, row.treatment, row.status, row.reason)


def state(path: Path) -> State:
    """Report the progress of the experiment in a directory, while it runs or after."""
    directory = ExperimentDirectory(latest(path))
    ledger = directory.ledger()
    try:
        counts = ledger.counts()
        experiment = frozen_experiment(directory, ledger)
        return State(
            name=ledger.fact("name"),
            planned=ledger.planned_number(),
            done=ledger.ended(),
            failed=sum(experiment.includes(row.factors) for row in ledger.unsuccessful()),
            counts=counts,
            treatments=ledger.counts_by_treatment(),
            failures=tuple(ledger.trials("failed", "invalid", "abandoned", "excluded")),
            events=tuple(ledger.events()),
            running=tuple(ledger.trials("running")),
            is_active=is_locked(directory),
            left=_time_left(ledger, counts.get("planned", 0), time.time()),
            workers=tuple(_workers(ledger)) if has_lanes(ledger) else (),
            nodes=nodes_of(ledger),
            chain=ledger.head(),
            amendments=tuple(ledger.amendments()),
            waits=_waits(experiment, ledger, time.time()),
        )
    finally:
        ledger.close()


def _waits(experiment: Experiment, ledger: Ledger, now: float) -> str | None:
    """Say until when the next trial has to wait for its time of day, as the runner reckons; None if it has not."""
    between, row = experiment.design.between, ledger.next_open()
    if between is None or row is None:
        return None
    opens = opening(between, now, expected_seconds(experiment, ledger, row.treatment))
    if opens is None or opens <= now:
        return None
    return f"until {moment_text(opens)} for between = {between.text}"


def _workers(ledger: Ledger) -> Iterator[WorkerDocument]:
    open_trials = ledger.trials("planned", "running")
    for lane in lanes(ledger):
        done = ledger.ended(blocks=lane.blocks)
        finished = ledger.count(["finished"], blocks=lane.blocks)
        left = [row for row in open_trials if in_blocks(row.number, lane.blocks)]
        in_hand = tuple(row.number for row in left if row.status == "running")
        yield WorkerDocument(lane.worker or LOCAL, done, finished, len(left), in_hand, _rounds_text(left))


def _rounds_text(rows: Sequence[TrialRow]) -> str:
    """Name the rounds of trials, by series: "rounds 3 to 5 of series 1, round 1 of series 2"."""
    rounds: dict[int, set[int]] = {}
    for row in rows:
        rounds.setdefault(row.series, set()).add(row.round)
    return ", ".join(
        f"round{'s' if len(numbers) > 1 else ''} {ranges_text(numbers)} of series {series}"
        for series, numbers in sorted(rounds.items())
    )


def _time_left(ledger: Ledger, planned: int, now: float) -> float | None:
    """Estimate the time for the planned trials: at the median time from claim to claim, and not before the last planned start."""
    gaps = [after - before for before, after in pairwise(ledger.claim_times()) if after >= before]
    if not gaps or not planned:
        return None
    # Independent trials are claimed many at a time, and the median gap may be zero.
    pace = statistics.median(gaps) or statistics.fmean(gaps)
    last = ledger.last_planned_start()
    return pace * planned if last is None else max(float(ledger.fact("created")) + last - now, 0.0) + pace
