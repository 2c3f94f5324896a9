"""The verdict on two versions, from the trials that belong to one of the looks."""

from __future__ import annotations

import dataclasses

import polars as pl

from trialwise.analysis.calibration.noise_floor import with_floor
from trialwise.analysis.calibration.results import Calibration
from trialwise.analysis.comparison.comparing import CompareOptions, compare
from trialwise.analysis.comparison.results import Comparison
from trialwise.analysis.comparison.sides import selected
from trialwise.analysis.trial_set import TrialSet
from trialwise.analysis.versions.gate import outcome_of, together
from trialwise.analysis.versions.looks import BASE, HEAD, VERSION, AbPlan
from trialwise.analysis.versions.results import Outcome, Stage
from trialwise.errors import AnalysisError

Judged = tuple[Stage, Comparison | None, tuple[Outcome, ...], Outcome]


def judge(trials: TrialSet, plan: AbPlan, floor: Calibration | None = None) -> Judged:
    """Judge the trials by the plan: all of a fixed number; else the pilot, and the fresh ones after it.

    Each look is judged separately at `plan.each`, so that both hold jointly at the plan's confidence whichever is reported: the
    fresh one if it decides or is at least as long as the pilot.
    """
    if plan.fixed is not None:
        return _judged("all", trials, plan, floor)
    round_ = pl.col("round").str.split(".").list.last().cast(pl.Int64)
    pilot = _judged("pilot", _where(trials, round_ <= plan.pilot), plan, floor)
    later = _where(trials, round_ > plan.pilot)
    if pilot[3] != "undecided" or later.table.is_empty():
        return pilot
    fresh = _judged("fresh", later, plan, floor)
    rounds = later.table.group_by("metric", "treatment").len()["len"].min()
    enough = isinstance(rounds, int) and rounds >= plan.pilot
    return fresh if fresh[3] != "undecided" or enough else pilot


def _where(trials: TrialSet, wanted: pl.Expr) -> TrialSet:
    return dataclasses.replace(trials, table=trials.table.filter(wanted))


def _judged(stage: Stage, trials: TrialSet, plan: AbPlan, floor: Calibration | None) -> Judged:
    # Trials before a reboot count: the question is about these versions on this machine.
    options = CompareOptions(confidence=plan.each, margin=plan.margin, level="trial")
    try:
        base, head = (selected(trials, {VERSION: [version]}, version) for version in (BASE, HEAD))
        comparison = compare(base, head, options)
    except AnalysisError:
        return stage, None, (), "undecided"
    if floor is not None:
        comparison = with_floor(comparison, floor)
    outcomes: tuple[Outcome, ...] = tuple(outcome_of(row) for row in comparison.rows)
    return stage, comparison, outcomes, together(outcomes)
