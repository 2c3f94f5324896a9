"""`trialwise run`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.spinner import DrawingWatch
from trialwise.cli.text import show_document
from trialwise.errors import PlanError
from trialwise.execution.workers.address import split_names
from trialwise.experiment.stopping import stops_by_itself
from trialwise.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from trialwise.execution.events import Observer
    from trialwise.experiment.model import Experiment
    from trialwise.report.document import Document
    from trialwise.study import RunResult
    from trialwise.study.documents import RunDocument


def run(
    experiment: Path,
    /,
    *,
    directory: Annotated[Path | None, Parameter(name=["--directory", "-d"])] = None,
    extend: bool = False,
    again: bool = False,
    reread: bool = False,
    amend: bool = False,
    anytime: bool = False,
    only: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    rounds: int | None = None,
    workers: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    jobs: int | None = None,
    cluster: str | None = None,
    allow_rate: str | None = None,
    allow_bytes: str | None = None,
    json: bool = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"])] = False,
) -> int:
    """Run an experiment, or go on with it.

    What is finished is never run again: after a crash, a power cut or Ctrl-C the same command goes on with the same
    plan. The first Ctrl-C finishes the trial in hand, the second abandons it.

    For example:

    ```text
    trialwise run experiment.toml
    trialwise run experiment.toml --directory results/monday
    trialwise run results/monday          # go on
    trialwise run results/monday --again  # and give failed trials another attempt
    trialwise run experiment.toml --reread  # from what is kept
    trialwise run experiment.toml --only scheme=cubic,bbr
    trialwise run experiment.toml --rounds 1  # one round now
    trialwise run experiment.toml --workers ssh://me@node1,ssh://me@node2:2222
    trialwise run simulated.toml --jobs 4
    trialwise run simulated.toml --cluster tcp://scheduler:8786
    ```

    Where the file says when to stop (`stop` of a metric, `stop = "verdict"` of the design), the run ends by itself and tells what is
    known of each claim.

    Exit codes: 0 all trials finished, or everything asked for is known; 3 the run ended by itself and something is not, or a cap on
    what real paths carry ended it; 4 some trials failed, 6 a worker was lost and trials remain, 130 interrupted or paused, 2 and 5
    errors.

    Parameters
    ----------
    experiment
        The experiment file, or the directory of an experiment that has begun.
    directory
        The experiment directory; default NAME.results in the current folder.
    extend
        Go on with the same sequence after rounds or series were raised in the file.
    again
        Give trials that failed or are invalid a further attempt; the failed ones stay on record.
    reread
        Read metrics that are new in the file, or read otherwise, from what was kept of finished trials. Trials of which nothing was
        kept are counted as trials without them; what was measured stays.
    amend
        Go on though the file has trials run differently from now on, as with another command: in a new epoch, whose rounds are
        series of their own. `trialwise plan` says beforehand what follows from every key that was changed.
    anytime
        Look at any time, whatever the file says of looks: the bounds are wider and hold however often somebody looks, extends or
        changes their mind. Only from the beginning of an experiment on.
    only
        FACTOR=LEVEL[,LEVEL…]: run the planned trials with one of these levels; the others stay planned, and a later run
        without it goes on with them. Repeatable.
    rounds
        Run at most so many more rounds; the rest stays planned, and a later run goes on with it.
    workers
        WORKER[,WORKER…]: run on these machines instead of those of the file or, where it names none, of earlier runs: local,
        ssh://host, ssh://user@host:port. Each runs the whole plan, in orders of its own. Repeatable.
    jobs
        How many processes of this machine compute simulated trials; default one for each core. With --cluster slurm: how many jobs.
    cluster
        Have simulated trials computed by a Dask cluster: tcp://host:port of its scheduler, slurm, or ssh:host,user@host:port. The
        results are the same bits as of one process.
    allow_rate
        What a trial over a real path may send at most, as 1Gbit/s; default the path's rate_cap.
    allow_bytes
        What all trials over real paths may send together, as 50GB, those of earlier runs included; default 10GB.
    json
        Print the outcome as JSON.
    quiet
        No progress.
    """
    from trialwise import study
    from trialwise.cli.progress import observer
    from trialwise.execution.allowance import allowance

    console = stderr_console()
    observers: list[Observer] = []
    if not quiet:
        loaded = study.load(experiment)
        _warn(console, loaded)
        observers.append(observer(console, loaded, terminal=sys.stderr.isatty()))
    with DrawingWatch(console) as drawing:
        result = study.run(
            experiment,
            directory,
            extend=extend,
            again=again,
            reread=reread,
            amend=amend,
            anytime=anytime,
            only=only,
            rounds=rounds,
            workers=split_names(workers),
            jobs=jobs,
            cluster=cluster,
            allowed=None
            if allow_rate is None and allow_bytes is None
            else allowance(allow_rate, allow_bytes),
            observers=observers,
            watch=None if quiet else drawing,
        )
    from trialwise.study.documents import RunDocument

    ending = result.ending
    ended = RunDocument(str(result.directory), ending.reason, ending.text, result.counts, result.stopping)
    if json:
        print_json(asdict(ended))
    elif not quiet:
        show_document(console, _ended(result, ended))
    return _exit_code(result)


def _warn(console: Console, experiment: Experiment) -> None:
    """Warn before the run of known faults of its stopping rule."""
    warning = RULES[experiment.design.looks].warning
    if warning and stops_by_itself(experiment):
        console.print(f'! looks = "{experiment.design.looks}": {warning}', markup=False)
    for text in (*_too_fine(experiment), *_cautions(experiment)):
        console.print(f"! {text}", markup=False)


def _too_fine(experiment: Experiment) -> Iterable[str]:
    if not stops_by_itself(experiment):
        return ()
    from trialwise.design.fine_precision import too_fine
    from trialwise.design.sizing import size

    return too_fine(experiment, size(experiment))


def _cautions(experiment: Experiment) -> Iterable[str]:
    """Yield warnings on simulated networks, each once; for a sampled factor, `plan` knows the levels."""
    if experiment.trial.traits.workload is None or experiment.drawn_factors:
        return ()
    from trialwise.design.treatments import treatments
    from trialwise.trials.simulation import cautions_by_treatment

    factors = [dict(treatment.levels) for treatment in treatments(experiment)]
    try:
        return dict.fromkeys(chain.from_iterable(cautions_by_treatment(experiment, factors)))
    except PlanError:  # running says it
        return ()


def _exit_code(result: RunResult) -> int:
    if result.ending.reason in ("interrupted", "paused"):
        return 130
    if result.ending.reason == "worker lost":
        return 6
    if result.failed or result.ending.reason in ("reset failed", "service failed"):
        return 4
    if result.ending.reason == "cap reached":
        return 3
    return 3 if result.stopping is not None and not result.stopping.decided else 0


def _ended(result: RunResult, ended: RunDocument) -> Document:
    """Describe how the run ended, with remarks if claims do not cover it, and the workers if one was lost."""
    from trialwise import study
    from trialwise.report.documents.status import ended_document

    remarked = result.stopping is None and result.ending.reason == "complete"
    is_lost = result.ending.reason in ("worker lost", "reset failed")
    return ended_document(
        ended,
        trials=result.trials,
        failed=result.failed,
        retried=result.retried,
        tails=tuple(study.tails(result.directory)) if remarked else (),
        workers=study.state(result.directory).workers if is_lost else (),
    )
