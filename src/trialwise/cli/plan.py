"""`trialwise plan`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trialwise.cli.budgets import budget_seconds
from trialwise.cli.output import print_json
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import say_document
from trialwise.execution.workers.address import addresses, split_names, with_workers
from trialwise.experiment.model import Experiment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trialwise.design.splitting import Column
    from trialwise.design.summary import FlowsSummary, ForecastSummary, LevelsSummary, PlanSummary
    from trialwise.design.timing import TrialTimes
    from trialwise.design.worker_plan import WorkerPlan

    Known = tuple[Experiment, TrialTimes | None, Sequence[WorkerPlan]]
    """An experiment, the duration of its trials, and its workers' plans if it has begun with some."""


def plan(
    experiment: Path,
    /,
    *,
    directory: Annotated[Path | None, Parameter(name=["--directory", "-d"])] = None,
    order: bool = False,
    budget: str | None = None,
    pilot: bool = False,
    workers: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    json: bool = False,
) -> int:
    """Show what an experiment needs, its order, its schedule and the time it takes.

    For each metric the smallest number of rounds and series that its objectives need, what decides, what is doubtful,
    the treatments, their order, and the time that all of it takes. Nothing of the experiment is executed, programs, functions
    and classes in Python included, unless --pilot is given. Where the experiment has begun and its file was changed since, every key
    that differs, and what would follow if it was run now.

    For example:

    ```text
    trialwise plan experiment.toml
    trialwise plan experiment.toml --order        # every trial
    trialwise plan experiment.toml --pilot        # time each treatment once
    trialwise plan experiment.toml --budget 2h    # what fits into two hours
    trialwise plan x.results --budget 2h          # at the pace of its trials
    trialwise plan experiment.toml --workers ssh://node1,ssh://node2
    ```

    Exit codes: 0 the plan was shown, whether it fits into the budget or not; 2 the experiment file is wrong; 4 a trial
    of the pilot failed.

    Parameters
    ----------
    experiment
        The experiment file, or the directory of an experiment that has begun.
    directory
        The experiment directory that the file is compared with if it has begun; default NAME.results in the current folder.
    order
        Show every trial in its order, not only the first two rounds.
    budget
        Time into which the experiment should fit, such as 90min, 2h or "1d 12h".
    pilot
        Run each treatment once, on this machine and in a temporary directory, to see how long it takes; of simulated trials
        that stop by a precision as many as the first look takes, to forecast how many each claim will take.
    workers
        WORKER[,WORKER…]: plan for these instead of those of the file, as `trialwise run` would take them. Nobody is reached.
    json
        Print the plan as JSON (format trialwise.plan/1, see `trialwise schema plan`), every trial included.
    """
    from trialwise.design.summary import plan_json, summarise
    from trialwise.report.documents.plan import ROUNDS_SHOWN, document
    from trialwise.study.amendments import changes

    limit = None if budget is None else budget_seconds(budget)
    loaded, times, lanes = _begun(experiment) if experiment.is_dir() else _stated(experiment)
    tables = _tables(experiment) if limit is not None and experiment.is_dir() else None
    if names := split_names(workers):
        loaded, lanes = with_workers(loaded, names), ()
    addresses(loaded.workers.use)
    forecasts: tuple[ForecastSummary, ...] = ()
    levels = _levels(experiment, loaded) if experiment.is_dir() else ()
    if pilot:
        from trialwise.cli.pilot import run_pilot

        times, forecasts, levels = run_pilot(loaded)
    shown = None if json or order else ROUNDS_SHOWN
    summary = summarise(loaded, times=times, budget=limit, rounds_shown=shown, lanes=lanes, tables=tables)
    summary = dataclasses.replace(
        summary,
        flows=_expected_flows(summary, loaded),
        forecasts=forecasts,
        levels=levels,
        changes=changes(experiment, loaded, directory),
    )
    if json:
        print_json(plan_json(summary))
    else:
        say_document(document(summary, loaded, whole_order=order, surroundings=_surroundings(loaded)))
    return 0


def _surroundings(experiment: Experiment) -> tuple[str, ...]:
    """Say which variables trials get and do not get."""
    from trialwise.trials.surroundings import not_passed, told_of_surroundings

    return tuple(text for text in (told_of_surroundings(experiment), not_passed(experiment)) if text)


def _stated(file: Path) -> Known:
    from trialwise.design.timing import stated_times
    from trialwise.experiment.reading import read_experiment

    experiment = read_experiment(file)
    return experiment, stated_times(experiment), ()


def _begun(directory: Path) -> Known:
    from trialwise import study
    from trialwise.design.pilot import measured_times
    from trialwise.design.timing import stated_times
    from trialwise.execution.worker_plan import has_lanes, lanes
    from trialwise.trials.surroundings import inheriting

    experiment, _, ledger = study.open_directory(directory)
    experiment = inheriting(experiment, ledger.meta())
    measured = measured_times(experiment, ledger.present_trials())
    known = lanes(ledger) if has_lanes(ledger) else ()
    ledger.close()
    return experiment, measured or stated_times(experiment), known


def _levels(directory: Path, experiment: Experiment) -> tuple[LevelsSummary, ...]:
    """Return the levels of an experiment that has begun; its pilot is simulated unless it was kept."""
    from trialwise import study

    with StatusLine("choosing levels") as patience:
        return study.chosen_levels(directory, experiment, patience.drawing)


def _tables(directory: Path) -> Mapping[tuple[str, str], Mapping[str, Column]]:
    """Return the trials of an experiment directory by metric and treatment; empty if no trial has a value yet."""
    from trialwise import study

    return study.nested_values(directory)


def _expected_flows(summary: PlanSummary, experiment: Experiment) -> tuple[FlowsSummary, ...]:
    """Return the mean number of flows of simulated trials; refuse a treatment that cannot be simulated."""
    if experiment.trial.traits.workload is None:
        return ()
    from trialwise.design.summary import FlowsSummary
    from trialwise.study import check_samples
    from trialwise.trials.simulation import cautions_by_treatment, flows_by_treatment, loads_by_treatment

    drawn = {trial.treatment: trial.factors for trial in reversed(summary.trials or ())}
    names = [each.name for each in summary.treatments if each.name in drawn]
    factors = [drawn[name] for name in names]
    with StatusLine("looking at the flows of the treatments"):
        check_samples(experiment, factors)
        found = (
            each(experiment, factors)
            for each in (flows_by_treatment, loads_by_treatment, cautions_by_treatment)
        )
        return tuple(map(FlowsSummary, names, *found))
