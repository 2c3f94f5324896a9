"""What is known about the claims that an experiment waits for."""

import dataclasses
from itertools import product
from pathlib import Path

from trialwise.analysis.estimation.control_columns import KnownWorkloads
from trialwise.analysis.estimation.level_choice import chosen, chosen_columns
from trialwise.analysis.progress import Progress
from trialwise.analysis.stopping.results import StoppingState
from trialwise.analysis.stopping.sentences import remedy
from trialwise.analysis.stopping.verdicts import StoppingMonitor
from trialwise.design.summary import LevelsSummary, LevelSummary
from trialwise.design.treatments import treatments
from trialwise.execution.replay import recalled_together
from trialwise.experiment.model import Experiment
from trialwise.experiment.stopping import goals, stops_by_itself, stops_with_controls
from trialwise.measurement.path_moves import moves_in
from trialwise.store.directory import ExperimentDirectory, latest
from trialwise.store.kept_lists import KeptEngines
from trialwise.store.kept_means import KeptMeans
from trialwise.study.documents import StoppingDocument
from trialwise.study.locating import frozen_experiment
from trialwise.trials.drawn_means import Watch


def judge_of(
    experiment: Experiment, directory: ExperimentDirectory, watch: Watch | None = None
) -> StoppingMonitor:
    """Return the monitor of an experiment that stops by itself, with what is known about its workloads if it needs that.

    `watch` receives the progress of sampling flow lists, which happens immediately.
    """
    if not stops_with_controls(experiment):
        return StoppingMonitor(experiment)
    known = known_workloads(experiment, directory, watch)
    for goal, treatment in product(goals(experiment), treatments(experiment)):
        if goal.stop.controls != "none":
            stop = goal.stop
            chosen_columns(goal.metric, stop.controls, dict(treatment.levels), known, stop.levels)
    return StoppingMonitor(experiment, known)


def chosen_levels(
    path: Path, experiment: Experiment, watch: Watch | None = None
) -> tuple[LevelsSummary, ...]:
    """Return what a pilot chooses for the stops with levels = "auto", with what the experiment's directory keeps of it."""
    auto = [goal for goal in goals(experiment) if goal.stop.levels == "auto" and goal.stop.controls != "none"]
    if not auto:
        return ()
    known = known_workloads(experiment, ExperimentDirectory(latest(path)), watch)
    found: list[LevelsSummary] = []
    for goal, treatment in product(auto, treatments(experiment)):
        choice = chosen(goal.metric, goal.stop.controls, dict(treatment.levels), known, None)
        if choice is not None:
            told = choice.levels
            shares = tuple(
                LevelSummary(each.name, each.variance, each.seconds, each.lists) for each in told.levels
            )
            found.append(
                LevelsSummary(
                    goal.metric.name, treatment.name, shares, told.gain, told.dropped, told.trials, told.pilot
                )
            )
    return tuple(found)


def known_workloads(
    experiment: Experiment,
    directory: ExperimentDirectory,
    watch: Watch | None = None,
    seconds: float | None = None,
) -> KnownWorkloads:
    """Return known means over flow lists that no trial had, kept in the directory; sampled on request, with progress to `watch`.

    `seconds` are about those of one core that the lists of an engine and treatment may take.
    """
    from trialwise.trials import workloads  # its imports are slow, and other kinds do not need them

    return workloads.KnownWorkloads(
        experiment, KeptMeans(directory.path), watch, kept_lists=KeptEngines(directory.path), seconds=seconds
    )


def stopping_document(
    directory: ExperimentDirectory, watch: Watch | None = None, told: Progress | None = None
) -> StoppingDocument | None:
    """Return what is known about the claims that an experiment waits for, as a document; None if the plan alone decides."""
    found = stopping_state(directory, watch, told)
    if found is None:
        return None
    values = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    return StoppingDocument(**values, lifts=remedy(found))


def stopping_state(
    directory: ExperimentDirectory, watch: Watch | None = None, told: Progress | None = None
) -> StoppingState | None:
    """Return what is known about the claims that an experiment waits for, from its ledger; None if the plan alone decides.

    `watch` receives the progress of sampling flow lists, if control variates need some; `told` that of everything else.
    """
    ledger = directory.ledger()
    try:
        experiment = frozen_experiment(directory, ledger)
        if not stops_by_itself(experiment):
            return None
        judge = judge_of(experiment, directory, watch)
        judge.skip(ledger.skips())
        done, total = 0, ledger.count(["finished"])
        for trials in recalled_together(directory, ledger, judge.sources):
            judge.add_many(trials)
            done += len(trials)
            if told is not None:
                told("reading trials", done, total)
        state = judge.state(ledger.next_open(), told)
        moved = tuple(each.text for each in moves_in(ledger.meta()) if each.text)
        return dataclasses.replace(state, warnings=(*state.warnings, *moved))
    finally:
        ledger.close()
