"""An artifact's experiments measured again on this machine, because somebody asked for it, and the verdict on each claim.

Nothing runs before it was announced. Values come from trials that began after the re-run did: they stand in directories of its own.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from trialwise.analysis.artifacts import Rerun, Verified
from trialwise.analysis.claims.looks import Look, next_share, stages
from trialwise.analysis.claims.reproduction import DECIDED, NOT_RUNNABLE
from trialwise.analysis.progress import Progress
from trialwise.analysis.reruns import NotRun, PlannedRerun
from trialwise.exchange.artifact.reading import Artifact
from trialwise.execution.events import Observer, RunEvent, TrialEnded
from trialwise.experiment.model import Experiment
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.records import TrialRow
from trialwise.study.artifact.choosing import (
    Candidate,
    candidates,
    joined,
    planned,
    rounds_of,
    smallest,
)
from trialwise.study.artifact.judging_again import judge_again, measured_in
from trialwise.study.artifact.prospects import problem_here, with_prospects
from trialwise.study.artifact.rerun_folder import RerunFolder, begin, latest_rerun, new_path, opened_rerun
from trialwise.study.artifact.verifying import examined
from trialwise.study.claims import JudgedClaims
from trialwise.study.sessions import run_session

KICK_BUDGET = 360.0
"""Seconds of the smallest re-run, where no budget is given."""
PLANNED_LATER = 1 << 31
"""Rounds of a claim for which none are planned yet: no look is the last one."""


class Announce(Protocol):
    """Says what will run, before anything does."""

    def __call__(self, plans: Sequence[PlannedRerun], place: Path, rest: Sequence[NotRun]) -> None:
        """Say it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RerunOptions:
    """What was asked for: the smallest re-run (`kick`), or certain claims until they are decided.

    `budget` is in seconds, None for no limit; `out` is the folder of the re-run, by default the latest one beside the artifact, or a
    new one. `have` lists what this machine has of that which nobody can look up.
    `allowed` is a file of allowed signers, one of whom must have signed the artifact.
    """

    claims: tuple[str, ...] = ()
    kick: bool = False
    budget: float | None = None
    out: Path | None = None
    have: tuple[str, ...] = ()
    allowed: Path | None = None


def remeasure(
    path: Path,
    options: RerunOptions,
    announce: Announce,
    observers: Callable[[Experiment], Sequence[Observer]],
    told: Progress | None = None,
) -> Verified:
    """Verify an artifact, measure claims again, and judge them.

    Parameters
    ----------
    announce
        Called once with what will run, before anything does.
    observers
        Gives who receives the events of a run of an experiment.

    Raises
    ------
    PlanError
        A claim is not stated, or the budget is too small.
    StoreError
        As `verify`; the folder of the re-run cannot be used.
    """
    with examined(path, told, options.allowed) as (artifact, found, judged):
        if judged is None:
            return found
        place = _place_of(path, found.integrity.identity, options)
        is_new = not place.exists()
        at = place.resolve().parent if is_new else place
        runs, rest = candidates(artifact, judged, options.claims, options.have, at)
        opening = begin if is_new else opened_rerun
        folder = opening(place, found.integrity.identity)
        try:
            again = _Remeasuring(artifact, judged, folder, options, rest, observers, told).run(runs, announce)
            costed = with_prospects(artifact, found, judged, folder)
        finally:
            if is_new and not folder.record.spent:
                shutil.rmtree(place, ignore_errors=True)
        return replace(costed, rerun=again)


def read_again(
    path: Path, place: Path | None = None, told: Progress | None = None, *, allowed: Path | None = None
) -> Verified:
    """Verify an artifact, and judge what its re-run measured so far, without running anything.

    Parameters
    ----------
    place
        The folder of the re-run; None for the latest one beside the artifact, if there is one.
    allowed
        A file of allowed signers, one of whom must have signed the artifact.

    Raises
    ------
    StoreError
        As `verify`; the folder is no re-run of this artifact.
    """
    with examined(path, told, allowed) as (artifact, found, judged):
        identity = found.integrity.identity
        folder = latest_rerun(path, identity) if place is None else opened_rerun(place, identity)
        if judged is None:
            return found
        if folder is None:
            return with_prospects(artifact, found, judged, None)
        runs, rest = candidates(artifact, judged, (), (), folder.path)
        again = judge_again(folder, judged, runs, rest, str(artifact.folder), "nothing was run now", told)
        return replace(with_prospects(artifact, found, judged, folder), rerun=again)


