"""Two versions of a program from their commands to the verdict: composes the stages for `trialwise ab`, as `study` does for files."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path

from trialwise import study
from trialwise.analysis.calibration.results import Calibration
from trialwise.analysis.versions.judging import judge
from trialwise.analysis.versions.looks import LooksPlan, TwoLooks
from trialwise.analysis.versions.results import Forecast, VersionsResult
from trialwise.errors import AnalysisError
from trialwise.execution.events import Observer, RunEvent, SessionStarted, TrialEnded, TrialRecalled
from trialwise.experiment.model import Experiment
from trialwise.store.records import TrialRow


class Steering:
    """Runs the looks: a stopping rule that is told what happens, and tells observers how many trials it means to run."""

    def __init__(
        self, looks: TwoLooks, experiment: Experiment, budget: float | None, observers: Sequence[Observer]
    ) -> None:
        self._looks = looks
        self._warmup = experiment.design.warmup_trials
        self._budget = budget
        self._observers = observers
        self._began: float | None = None
        self._session: SessionStarted | None = None
        self._done = 0
        self._ran: list[float] = []
        self.forecast: Forecast | None = None
        self.reason = ""

    def notice(self, event: RunEvent) -> None:
        """Take in trials, and pass on what happens with the number of trials that are wanted."""
        if isinstance(event, TrialRecalled):
            self._looks.add(event.row, event.samples())
        elif isinstance(event, TrialEnded) and event.outcome.status != "abandoned":
            finished = event.outcome.status == "finished"
            self._looks.add(event.row, event.outcome.samples if finished else None)
            self._done += 1
            if event.outcome.started is not None:
                self._ran.append(event.outcome.finished - event.outcome.started)
        elif isinstance(event, SessionStarted):
            self._session, self._done = event, event.done
            event = dataclasses.replace(event, total=max(self._total(), event.done))
        for observer in self._observers:
            observer.notice(event)

    def reason_to_stop(self, upcoming: TrialRow) -> str | None:  # noqa: ARG002 the protocol's
        """Why no more need run, or None."""
        self._began = self._began or time.monotonic()
        before = self._looks.wanted()
        self.reason = self._looks.reason_to_stop() or self._over() or ""
        if not self.reason and self._looks.wanted() != before and self._session is not None:
            self.forecast = Forecast(self._looks.fresh, self._seconds())
            again = dataclasses.replace(self._session, done=self._done, total=self._total(), reclaimed=0)
            for observer in self._observers:
                observer.notice(again)
        return self.reason or None

    def _over(self) -> str | None:
        if self._budget is None or self._began is None:
            return None
        return "the budget is used up" if time.monotonic() - self._began >= self._budget else None

    def _total(self) -> int:
        return 2 * (self._looks.wanted() + self._warmup)

    def _seconds(self) -> float | None:
        if self._looks.fresh is None or not self._ran:
            return None
        return 2 * self._looks.fresh * sum(self._ran) / len(self._ran)


def run_versions(
    experiment: Experiment,
    path: Path,
    plan: LooksPlan,
    *,
    budget: float | None,
    floor: Calibration | None = None,
    observers: Sequence[Observer] = (),
) -> VersionsResult:
    """Run base and head in turns until decided, out of trials or out of budget (in seconds), and judge."""
    looks = TwoLooks(experiment.metrics, plan)
    steering = Steering(looks, experiment, budget, observers)
    ran = study.run_experiment(experiment, path, stopping=steering, observers=[steering])
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
        ending="interrupted" if ran.ending.word == "interrupted" else reason,
        complete=ran.ending.word != "interrupted" and reason != "the budget is used up",
        failed=ran.failed,
        directory=str(path),
        method=method,
    )
    try:
        trials = study.trial_set(path)
    except AnalysisError:
        return result
    stage, comparison, outcomes, outcome = judge(trials, plan, floor)
    return dataclasses.replace(result, stage=stage, comparison=comparison, outcomes=outcomes, outcome=outcome)
