"""A Dask cluster whose nodes are jobs of SLURM."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import dask.config
from distributed import Client, Scheduler
from distributed.security import Security

from trialwise.errors import PlanError, WorkerError
from trialwise.execution.tasks.certificates import security_in_files
from trialwise.execution.tasks.dask_executor import DaskExecutor
from trialwise.execution.tasks.executor import Executor, ExecutorLostError
from trialwise.execution.tasks.quiet_node import WORKER, QuietScheduler

QUEUE_SECONDS = 10.0
"""Interval at which SLURM is asked whether it still has jobs while no node is present, in seconds."""
_CONFIGURE = "say in ~/.config/dask/jobqueue.yaml what a job asks for (cores, memory, queue, walltime)"


@contextlib.contextmanager
def opened_slurm(jobs: int) -> Generator[Executor]:
    """Yield a scheduler in this process and `jobs` jobs in SLURM's queue, which compute as they start.

    The resources of a job are set in dask-jobqueue's own configuration.

    Raises
    ------
    PlanError
        That configuration is missing or wrong.
    WorkerError
        SLURM accepts no jobs.
    """
    with contextlib.ExitStack() as ended:
        try:
            cluster = _slurm_cluster(ended.enter_context(security_in_files(_shared_folder())))
        except (ValueError, TypeError) as error:
            raise PlanError(f"--cluster slurm: {str(error).splitlines()[0]}", hint=_CONFIGURE) from error
        except OSError as error:
            raise WorkerError(
                f"--cluster slurm: {error}", hint="see the address that dask-jobqueue is told"
            ) from error
        with _executor_of(cluster, jobs) as executor:
            yield executor


@contextlib.contextmanager
def _executor_of(cluster: Any, jobs: int) -> Generator[Executor]:  # noqa: ANN401 Dask says little about its types
    with cluster, Client(cluster, set_as_default=False) as client:
        _require_acceptance(cluster.job_script())
        cluster.scale(jobs=jobs)
        executor = DaskExecutor(client, QUEUE_SECONDS, SlurmQueue(cluster))
        try:
            yield executor
        finally:
            executor.close()


class SlurmQueue:
    """The jobs of a cluster of dask-jobqueue in SLURM's queue."""

    def __init__(self, cluster: Any) -> None:  # noqa: ANN401 Dask says little about its types
        self._cluster = cluster

    def require_jobs(self) -> None:
        """Raise ExecutorLostError if SLURM says that none of them is left, waiting or running."""
        jobs = sorted(str(job.job_id) for job in self._cluster.workers.values() if job.job_id)
        listed = _listed()
        if not jobs or listed is None or not listed.isdisjoint(jobs):
            return
        ids = ",".join(jobs)
        raise ExecutorLostError(
            f"no node is there, and SLURM has no job of this run any more (job{'s' if len(jobs) > 1 else ''} {ids})",
            hint=f"see why they ended: slurm-{jobs[-1]}.out in this folder (or log-directory of jobqueue.yaml), `sacct -j {ids}`; "
            "a longer walltime keeps them; run again to go on, what is finished is kept",
        )


def _listed() -> set[str] | None:
    """Return the jobs of this user in SLURM's queue; None if SLURM does not answer, as while its controller restarts."""
    words = ["squeue", "--noheader", "--format=%A", f"--user={os.getuid()}"]
    try:
        told = subprocess.run(words, capture_output=True, text=True, timeout=QUEUE_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return set(told.stdout.split())


def _shared_folder() -> Path:
    """Return where jobs find files of this run: the folder in jobqueue.yaml, or this folder, in which they also start."""
    known: Any = dask.config
    told = known.get("jobqueue.slurm.shared-temp-directory", None)
    return Path.cwd() if told is None else Path(os.path.expandvars(told)).expanduser()


def _slurm_cluster(security: Security) -> Any:  # noqa: ANN401 Dask says little about its types
    """Make a cluster without jobs. Importing dask-jobqueue takes over Ctrl-C, which is restored."""
    before = signal.getsignal(signal.SIGINT)
    try:
        from dask_jobqueue.slurm import SLURMCluster
    finally:
        signal.signal(signal.SIGINT, before)
    known: Any = dask.config
    missing = [key for key in ("cores", "memory") if known.get(f"jobqueue.slurm.{key}", None) is None]
    if missing:
        raise PlanError(
            f"--cluster slurm: nothing says the {' and '.join(missing)} of a job", hint=_CONFIGURE
        )
    # No pages, and no server that could have them, unless jobqueue.yaml requests them: it would not authenticate anyone.
    own: dict[str, Any] = known.get("jobqueue.slurm.scheduler-options", None) or {}
    words: list[str] = known.get("jobqueue.slurm.worker-extra-args", None) or []
    return SLURMCluster(
        n_workers=0,
        scheduler_options={"dashboard": False, "dashboard_address": "127.0.0.1:0"} | own,
        scheduler_cls=Scheduler if own.get("dashboard") else QuietScheduler,
        worker_extra_args=[*words, "--worker-class", WORKER],
        protocol="tls://",
        security=security,
    )


def _require_acceptance(script: str) -> None:
    """Have SLURM check a job without accepting it; dask-jobqueue does not report what became of the jobs it submits."""
    try:
        tried = subprocess.run(
            ["sbatch", "--test-only"], input=script, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise WorkerError(
            f"--cluster slurm: sbatch: {error.strerror}", hint="run it where jobs can be handed to SLURM"
        ) from error
    if tried.returncode != 0:
        told = tried.stderr.strip().splitlines() or [f"exit code {tried.returncode}"]
        raise WorkerError(f"--cluster slurm: sbatch takes no such job: {told[-1]}", hint=_CONFIGURE)
