"""Have workers join a begun experiment, or leave it, while it runs or not."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from trialwise.errors import PlanError
from trialwise.execution.orders import employed
from trialwise.execution.reset import refuse_on_workers
from trialwise.execution.stopping import refuse_several
from trialwise.execution.worker_plan import has_lanes, lanes
from trialwise.execution.workers.address import addresses, is_alone, with_workers
from trialwise.execution.workers.remote_kind import refuse_kinds
from trialwise.experiment.machine_names import LOCAL
from trialwise.experiment.model import Experiment
from trialwise.experiment.stopping import stops_by_itself
from trialwise.store.directory import ExperimentDirectory, is_locked, latest
from trialwise.store.ledger import Ledger
from trialwise.store.records import JOIN, LEAVE, WORKER, Amendment
from trialwise.study.amending import amended, author, checked_reason, head_of
from trialwise.study.documents import WorkersDocument
from trialwise.study.locating import frozen_experiment


def change_workers(
    action: Literal["add", "remove"],
    path: Path,
    names: Sequence[str],
    because: str = "",
    *,
    who: str | None = None,
) -> WorkersDocument:
    """Record that workers join (`add`) or leave (`remove`), and who says so (default the user), when and why.

    Raises
    ------
    PlanError
        A name is not that of a worker, joins although it takes part, leaves although it does not, or is the last one; or the trials do
        not run on other machines.
    StoreError
        There is no ledger, or it cannot be written.
    """
    reason = checked_reason(because)
    wanted = [address.name for address in addresses(names)]
    directory = ExperimentDirectory(latest(path))
    with amended(directory) as ledger:
        experiment = frozen_experiment(directory, ledger)
        present = _present(experiment, directory, ledger)
        kind = JOIN if action == "add" else LEAVE
        check = _check_joining if action == "add" else _check_leaving
        check(experiment, wanted, present)
        name, now = author(who), time.time()
        ledger.amend([Amendment(now, kind, name, reason, detail={WORKER: each}) for each in wanted])
        now_present = _present(experiment, directory, ledger)
        head = head_of(ledger)
    return WorkersDocument(str(directory.path), kind, reason, name, wanted, now_present, head)


def _present(experiment: Experiment, directory: ExperimentDirectory, ledger: Ledger) -> list[str]:
    """Return the workers of the run in progress, which may have been named at its start, or else of the next run."""
    workers = experiment.workers
    return employed(_with_lanes(ledger) if is_alone(workers) or is_locked(directory) else workers.use, ledger)


def goes_on_with(experiment: Experiment, directory: ExperimentDirectory) -> Experiment:
    """Return the experiment with the workers of the runs before, if they had some that the file does not name."""
    if not (is_alone(experiment.workers) and directory.is_begun):
        return experiment
    with contextlib.closing(directory.ledger()) as ledger:
        names = employed(_with_lanes(ledger), ledger)
    return with_workers(experiment, names) if names else experiment


def _with_lanes(ledger: Ledger) -> list[str]:
    """Return the workers that the trials are divided between; this machine if they are not."""
    if not has_lanes(ledger):
        return [LOCAL]
    return [lane.worker for lane in lanes(ledger) if lane.worker is not None]


def _check_joining(experiment: Experiment, wanted: Sequence[str], present: Sequence[str]) -> None:
    if not wanted:
        raise PlanError("no worker is named", hint="name it, as in ssh://user@host")
    for name in wanted:
        if name in present:
            raise PlanError(f"{name} takes part already")
    if any(name != LOCAL for name in wanted):
        refuse_kinds(experiment)
        refuse_on_workers(experiment)
    if stops_by_itself(experiment):
        refuse_several([*present, *wanted])


def _check_leaving(experiment: Experiment, wanted: Sequence[str], present: Sequence[str]) -> None:
    if not wanted:
        raise PlanError("no worker is named", hint=f"there are: {', '.join(present)}")
    for name in wanted:
        if name not in present:
            raise PlanError(f"{name} takes no part", hint=f"there are: {', '.join(present)}")
    if experiment.workers.allocate is None and not set(present) - set(wanted):
        raise PlanError("no worker would be left", hint="`trialwise pause` stops a run for now")