def _place_of(path: Path, identity: str, options: RerunOptions) -> Path:
    if options.out is not None:
        return options.out
    last = latest_rerun(path, identity)
    return new_path(path) if last is None else last.path


class _Clock:
    """The rule that ends a part of a re-run: when its rounds are complete, time is up, or nothing works."""

    def __init__(self, plan: PlannedRerun, deadline: float | None) -> None:
        self._plan = plan
        self._deadline = deadline
        self._round = plan.seconds / max(plan.rounds - plan.done, 1)
        self._since: float | None = None
        self._finished = self._failed = 0
        self.is_over = False

    def notice(self, event: RunEvent) -> None:
        """Count trials by how they ended."""
        if isinstance(event, TrialEnded):
            self._finished += event.outcome.status == "finished"
            self._failed += event.outcome.status != "finished"

    def reason_to_stop(self, upcoming: TrialRow) -> str | None:
        """Return why the round of `upcoming` is not run."""
        now = time.monotonic()
        if self._since is not None:
            self._round = now - self._since
        self._since = now
        if upcoming.round > self._plan.rounds and not upcoming.warmup:
            return "the planned rounds are complete"
        self.is_over = True
        if self._failed >= len(self._plan.treatments) and not self._finished:
            return "every trial failed"
        if self._deadline is not None and now + self._round > self._deadline:
            return "the budget is used up"
        self.is_over = False
        return None


