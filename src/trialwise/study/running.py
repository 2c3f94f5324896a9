"""A run from its file to its end."""

from __future__ import annotations

import dataclasses
import errno
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trialwise.errors import PlanError, StoreError, reason_of
from trialwise.execution.allowance import Allowance
from trialwise.execution.events import Observer, Remarked
from trialwise.execution.stopping import (
    RunThePlan,
    StopByResults,
    StoppingRule,
    refuse_partial,
    refuse_several,
)
from trialwise.execution.workers.address import with_workers
from trialwise.experiment.model import Experiment
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.stopping import stops_by_itself
from trialwise.experiment.writing import with_looks, write_experiment
from trialwise.rules import ANYTIME
from trialwise.store.directory import EXPERIMENT, ExperimentDirectory
from trialwise.study.awaited import awaited_in
from trialwise.study.locating import load, sources
from trialwise.study.sessions import RunResult, run_session, tell
from trialwise.study.staffing import goes_on_with

if TYPE_CHECKING:
    from trialwise.trials.drawn_means import Watch


def run(
    source: Path,
    path: Path | None = None,
    *,
    extend: bool = False,
    again: bool = False,
    reread: bool = False,
    amend: bool = False,
    anytime: bool = False,
    only: Sequence[str] = (),
    rounds: int | None = None,
    workers: Sequence[str] = (),
    jobs: int | None = None,
    cluster: str | None = None,
    allowed: Allowance | None = None,
    stopping: StoppingRule | None = None,
    observers: Sequence[Observer] = (),
    watch: Watch | None = None,
) -> RunResult:
    """Run an experiment, or continue it.

    Parameters
    ----------
    source
        An experiment file, or the directory of an experiment that has begun.
    path
        The experiment directory; default `default_directory`, or `source` if that is a directory.
    extend
        Whether more rounds or series than before may be planned.
    again
        Whether trials that failed or are invalid get a further attempt.
    reread
        Whether to read metrics that finished trials lack from what was kept of them, where that is possible.
    amend
        Whether the file may have trials run differently from now on, in a new epoch.
    anytime
        Whether to use anytime looks, whatever the file says; only from the beginning on.
    only
        Run the trials with these levels and leave the others planned, as ``scheme=cubic,bbr``.
    rounds
        How many more rounds to run at most; the rest stays planned. Default: all.
    workers
        Names of workers, instead of those of the file or, where it names none, of the runs before: ``local``,
        ``ssh://user@host:port``.
    jobs, cluster
        For simulated trials: the number of processes that compute them (default: one per core), and the Dask cluster to use instead of
        this machine: ``tcp://host:port``, ``slurm`` (then `jobs` is the number of its jobs), ``ssh:host,host``.
    allowed
        What trials over real paths may send, other than by default.
    stopping, observers
        The rule that may end the run before the plan is used up (default: the file's), and who receives events.
    watch
        Called with the progress of sampling flow lists, if the rule needs some: before the first trial, and once more at the end.

    Raises
    ------
    PlanError
        The file is wrong, or differs from the one that the directory began with.
    StoreError
        The directory cannot be used: another runner is at work, the disk is full.
    WorkerError
        Workers cannot be allocated, or the cluster cannot be used.
    """
    if rounds is not None and rounds < 1:
        raise PlanError(f"--rounds {rounds}: nothing would run", hint="ask for 1 or more")
    text, experiment, directory = sources(source, path)
    if anytime and experiment.design.looks != ANYTIME.name:
        text, experiment = _at_any_time(text, experiment, source, directory)
    if workers:
        experiment = with_workers(experiment, workers)
    else:
        experiment = _with_workers_of_before(experiment, directory, observers)
    if stopping is None and stops_by_itself(experiment):
        refuse_partial(experiment, only)
        if experiment.workers.allocate is None:
            refuse_several(experiment.workers.use)
        stopping = rule = _by_results(experiment, directory, observers, watch)
        observers = [rule, *observers]
    result = _with_errors(
        lambda: run_session(
            text,
            experiment,
            directory,
            stopping or RunThePlan(),
            observers,
            only,
            extend=extend,
            again=again,
            reread=reread,
            amend=amend,
            jobs=jobs,
            cluster=cluster,
            allowed=allowed,
            rounds=rounds,
            names_workers=bool(workers),
        ),
        directory,
    )
    return dataclasses.replace(result, stopping=awaited_in(directory, watch))


