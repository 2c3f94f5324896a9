"""The verdict on two versions, from the trials that belong to one of the looks."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from trialwise.analysis.calibration.noise_floor import with_floor
from trialwise.analysis.calibration.results import Calibration
from trialwise.analysis.comparison.between import between_treatments
from trialwise.analysis.comparison.comparing import CompareOptions, compare
from trialwise.analysis.comparison.results import Comparison
from trialwise.analysis.comparison.sides import selected, treatment_name
from trialwise.analysis.trial_set import TrialSet
from trialwise.analysis.versions.gate import outcome_of, together
from trialwise.analysis.versions.looks import VERSION, AbPlan
from trialwise.analysis.versions.results import Outcome, Stage
from trialwise.errors import AnalysisError
from trialwise.late import pl

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
    if plan.is_decided(pilot[2]) or later.table.is_empty():
        return pilot
    fresh = _judged("fresh", later, plan, floor)
    rounds = later.table.group_by("metric", "treatment").len()["len"].min()
    enough = isinstance(rounds, int) and rounds >= plan.pilot
    return fresh if plan.is_decided(fresh[2]) or enough else pilot


def _where(trials: TrialSet, wanted: pl.Expr) -> TrialSet:
    return dataclasses.replace(trials, table=trials.table.filter(wanted))


def _judged(stage: Stage, trials: TrialSet, plan: AbPlan, floor: Calibration | None) -> Judged:
    # Trials before a reboot count: the question is about these versions on this machine.
    options = CompareOptions(confidence=plan.each, margin=plan.margin, level="trial")
    try:
        comparison = _compared(trials, plan.versions, options)
    except AnalysisError:
        return stage, None, (), "undecided"
    if floor is not None:
        comparison = with_floor(comparison, floor)
    outcomes: tuple[Outcome, ...] = tuple(outcome_of(row) for row in comparison.rows)
    return stage, comparison, outcomes, together(outcomes)


def _compared(trials: TrialSet, versions: Sequence[str], options: CompareOptions) -> Comparison:
    """Compare each version with the first; more than one are a family, each row with the name of its version."""
    first, *others = versions
    if len(others) == 1:
        a, b = (selected(trials, {VERSION: [version]}, version) for version in versions)
        return compare(a, b, options)
    pairs = [(treatment_name({VERSION: first}), treatment_name({VERSION: other})) for other in others]
    found = between_treatments(trials, pairs, options)
    if found.comparison is None or not found.comparison.rows:
        raise AnalysisError("no version has values in common with the first")
    called = dict(zip(found.pairs, others, strict=True))
    rows = tuple(dataclasses.replace(row, treatment=called[row.treatment]) for row in found.comparison.rows)
    return dataclasses.replace(found.comparison, a=first, b=", ".join(others), rows=rows)
