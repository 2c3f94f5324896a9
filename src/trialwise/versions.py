"""Two versions of a program from their commands to the verdict: composes the stages for `trialwise ab`, as `study` does for files."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from math import ceil
from pathlib import Path

from trialwise import study
from trialwise.analysis.calibration.results import Calibration
from trialwise.analysis.trial_set import TrialSet
from trialwise.analysis.versions.course import courses
from trialwise.analysis.versions.judging import judge
from trialwise.analysis.versions.looks import AbPlan, PilotThenFresh
from trialwise.analysis.versions.reach import Reach, reach_words
from trialwise.analysis.versions.results import Forecast, SuiteResult, VersionsResult
from trialwise.analysis.versions.suites import (
    Screened,
    SuitePlan,
    SuiteVerdict,
    complete_rounds,
    confirmed,
    judged_once,
    reach_of,
    rounds_of,
    screened,
    seconds_of_round,
)
from trialwise.errors import AnalysisError, TrialError
from trialwise.execution.events import (
    EnvironmentChanged,
    Observer,
    Remarked,
    RunEvent,
    SessionStarted,
    StoppingOutlook,
    TrialEnded,
    TrialRecalled,
)
from trialwise.experiment.model import Experiment
from trialwise.experiment.quantity import duration_text
from trialwise.measurement.file_identity import NamedFile
from trialwise.numbers import counted
from trialwise.store.records import TrialRow
from trialwise.study.pairs import pair_of

_CHANGED = "what is measured has changed"
MINUTE = 60.0
_MAX_PAIRS = 4
"""Maximum number of pairs begun because what is measured changes meanwhile."""


class Steering:
    """Runs the looks: a stopping rule that follows events and tells observers how many trials it plans to run, and for how long.

    However many trials are wanted, `budget` (in seconds) ends them; `used` of it was spent before. With `fits`, the first trials
    raise it to what two pilots take, at most to `fits` seconds. `announcement` is what is said before the first trial, instead of
    what the looks want.
    """

    def __init__(
        self,
        looks: PilotThenFresh,
        experiment: Experiment,
        budget: float | None,
        observers: Sequence[Observer],
        used: float = 0.0,
        announcement: str | None = None,
        fits: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._looks = looks
        self._warmup = experiment.design.warmup_trials
        self.budget = budget
        """Seconds that trials may take; None for any."""
        self._fits = fits
        self._used = used
        self._announcement = announcement
        self._observers = observers
        self._clock = clock
        self._began: float | None = None
        self._done = 0
        self._ran = 0
        self._timed = False
        self.forecast: Forecast | None = None
        self.reason = ""
        self.changed = False
        """Whether what is measured has changed, so that this pair can get no more trials."""
        self.over = False
        """Whether the budget ended the run."""

    def notice(self, event: RunEvent) -> None:
        """Take in trials, and pass events on with the number of trials wanted."""
        self.changed |= isinstance(event, EnvironmentChanged)
        if isinstance(event, TrialRecalled):
            self._looks.add(event.row, event.samples())
        elif isinstance(event, TrialEnded) and event.is_last:
            finished = event.outcome.status == "finished"
            self._looks.add(event.row, event.outcome.samples if finished else None)
            self._done += 1
            self._ran += 1
        elif isinstance(event, SessionStarted):
            self._done = event.done
            event = dataclasses.replace(event, total=max(self._total(), event.done))
        self._pass_on(event)

    def reason_to_stop(self, upcoming: TrialRow) -> str | None:  # noqa: ARG002 required by the protocol
        """Return why no more trials need run, or None."""
        first = self._began is None
        self._began = self._clock() if self._began is None else self._began
        looked = self._looks.looked
        self.reason = _CHANGED if self.changed else self._looks.reason_to_stop() or ""
        if not self.reason:
            self._tell(first=first, looked=looked)
            self._end_with_the_budget()
        return self.reason or None

    def _end_with_the_budget(self) -> None:
        self.over = self.budget is not None and self._used + self.spent() >= self.budget
        if self.over:
            self.reason = "the budget is used up"

    def _tell(self, *, first: bool, looked: bool) -> None:
        """Announce what is about to run: the trials wanted, their duration, and what limits them."""
        if self._looks.looked and not looked:
            self._open()
        elif first:
            said = self._announcement or _announcement(self._looks.plan, self.budget)
            self._pass_on(Remarked(said))
        elif not self._timed and self._ran > 1:
            self._timed = True
            self._fit()
            self._pass_on(Remarked(f"a trial takes about {duration_text(self._each())}: {self._time_left()}"))

    def _fit(self) -> None:
        """Raise the budget to what two pilots take, in whole minutes, if the first trials show that it is too short for that."""
        if self.budget is None or self._fits is None:
            return
        minutes = ceil(2 * self._total() * self._each() / MINUTE)
        fitting = min(minutes * MINUTE, self._fits)
        if fitting > self.budget:
            self.budget = fitting
            self._pass_on(Remarked(f"the budget is {duration_text(fitting)}, for trials this long"))

    def _open(self) -> None:
        """Announce that the pilot did not decide."""
        fresh = self._looks.fresh
        self._timed = True
        versions = len(self._looks.plan.versions)
        self.forecast = Forecast(
            fresh, None if fresh is None or not self._ran else versions * fresh * self._each()
        )
        self._pass_on(StoppingOutlook(self._within_budget(), ()))
        self._pass_on(
            Remarked(
                f"the pilot does not decide; {_bill_words(self._looks.plan, fresh)}: {self._time_left()}"
            )
        )

    def _time_left(self) -> str:
        left = max(self._total() - self._done, 0)
        if not self._ran:
            return counted(left, "more trial")
        seconds = left * self._each()
        text = f"{counted(left, 'more trial')} in about {duration_text(seconds)}"
        if self.budget is None or self._used + self.spent() + seconds <= self.budget:
            return text
        return f"{text}, which the budget of {duration_text(self.budget)} cuts short"

    def _each(self) -> float:
        """Return the seconds from one trial to the next so far in this session."""
        return self.spent() / self._ran

    def spent(self) -> float:
        """Return the seconds since the first trial of this session was asked for."""
        return 0.0 if self._began is None else self._clock() - self._began

    def _within_budget(self) -> int:
        """Return the trials that are expected in all, with the pace so far."""
        if self.budget is None or not self._ran:
            return self._total()
        left = max(self.budget - self._used - self.spent(), 0.0)
        return min(self._total(), self._done + ceil(left / self._each()))

    def _total(self) -> int:
        return len(self._looks.plan.versions) * (self._looks.wanted() + self._warmup)

    def _pass_on(self, event: RunEvent) -> None:
        for observer in self._observers:
            observer.notice(event)


def run_versions(
    experiment: Experiment,
    place: Path,
    plan: AbPlan,
    sides: tuple[tuple[NamedFile, ...], ...],
    *,
    budget: float | None,
    fits: float | None = None,
    floor: Calibration | None = None,
    observers: Sequence[Observer] = (),
) -> VersionsResult:
    """Run the versions in turns until decided, out of trials or out of budget (in seconds), and judge.

    Each pair of programs has its own directory below `place`. If what is measured changes meanwhile, another pair begins;
    `sides` are the files of each version. With `fits`, long trials raise the budget up to that many seconds.

    Raises
    ------
    TrialError
        What is measured keeps changing.
    """
    began = time.monotonic()
    for _ in range(_MAX_PAIRS):
        pair = pair_of(experiment, place, sides, own_change=bool(plan.commands))
        if pair.change is not None:
            for observer in observers:
                observer.notice(Remarked(f"{pair.directory}: another pair, for {pair.change}"))
        looks = PilotThenFresh(experiment.metrics, plan)
        steering = Steering(looks, experiment, budget, observers, used=time.monotonic() - began, fits=fits)
        ran = study.run_experiment(experiment, pair.directory, stopping=steering, observers=[steering])
        if not steering.changed or ran.ending.reason == "interrupted":
            return _result(steering, ran, plan, floor)
    raise _keeps_changing(place)


def run_suite(
    experiment: Experiment,
    place: Path,
    plan: SuitePlan,
    sides: tuple[tuple[NamedFile, ...], ...],
    *,
    budget: float | None,
    floor: Calibration | None = None,
    observers: Sequence[Observer] = (),
) -> SuiteResult:
    """Run the suites of base and head in turns: a pilot, then the fresh rounds that confirm what it found; judge.

    The pilot gets at most half of the `budget` (in seconds), so that something is left to confirm with; judging takes nothing of it.
    Else as `run_versions`.

    Raises
    ------
    TrialError
        What is measured keeps changing.
    """
    for _ in range(_MAX_PAIRS):
        pair = pair_of(experiment, place, sides)
        if pair.change is not None:
            for observer in observers:
                observer.notice(Remarked(f"{pair.directory}: another pair, for {pair.change}"))
        looks = _SuiteLooks(experiment, pair.directory, plan, budget, floor, observers)
        if (found := looks.result()) is not None:
            return found
    raise _keeps_changing(place)


def _keeps_changing(place: Path) -> TrialError:
    return TrialError(
        f"{place}: what is measured changes while it runs",
        hint="build both versions, then compare them; a program must not write its own files",
    )


class _SuiteLooks:
    """Both looks at the suites of one pair."""

    def __init__(
        self,
        experiment: Experiment,
        directory: Path,
        plan: SuitePlan,
        budget: float | None,
        floor: Calibration | None,
        observers: Sequence[Observer],
    ) -> None:
        self._experiment = experiment
        self._directory = directory
        self._plan = plan
        self._budget = budget
        self._floor = floor
        self._observers = observers
        self._spent = 0.0
        self._reach: Reach | None = None

    def result(self) -> SuiteResult | None:
        """Run and judge; None if what is measured has changed meanwhile."""
        plan = self._plan
        wanted = plan.fixed or plan.pilot
        share = self._budget if plan.fixed or self._budget is None else self._budget / 2
        ran = self._run(wanted, share, f"{counted(wanted, 'round')} of both suites")
        if isinstance(ran, str):
            return None
        trials = _trials(ran.directory)
        if trials is None or ran.ending.reason == "interrupted":
            return self._told(ran, None, 0)
        if plan.fixed:
            return self._told(ran, judged_once(trials, plan, self._floor), 0)
        pilot = min(complete_rounds(trials), plan.pilot)
        first = screened(rounds_of(trials, 1, pilot), plan, self._floor)
        if first.fresh:
            fresh = min(first.fresh, plan.most - pilot)
            warmup = self._experiment.design.warmup_trials
            self._reach = reach_of(first, plan, seconds_of_round(trials), self._left(), warmup)
            again = self._run(pilot + fresh, self._budget, _opened(first, fresh, self._reach))
            if isinstance(again, str):
                return None
            ran, trials = again, study.trial_set(again.directory)
        later = rounds_of(trials, pilot + 1)
        return self._told(ran, confirmed(first, later, plan, self._floor), first.fresh)

    def _left(self) -> float | None:
        """Return the seconds that are left of the budget; None without one."""
        return None if self._budget is None else max(0.0, self._budget - self._spent)

    def _run(self, rounds: int, budget: float | None, announcement: str) -> study.RunResult | str:
        """Run until so many rounds are there; return why not if what is measured has changed."""
        looks = PilotThenFresh((), AbPlan(rounds, rounds, self._plan.confidence, self._plan.margin, rounds))
        limit = "" if budget is None else f"; the budget is {duration_text(budget)}"
        steering = Steering(
            looks,
            self._experiment,
            budget,
            self._observers,
            used=self._spent,
            announcement=announcement + limit,
        )
        ran = study.run_experiment(self._experiment, self._directory, stopping=steering, observers=[steering])
        self._over, self._reason = steering.over, steering.reason
        self._spent += steering.spent()
        return _CHANGED if steering.changed and ran.ending.reason != "interrupted" else ran

    def _told(self, ran: study.RunResult, verdict: SuiteVerdict | None, wanted: int) -> SuiteResult:
        plan = self._plan
        interrupted = ran.ending.reason == "interrupted"
        method = (
            "one judgement of a number of rounds set before"
            if plan.fixed is not None
            else f"a pilot that screens, and fresh rounds that alone can call a benchmark worse, each at {plan.each:g} %"
        )
        return SuiteResult(
            outcome="undecided" if verdict is None else verdict.outcome,
            outcomes=() if verdict is None else verdict.outcomes,
            stages=() if verdict is None else verdict.stages,
            crossed=() if verdict is None else verdict.crossed,
            rounds=(0, 0) if verdict is None else verdict.rounds,
            wanted=wanted,
            reach=self._reach,
            not_comparable=study.metrics_apart(ran.directory),
            comparison=None if verdict is None else verdict.comparison,
            confidence=plan.confidence,
            margin=plan.margin,
            ending="interrupted" if interrupted else self._reason or ran.ending.text,
            complete=not interrupted and not self._over,
            failed=ran.failed,
            directory=str(ran.directory),
            method=method,
        )


def _trials(directory: Path) -> TrialSet | None:
    """Return the trials of both versions; None if there are too few for any comparison."""
    try:
        trials = study.trial_set(directory)
    except AnalysisError:
        return None
    return trials if complete_rounds(trials) >= 2 else None


def _opened(first: Screened, fresh: int, reach: Reach | None) -> str:
    still = sum(outcome != "fine" for outcome in first.outcomes) - len(first.crossed)
    parts = [
        f"{len(first.crossed)} to confirm" if first.crossed else "",
        f"{still} undecided" if still else "",
    ]
    said = f"the pilot leaves {' and '.join(filter(None, parts))}: {counted(fresh, 'fresh round')} of both suites"
    return said if reach is None else f"{said}; {reach_words(reach)}"


def _result(
    steering: Steering, ran: study.RunResult, plan: AbPlan, floor: Calibration | None
) -> VersionsResult:
    path = ran.directory
    method = (
        "one judgement of a number of trials set before"
        if plan.fixed is not None
        else f"two looks that share the error: the pilot, and fresh trials by themselves, each at {plan.each:g} %"
    )
    reason = steering.reason or ran.ending.text
    result = VersionsResult(
        outcome="undecided",
        outcomes=(),
        stage="all" if plan.fixed is not None else "pilot",
        pilot=plan.pilot,
        forecast=steering.forecast,
        comparison=None,
        confidence=plan.confidence,
        ending="interrupted" if ran.ending.reason == "interrupted" else reason,
        complete=ran.ending.reason != "interrupted" and not steering.over,
        failed=ran.failed,
        directory=str(path),
        method=method,
        versions=plan.versions,
        commands=plan.commands,
        budget=steering.budget,
    )
    try:
        trials = study.trial_set(path)
    except AnalysisError:
        return result
    stage, comparison, outcomes, outcome = judge(trials, plan, floor)
    return dataclasses.replace(
        result,
        stage=stage,
        comparison=comparison,
        outcomes=outcomes,
        outcome=outcome,
        courses=tuple(courses(trials)),
    )


def _announcement(plan: AbPlan, budget: float | None) -> str:
    """Say before the first trial how many will run, and what limits them (`budget` in seconds)."""
    limit = "no budget" if budget is None else f"the budget is {duration_text(budget)}"
    if plan.fixed is not None:
        return f"{counted(plan.fixed, 'trial')} of each version, judged once at the end; {limit}"
    rest = max(plan.most - plan.pilot, 0)
    return f"a pilot of {plan.pilot} trials of each version, then at most {rest} fresh ones of each; {limit}"


def _bill_words(plan: AbPlan, fresh: int | None) -> str:
    """Say how many fresh trials of each version the pilot asks for (`fresh`, None if unknown), and how many run."""
    rest = max(plan.most - plan.pilot, 0)
    if fresh is None:
        return f"no number of fresh trials is known to decide, so {rest} of each version may run"
    if fresh > rest:
        return f"{fresh} fresh trials of each version would give a 90 % chance to decide, and {rest} of each may run"
    return f"{counted(fresh, 'fresh trial')} of each version give a 90 % chance to decide"
