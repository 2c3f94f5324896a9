"""Choose the executor requested on the command line, and reject an unavailable one before anything is written."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator

from trialwise.errors import PlanError
from trialwise.execution.tasks.clusters import opened_cluster
from trialwise.execution.tasks.executor import Executor
from trialwise.execution.workers.address import is_alone
from trialwise.experiment.model import Experiment
from trialwise.trials.base import IndependentKind, TrialKind


def refuse_executor(kind: TrialKind, experiment: Experiment, jobs: int | None, cluster: str | None) -> None:
    """Raise PlanError if an experiment's trials cannot run as the arguments of `opened_executor` say."""
    if jobs is not None and jobs < 1:
        raise PlanError(f"--jobs {jobs}: at least one process has to compute")
    if isinstance(kind, IndependentKind):
        _refuse_for_independent(experiment)
    else:
        _refuse_for_measured(experiment, jobs, cluster)


@contextlib.contextmanager
def opened_executor(kind: TrialKind, jobs: int | None, cluster: str | None) -> Generator[Executor | None]:
    """Yield the executor for trials of a kind; None for trials that are measured, one at a time.

    `jobs` is the number of processes (default: one for each core that we may use; for a cluster by SLURM: of jobs, default 1),
    `cluster` where they are, as ``tcp://host:port``, ``slurm`` or ``ssh:host,host``.

    Raises
    ------
    PlanError
        The name of the cluster has no known form, or Dask is not installed.
    WorkerError
        The cluster is missing, or cannot compute what we would.
    """
    if not isinstance(kind, IndependentKind):
        yield None
        return
    if cluster is not None:
        with opened_cluster(cluster, jobs) as executor:
            yield executor
        return
    from trialwise.execution.tasks.local import LocalExecutor

    executor = LocalExecutor(jobs or len(os.sched_getaffinity(0)))
    try:
        yield executor
    finally:
        executor.close()


def _refuse_for_measured(experiment: Experiment, jobs: int | None, cluster: str | None) -> None:
    option = "--cluster" if cluster is not None else "--jobs" if jobs is not None else None
    if option is not None:
        raise PlanError(
            f"{experiment.name}: {option} is for simulated trials; these are measured, and several at once would disturb each other",
            hint=f"leave {option} out; --workers has each of several machines measure the whole plan",
        )


def _refuse_for_independent(experiment: Experiment) -> None:
    """Raise PlanError for settings that only make sense when a machine is measured."""
    if not is_alone(experiment.workers):
        raise PlanError(
            f"{experiment.name}: workers measure trials; simulated ones give the same wherever they are computed",
            hint="use --cluster, or --jobs for processes of this machine",
        )
    if experiment.reset is not None:
        raise PlanError(
            f"{experiment.name}: [reset] makes a machine ready, and simulated trials know of none",
            hint="leave [reset] out",
        )
    if experiment.design.span is not None:
        raise PlanError(
            f"{experiment.name}: design.span spreads rounds over time, which means nothing for simulated trials",
            hint="leave design.span out",
        )
