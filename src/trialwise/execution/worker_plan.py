"""Assign workers to lanes.

Once there are workers besides this machine, the ledger's `meta` records which numbers belong to which lane.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

from trialwise.design.plan import PlannedTrial, make_plan
from trialwise.design.sizing import size
from trialwise.design.worker_plan import WorkerPlan
from trialwise.experiment.model import Experiment
from trialwise.store.ledger import Ledger
from trialwise.store.records import TrialRow

_KEY = "lanes"
_UNFINISHED = ("planned", "running")


def planned_row(trial: PlannedTrial) -> TrialRow:
    """Return the ledger's row of a planned trial."""
    return TrialRow(
        number=trial.number,
        attempt=1,
        status="planned",
        treatment=trial.treatment.name,
        factors=trial.factors,
        series=trial.series,
        round=trial.round,
        position=trial.position,
        order=trial.order,
        seed=trial.seed,
        warmup=trial.warmup,
        planned_start=trial.start,
    )


def has_lanes(ledger: Ledger) -> bool:
    """Return True if the trials were divided between workers."""
    return _KEY in ledger.meta()


def lanes(ledger: Ledger) -> list[WorkerPlan]:
    """Return the lanes of a ledger; by default, one with all trials."""
    text = ledger.meta().get(_KEY)
    if text is None:
        sessions = ledger.sessions()
        return [WorkerPlan(1, sessions[-1].worker if sessions else None, ((1, ledger.last_number()),))]
    return [
        WorkerPlan(number, entry["worker"], tuple((first, last) for first, last in entry["blocks"]))
        for number, entry in enumerate(json.loads(text), 1)
    ]


def laid_out(experiment: Experiment, closed: int) -> Sequence[PlannedTrial]:
    """Lay out the series of the plan, numbered after the closed ones."""
    if not closed:
        return make_plan(experiment).trials
    sizing = size(experiment)
    design = dataclasses.replace(experiment.design, series=sizing.series + closed, rounds=sizing.rounds)
    trials = make_plan(dataclasses.replace(experiment, design=design)).trials
    return [trial for trial in trials if trial.series > closed]


def lanes_meta(known: Sequence[WorkerPlan]) -> dict[str, str]:
    """Return the ledger's record of lanes."""
    return {_KEY: json.dumps([{"worker": lane.worker, "blocks": lane.blocks} for lane in known])}


def assign_lanes(ledger: Ledger, experiment: Experiment, names: Sequence[str]) -> dict[str, WorkerPlan]:
    """Give each worker its lane, and record it.

    A worker keeps the lane it had before; else it gets an unfinished one whose worker is not among `names`, whose trial in
    flight is abandoned; else a new one at the end.
    """
    known = {lane.number: lane for lane in lanes(ledger)}
    given = {lane.worker: lane for lane in known.values() if lane.worker in names}
    for name in names:
        if name not in given:
            lane, rows = _orphan(ledger, list(known.values()), names), list[TrialRow]()
            if lane is None:
                lane, rows = _new_lane(ledger, experiment, len(known) + 1)
            known[lane.number] = given[name] = dataclasses.replace(lane, worker=name)
            ledger.extend(rows, lanes_meta(list(known.values())))
    return {name: given[name] for name in names}


def _orphan(ledger: Ledger, known: Sequence[WorkerPlan], names: Sequence[str]) -> WorkerPlan | None:
    """Return an unfinished lane without a worker; the trial its worker was running is planned again."""
    for lane in known:
        if lane.worker not in names and ledger.count(_UNFINISHED, blocks=lane.blocks):
            running = [row for row in ledger.trials("running") if in_blocks(row.number, lane.blocks)]
            ledger.abandon_running("another worker took over", running)
            return lane
    return None


def in_blocks(number: int, blocks: Sequence[tuple[int, int]]) -> bool:
    """Return True if a trial belongs to a lane with these blocks."""
    return any(first <= number <= last for first, last in blocks)


def _new_lane(ledger: Ledger, experiment: Experiment, number: int) -> tuple[WorkerPlan, list[TrialRow]]:
    lane = WorkerPlan(number, None, ())
    last = ledger.last_number()
    trials = laid_out(lane.experiment(experiment), ledger.closed_series())
    rows = [planned_row(dataclasses.replace(trial, number=last + n)) for n, trial in enumerate(trials, 1)]
    return lane.with_block(last + 1, last + len(rows)), rows


def abandon_local(ledger: Ledger) -> int:
    """Plan again the trials that this machine was running when the runner was killed; return their number."""
    rows = [row for row in ledger.trials("running") if row.worker == "local"]
    return ledger.abandon_running("the runner was killed during this trial", rows)