def _with_workers_of_before(
    experiment: Experiment, directory: ExperimentDirectory, observers: Sequence[Observer]
) -> Experiment:
    found = goes_on_with(experiment, directory)
    if found.workers.use != experiment.workers.use:
        names = ", ".join(found.workers.use)
        tell(observers, Remarked(f"workers of the runs before: {names}; --workers names others"))
    return found


def _at_any_time(
    text: str, experiment: Experiment, source: Path, directory: ExperimentDirectory
) -> tuple[str, Experiment]:
    """Return the experiment with anytime looks; raise PlanError if it has no stopping condition, or began with other looks."""
    if not stops_by_itself(experiment):
        raise PlanError(
            f"{experiment.name}: --anytime says how to look, and nothing says when to stop",
            hint='add stop = { precision = "1%" } to a metric',
        )
    if directory.is_begun and (began := load(directory.path).design.looks) != ANYTIME.name:
        raise PlanError(
            f"{directory.path}: --anytime has to be there from the beginning; this began with looks = {began!r}",
            hint="bounds that hold at any time hold only where they were the rule from the first look on: take another --directory",
        )
    text = with_looks(text, ANYTIME.name)
    return text, parse_experiment(text, source)


def _with_errors(running: Callable[[], RunResult], directory: ExperimentDirectory) -> RunResult:
    try:
        return running()
    except OSError as error:
        raise StoreError(
            f"{error.filename or directory.path}: {reason_of(error)}", hint=_HINTS.get(error.errno or 0)
        ) from error


_ELSEWHERE = "run it where the directory can be written, or copy it there: it goes on wherever it is"
_HINTS = {
    errno.ENOSPC: "free some space and run again; what is finished is kept",
    errno.EDQUOT: "free some space and run again; what is finished is kept",
    errno.EROFS: _ELSEWHERE,
    errno.EACCES: _ELSEWHERE,
}
"""What to try, by the system's error."""


def run_experiment(
    experiment: Experiment,
    path: Path,
    *,
    stopping: StoppingRule | None = None,
    observers: Sequence[Observer] = (),
) -> RunResult:
    """Run an experiment that has no file, or continue it, possibly with more rounds than before; raises as `run` does."""
    text = write_experiment(experiment)
    # In the form in which the directory's own copy will be read.
    read = parse_experiment(text, experiment.folder / EXPERIMENT)
    directory = ExperimentDirectory(path)
    return _with_errors(
        lambda: run_session(
            text, read, directory, stopping or RunThePlan(), observers, (), extend=True, again=False
        ),
        directory,
    )


def run_pilot(experiment: Experiment, path: Path) -> RunResult:
    """Run an experiment that has no file until its own stopping condition is met; raises as `run` does."""
    if not stops_by_itself(experiment):
        return run_experiment(experiment, path)
    rule = _by_results(experiment, ExperimentDirectory(path), ())
    return run_experiment(experiment, path, stopping=rule, observers=[rule])


def _by_results(
    experiment: Experiment,
    directory: ExperimentDirectory,
    observers: Sequence[Observer],
    watch: Watch | None = None,
) -> StopByResults:
    """Return the rule that the experiment states."""
    from trialwise.analysis.stopping.found import FindingMonitor  # most runs have none of this
    from trialwise.study.stopping import judge_of

    judge = FindingMonitor(experiment) if experiment.results else judge_of(experiment, directory, watch)
    return StopByResults(judge, lambda event: tell(observers, event))
