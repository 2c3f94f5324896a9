"""Trials of kind path whose path is a real one between two machines; emulated paths beside it run as always."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from trialwise.errors import PlanError, TrialError, TrialwiseError, WorkerError
from trialwise.execution.allowance import Allowance
from trialwise.execution.ends.budget import (
    NOTHING,
    PathBudget,
    known_rates,
    refuse_rates,
    sent_samples,
    with_allowed,
)
from trialwise.execution.ends.connections import Connections, forget_all
from trialwise.execution.ends.environment import environment_at, with_environments
from trialwise.execution.ends.pair import run_both
from trialwise.execution.ends.records import EndRecord
from trialwise.execution.ends.results import outcome_of
from trialwise.execution.ends.tasks import EndTasks, require_sight, require_usable
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.placeholders import fill
from trialwise.experiment.sources import PathSource
from trialwise.experiment.traits import sources_of
from trialwise.experiment.trials import PathSettings, RealEnds
from trialwise.measurement.condition_files import UNNAMED
from trialwise.measurement.file_identity import NamedFile
from trialwise.store.ledger import Ledger
from trialwise.trials.base import TrialOutcome, TrialRequest
from trialwise.trials.path import PathKind, abandoned
from trialwise.trials.path_plan import NOWHERE, FlowPlan, check_load, flow_plans, settings_of, trial_of
from trialwise.trials.programs import readable

ABSOLUTE = {
    "delay": "queueing_delay",
    "pantheon_delay": "queueing_delay",
    "frame_delay": "freeze_share",
    "late_frames": "freeze_share",
}
"""Quantities that are one-way delays and need to know how far clocks are apart; and one that does not."""
_NOBODY = "check"
"""Owner of the folder in which ends are looked at before a run: no trial is executed there."""


class EndsKind:
    """Runs the flows of a trial between two ends, and computes the metrics from the packets that both saw."""

    def __init__(self) -> None:
        self._emulated = PathKind()
        self._connections: Connections | None = None
        self._token = secrets.token_bytes(16)
        self._never, self._never_writer = os.pipe()
        self._allowed = Allowance()
        self._budget: PathBudget | None = None

    # Before the run

    def allow(self, allowed: Allowance) -> None:
        """Take note of what this run may send."""
        self._allowed = allowed

    def budget(self, experiment: Experiment, ledger: Ledger) -> PathBudget:
        """Return what trials may send, as the ledger has it."""
        self._budget = PathBudget(experiment, ledger, self._allowed)
        return self._budget

    def check(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
        """Raise PlanError if a path or a scheme cannot be used, WorkerError if an end cannot be reached or lacks a program."""
        emulated: list[Mapping[str, Level]] = []
        for values in factors:
            filled = dict(NOWHERE) | dict(values)
            settings = settings_of(experiment, filled)
            if settings.ends is None:
                emulated.append(values)
            else:
                self._check_real(experiment, filled, settings, settings.ends)
        self.close()
        if emulated:
            self._emulated.check(experiment, emulated)

    def _check_real(
        self, experiment: Experiment, filled: Mapping[str, Level], settings: PathSettings, ends: RealEnds
    ) -> None:
        plans = flow_plans(experiment, filled)
        _refuse_quantities(experiment, ends)
        for plan in plans:
            check_load(plan, settings)
        path = path_name(experiment, filled) or UNNAMED
        refuse_rates(plans, with_allowed(ends, self._allowed), known_rates(experiment, path, ends))
        tasks = self._tasks(experiment, ends, _NOBODY)
        require_sight(tasks)
        tasks.check(settings.mtu)
        for plan in plans:
            require_usable(plan, tasks)

    def programs(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> Iterator[NamedFile]:
        """Name the files that trials depend on on this machine."""
        yield from self._emulated.programs(experiment, factors)

    def attachments(
        self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]
    ) -> Iterator[tuple[str, Path]]:
        """Name the files of schemes, loads and emulated paths."""
        yield from self._emulated.attachments(experiment, factors)

    def close(self) -> None:
        """End the connections to the ends."""
        if self._connections is not None:
            self._connections.close()
            self._connections = None

    # A trial

    def execute(self, request: TrialRequest) -> TrialOutcome:
        """Run one trial between the ends, or over an emulated path."""
        filled = dict(NOWHERE) | request.places
        try:
            settings = settings_of(request.experiment, filled)
            if settings.ends is None:
                return self._emulated.execute(request)
            return self._execute(request, settings, settings.ends)
        except (TrialError, PlanError, WorkerError) as error:
            return _failed(error)

    def _execute(self, request: TrialRequest, settings: PathSettings, ends: RealEnds) -> TrialOutcome:
        request.scratch.mkdir(parents=True, exist_ok=True)
        try:
            plans = flow_plans(request.experiment, dict(NOWHERE) | request.places)
            tasks = self._tasks(
                request.experiment, with_allowed(ends, self._allowed), request.marker.partition(":")[0]
            )
            environments = [
                environment_at(remote, program, [plan.scheme for plan in plans])
                for remote, program in zip(tasks.remotes, tasks.programs, strict=True)
            ]
        except (TrialError, PlanError, WorkerError) as error:
            return dataclasses.replace(_failed(error), samples=NOTHING)
        answers = self._run(request, settings, plans, tasks)
        sent = sent_samples(answers)
        if readable(request.cancel, 0):
            return dataclasses.replace(abandoned(), samples=sent)
        try:
            name = path_name(request.experiment, dict(NOWHERE) | request.places)
            path = name or f"{ends.sending} → {ends.receiving}"
            outcome = outcome_of(request, settings, plans, ends, answers, path)
        except TrialError as error:
            outcome = _failed(error)
        return with_environments(
            dataclasses.replace(outcome, samples={**outcome.samples, **sent}),
            [
                each.with_interface(answer.head.get("interface"))
                for each, answer in zip(environments, answers, strict=True)
            ],
        )

    def _run(
        self, request: TrialRequest, settings: PathSettings, plans: Sequence[FlowPlan], tasks: EndTasks
    ) -> tuple[EndRecord, EndRecord]:
        """Have both ends run the trial; return their records."""
        key = f"{request.number}.{request.attempt}"
        secret = hmac.new(self._token, key.encode(), hashlib.sha256).digest()
        left = None if self._budget is None else self._budget.left
        return run_both(tasks, key, tasks.orders(request, settings, plans, key, secret, left), request)

    # The ends

    def _tasks(self, experiment: Experiment, ends: RealEnds, whose: str) -> EndTasks:
        if self._connections is None:
            # A trial that was not recorded runs again.
            self._connections = Connections(experiment.workers, self._never, forget_all)
        return self._connections.tasks(ends, whose)


def _failed(error: TrialwiseError) -> TrialOutcome:
    hint = f" ({error.hint})" if error.hint else ""
    return TrialOutcome("failed", None, time.time(), reason=error.message + hint)


def path_name(experiment: Experiment, values: Mapping[str, Level]) -> str | None:
    """Return the name of a trial's path in the experiment; None if it stands in the trial without one."""
    path = trial_of(experiment).path
    return fill(path, values) if isinstance(path, str) else None


def _refuse_quantities(experiment: Experiment, ends: RealEnds) -> None:
    """Raise PlanError if a metric needs what is not known between two machines."""
    for metric, source in sources_of(experiment.metrics, PathSource):
        if source.quantity in ABSOLUTE and ends.clocks is None:
            raise PlanError(
                f"metric {metric.name}: one-way delays between two machines are known up to a constant only",
                hint=f"take {ABSOLUTE[source.quantity]}, which needs no common clock; or say how far the clocks are apart at most, "
                'as PTP or GPS tells: clocks = "50us" beside from and to',
            )