class _Remeasuring:
    """One run of `verify` that measures."""

    def __init__(
        self,
        artifact: Artifact,
        judged: JudgedClaims,
        folder: RerunFolder,
        options: RerunOptions,
        rest: Sequence[NotRun],
        observers: Callable[[Experiment], Sequence[Observer]],
        told: Progress | None,
    ) -> None:
        self._artifact = artifact
        self._judged = judged
        self._folder = folder
        self._options = options
        self._rest = list(rest)
        self._observers = observers
        self._told = told
        self._ended = "nothing had to run"
        self._is_over = False
        self._deadline: float | None = None

    def run(self, runs: Sequence[Candidate], announce: Announce) -> Rerun:
        """Plan, say it, run, and judge."""
        runs = self._runnable(runs)
        budget = self._options.budget
        if self._options.kick:
            budget = budget or KICK_BUDGET
            plans = [self._from_here(runs, plan) for plan in smallest(runs, budget)]
        else:
            self._plan_rounds(runs)
            plans = [self._whole(group) for group in self._groups(runs)]
        announce(plans, self._folder.path, self._rest)
        self._deadline = None if budget is None else time.monotonic() + budget
        for plan in plans:
            self._part(plan, [each for each in runs if each.claim.id in plan.claims])
        return self._judge(runs)

    def _runnable(self, runs: Sequence[Candidate]) -> list[Candidate]:
        """Leave out the claims whose experiment cannot run here, with the reason."""
        problems = {
            each.place: problem_here(self._artifact, self._folder, each) or "" for each in reversed(runs)
        }
        self._rest += [
            NotRun(each.claim.id, NOT_RUNNABLE, problems[each.place]) for each in runs if problems[each.place]
        ]
        return [each for each in runs if not problems[each.place]]

    @staticmethod
    def _groups(runs: Sequence[Candidate]) -> list[list[Candidate]]:
        places = dict.fromkeys(each.place for each in runs)
        return [[each for each in runs if each.place == place] for place in places]

    # What is to run

    def _from_here(self, runs: Sequence[Candidate], plan: PlannedRerun) -> PlannedRerun:
        """Return a plan without the rounds that are complete already, at the pace of this machine where it is known."""
        group = [each for each in runs if each.claim.id in plan.claims]
        measured = measured_in(self._folder, plan.folder)
        done, pace = measured.complete(plan.only), measured.pace(group[0].original)
        found = planned(group, plan.only, plan.rounds, done, pace)
        is_new = done == 0 and pace is None
        return replace(found, seconds=max(found.seconds, plan.seconds)) if is_new else found

    def _plan_rounds(self, runs: Sequence[Candidate]) -> None:
        """Fix the rounds of each claim, once, from what its authors measured."""
        before = self._folder.record.planned
        new = {each.claim.id: rounds_of(each, self._judged) for each in runs if each.claim.id not in before}
        if new:
            self._folder.note(planned={**before, **new})

    def _whole(self, group: Sequence[Candidate]) -> PlannedRerun:
        """Return all that claims on one experiment may take."""
        rounds = max(self._folder.record.planned[each.claim.id] for each in group)
        return self._to(group, rounds)

    def _to(self, group: Sequence[Candidate], rounds: int) -> PlannedRerun:
        only = joined(each.only() for each in group)
        first = planned(group, only, rounds, 0)
        return self._from_here(group, first)

    # Running

    def _part(self, plan: PlannedRerun, group: list[Candidate]) -> None:
        """Measure one experiment, and look at its claims where that is planned."""
        if self._options.kick:
            self._measure(plan)
            self._look(group)
            return
        while (open_ones := self._undecided(group)) and not self._is_over:
            targets = [self._next_stage(each) for each in open_ones]
            self._measure(self._to(open_ones, min(filter(None, targets))))
            self._look(open_ones)

    def _undecided(self, group: Sequence[Candidate]) -> list[Candidate]:
        """Return the claims that have a look to come and are not decided by those that were."""
        waiting = [each for each in group if self._next_stage(each) is not None]
        if not waiting:
            return []
        words = {claim.id: claim.word for claim in self._judge(waiting).claims}
        return [each for each in waiting if words.get(each.claim.id) not in DECIDED]

    def _next_stage(self, each: Candidate) -> int | None:
        """Return the rounds of the next planned look at a claim; None after the last one."""
        taken = self._taken(each)
        last = taken[-1].rounds if taken else 0
        return next(
            (stage for stage in stages(self._folder.record.planned[each.claim.id]) if stage > last), None
        )

    def _taken(self, each: Candidate) -> list[Look]:
        return [look for look in self._folder.record.looks if look.claim == each.claim.id]

    def _measure(self, plan: PlannedRerun) -> None:
        """Run one experiment until the rounds of the plan are complete, the budget is used up, or somebody interrupts."""
        text, experiment = self._folder.prepared(self._artifact, plan.packed, plan.folder, plan.rounds)
        clock = _Clock(plan, self._deadline)
        began = time.monotonic()
        try:
            result = run_session(
                text,
                experiment,
                ExperimentDirectory(self._folder.directory(plan.folder)),
                clock,
                [clock, *self._observers(experiment)],
                plan.only,
                extend=True,
                again=False,
            )
        finally:
            self._folder.note(spent=self._folder.record.spent + time.monotonic() - began)
        self._ended = result.ending.text
        self._is_over = clock.is_over or result.ending.reason not in ("complete", "stopped")

    def _look(self, group: Sequence[Candidate]) -> None:
        """Judge claims where a look is due: at a planned number of rounds, or where the run was stopped."""
        measured = measured_in(self._folder, group[0].place)
        for each in group:
            rounds = measured.complete(each.only(small=self._options.kick))
            wanted = self._folder.record.planned.get(each.claim.id) or PLANNED_LATER
            is_due = self._options.kick or self._is_over or rounds >= (self._next_stage(each) or 0)
            share = next_share(self._taken(each), rounds, wanted) if rounds and is_due else 0.0
            if share:
                look = Look(each.claim.id, rounds, share)
                self._folder.note(looks=(*self._folder.record.looks, look))

    def _judge(self, runs: Sequence[Candidate]) -> Rerun:
        packed = str(self._artifact.folder)
        return judge_again(self._folder, self._judged, runs, self._rest, packed, self._ended, self._told)
