"""The environment of a trial: what it inherits, what the experiment sets, and secrets, which are masked in all that it leaves."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar, cast

from trialwise.errors import PlanError
from trialwise.experiment.masked import told_of
from trialwise.measurement.inherited import EVERYTHING, held_back, passed_on
from trialwise.measurement.masking import SHORTEST, Masks
from trialwise.numbers import first_of

if TYPE_CHECKING:
    from trialwise._linux import CommandResult
    from trialwise.experiment.model import Experiment
    from trialwise.experiment.traits import Trial
    from trialwise.experiment.trials import CommandTrial, PythonTrial
    from trialwise.trials.base import TrialOutcome, TrialRequest
    from trialwise.trials.starting import Ended

FACT, STATED = "environment", "stated"
"""Fact of a ledger, and its value: trials get a stated environment. Directories that began without it pass everything on."""
_MOST_NAMES = 8

Run = TypeVar("Run", bound="Ended")


def inherited(trial: CommandTrial | PythonTrial, environment: Mapping[str, str]) -> dict[str, str]:
    """Return what a trial inherits of an environment, and its secrets.

    Raises
    ------
    PlanError
        A secret is missing.
    """
    return {**passed_on(environment, trial.passed or ()), **secrets_of(trial, environment)}


def secrets_of(trial: Trial, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the secrets of a trial by name, from the environment of the runner; some kinds have none.

    Raises
    ------
    PlanError
        One is missing, is also set by the file, or is too short or a number, which measured values could not be told from.
    """
    found: dict[str, str] = {}
    for name in getattr(trial, "secret", ()):
        value = environment.get(name)
        if name in dict(getattr(trial, "environment", ())):
            raise PlanError(
                f"trial.secret: {name} also stands in trial.environment",
                hint="leave it out there: whoever reads the file reads it",
            )
        if not value:
            raise PlanError(
                f"trial.secret: {name} is not in the environment of the runner",
                hint=f"set it before the run: read -rs {name}; export {name}",
            )
        if len(value) < SHORTEST or _is_number(value):
            raise PlanError(
                f"trial.secret: {name} is too short or a number: what trials print could not be told from it",
                hint=f"choose one of at least {SHORTEST} characters with letters",
            )
        found[name] = value
    return found


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return not any(each.isalpha() for each in value)
    return True


def passed_by(trial: Trial) -> tuple[str, ...]:
    """Return the names of variables that trials inherit besides those that are stated; kinds without `pass` inherit everything."""
    return (cast("CommandTrial", trial).passed or ()) if hasattr(trial, "passed") else EVERYTHING


def inheriting(experiment: Experiment, facts: Mapping[str, str]) -> Experiment:
    """Return the experiment of a directory whose ledger has these facts.

    Where it began before environments were stated, trials go on to inherit everything.
    """
    trial = experiment.trial
    if getattr(trial, "passed", ()) is not None or facts.get(FACT) == STATED:
        return experiment
    whole = dataclasses.replace(cast("CommandTrial", trial), passed=EVERYTHING)
    return dataclasses.replace(experiment, trial=whole)


def told_of_surroundings(experiment: Experiment) -> str | None:
    """Say which variables trials and services get beyond those that are stated; None if they get none, or trials inherit nothing."""
    who = "trials and services" if experiment.services else "trials"
    passed = getattr(experiment.trial, "passed", None)
    secret = getattr(experiment.trial, "secret", ())
    if passed == EVERYTHING:
        return f"{who} inherit every variable of the machine"
    parts = [f"the variables {', '.join(passed)} of the machine"] if passed else []
    parts += [f"the secrets {', '.join(secret)} of the runner"] if secret else []
    return f"{who} get {' and '.join(parts)}" if parts else None


def not_passed(experiment: Experiment, environment: Mapping[str, str] = os.environ) -> str | None:
    """Say which variables that may matter trials do not get; None if there are none."""
    trial = experiment.trial
    names = held_back(environment, passed_by(trial), trial.variables)
    if not names:
        return None
    return f"trials do not get these variables: {first_of(names, _MOST_NAMES)}; trial.pass names those that they need"


def masked_run(run: Run, masks: Masks) -> Run:
    """Return the run of a program with secrets masked in what it printed."""
    return cast("Run", _MaskedRun(run, masks)) if masks else run


class _MaskedRun:
    """A run whose outputs are masked; all else is that of the run, which may have no standard output."""

    def __init__(self, run: Ended, masks: Masks) -> None:
        self._run = run
        if hasattr(run, "stdout"):
            whole = cast("CommandResult", run)
            is_cut = whole.stdout_total > len(whole.stdout)
            self.stdout = masks.masked(whole.stdout, cut=is_cut)
            if not is_cut:  # a mask may be shorter than what it hides
                self.stdout_total = min(whole.stdout_total, len(self.stdout))
        self.stderr = masks.masked(run.stderr, cut=True)

    def __getattr__(self, name: str) -> object:
        return getattr(self._run, name)


def masked_outcome(outcome: TrialOutcome, request: TrialRequest, masks: Masks) -> TrialOutcome:
    """Return the outcome with secrets masked in all texts, and a remark if the trial printed or wrote one."""
    if not masks:
        return outcome
    seen = outcome.seen
    if seen is not None:
        seen = seen._replace(files=[file for file in seen.files if not masks.hides(os.fspath(file.path))])
    outcome = dataclasses.replace(
        outcome,
        seen=seen,
        reason=None if outcome.reason is None else masks.text(outcome.reason),
        remarks=tuple(map(masks.text, outcome.remarks)),
        output=masks.masked(outcome.output),
        errors=masks.masked(outcome.errors),
    )
    return with_told(outcome, request, masks.met)


def with_told(outcome: TrialOutcome, request: TrialRequest, names: set[str]) -> TrialOutcome:
    """Return the outcome with a remark on the secrets that were masked, if there were any."""
    if not names:
        return outcome
    remark = f"trial {request.number}.{request.attempt} {told_of(names)}"
    return dataclasses.replace(outcome, remarks=(*outcome.remarks, remark))
