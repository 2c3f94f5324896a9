"""What an experiment that stops by itself compares, and its minimum number of trials."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from trialwise import statistics as st
from trialwise.design.sizing import Sizing, block_of
from trialwise.design.timing import TrialTimes, total_seconds
from trialwise.design.treatments import treatments
from trialwise.errors import PlanError
from trialwise.experiment.estimands import estimand_text
from trialwise.experiment.model import Experiment, Extent, Looks, Stop
from trialwise.experiment.placeholders import level_text
from trialwise.experiment.results import templates
from trialwise.experiment.stopping import (
    Goal,
    compared_metrics,
    goals,
    is_monitored,
    stops_by_itself,
    stops_by_series,
)
from trialwise.rules import ANYTIME, BATCH, MIN_BLOCKS, RULES

MAX_COMPARISONS = 5000
MIN_FRESH = 10
"""For a mean: as in `two_stage_size`."""
FIRST_LOOK = ANYTIME.start
"""Trials before the first anytime bounds on a mean: as in `mean_confidence_sequence`."""


@dataclass(frozen=True, slots=True)
class StoppingPlan:
    """When the experiment ends by itself: minimum and maximum trials of each treatment and seconds, and what must be known.

    With looks at two stages, `pilot` of each treatment's trials serve only the forecast. Seconds are null if it is unknown
    how long trials take.
    """

    looks: Looks
    pilot: int | None
    least: int
    most: int
    unit: Literal["trials", "series"]
    least_seconds: float | None
    most_seconds: float | None
    budget: float | None
    stops_when: tuple[str, ...]


def comparisons(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    """Return the names of treatments that are compared; the first of each pair is the reference for the second.

    With a base: each treatment with its counterpart there; else all pairs.

    Raises
    ------
    PlanError
        There are too many.
    """
    known = treatments(experiment)
    base = experiment.design.base
    number = len(known) if base else len(known) * (len(known) - 1) // 2
    if number > MAX_COMPARISONS:
        raise PlanError(
            f"{experiment.name}: {number} comparisons are more than {MAX_COMPARISONS}",
            hint='compare with one level: base = "factor=level"',
        )
    if base is None:
        return tuple((a.name, b.name) for a, b in combinations(known, 2))
    name, level = base
    names = {each.levels: each.name for each in known}
    return tuple(
        (names[tuple((factor, level if factor == name else own) for factor, own in each.levels)], each.name)
        for each in known
        if level_text(dict(each.levels)[name]) != level_text(level)
    )


def pilot_size(experiment: Experiment) -> int:
    """Return the pilot's trials per treatment: those of the file, or more if a percentile's interval takes more."""
    needs = [fewest_of(goal) for goal in goals(experiment) if goal.kind != "variability"]
    return max([experiment.design.pilot, *needs])


def fewest_of(goal: Goal) -> int:
    """Return the minimum number of units for an interval of the goal with two finite bounds."""
    of = goal.stop.of
    if of == "mean" or goal.metric.estimand == "pooled":
        return MIN_FRESH
    return st.samples_needed(of, goal.stop.confidence, sides="two")


def pilot_rounds(experiment: Experiment) -> int:
    """Return the rounds that show what to expect: one for the time; for cheap trials with sequential looks, those until the first."""
    cheap = experiment.trial.traits.cheap and experiment.design.stop == "plan"
    if not cheap or not any(is_monitored(goal, experiment.design) for goal in goals(experiment)):
        return 1
    return _least(experiment, pilot_size(experiment), by_series=stops_by_series(experiment))


def stopping_plan(experiment: Experiment, sizing: Sizing, times: TrialTimes | None) -> StoppingPlan | None:
    """Return when the experiment ends by itself; None if the plan alone decides.

    Raises
    ------
    PlanError
        The plan has too few trials for what is to be known.
    """
    if not stops_by_itself(experiment):
        return None
    found, design = goals(experiment), experiment.design
    by_series = any(goal.kind == "variability" for goal in found)
    most = sizing.series if by_series else sizing.series * sizing.rounds
    pilot = _pilot(experiment, by_series=by_series)
    least = _least(experiment, pilot, by_series=by_series)
    _check_room(experiment, least, most, "series" if by_series else "trials")
    scale = total_seconds(experiment, sizing, times) / most if times else None
    return StoppingPlan(
        looks=design.looks,
        pilot=pilot if RULES[design.looks].judges_once else None,
        least=least,
        most=most,
        unit="series" if by_series else "trials",
        least_seconds=None if scale is None else scale * least,
        most_seconds=None if scale is None else min(scale * most, design.budget or scale * most),
        budget=design.budget,
        stops_when=_conditions(experiment),
    )


def series_pilot(experiment: Experiment) -> int:
    """Return the pilot's number of series, if the number of series is being determined."""
    return max(fewest_of(goal) for goal in goals(experiment) if goal.kind == "variability")


def _pilot(experiment: Experiment, *, by_series: bool) -> int:
    return series_pilot(experiment) if by_series else pilot_size(experiment)


def _least(experiment: Experiment, pilot: int, *, by_series: bool) -> int:
    design, rule = experiment.design, RULES[experiment.design.looks]
    fewest = [fewest_of(goal) for goal in goals(experiment) if (goal.kind == "variability") == by_series]
    if rule.judges_once:
        return _whole(
            experiment,
            pilot + max([MIN_FRESH if design.stop == "verdict" else 2, *fewest]),
            by_series=by_series,
        )
    batch = batch_of(experiment)
    if rule.starts_at_pilot:
        return _whole(experiment, design.pilot * batch, by_series=by_series)
    looked = design.stop == "verdict" or any(is_monitored(goal, design) for goal in goals(experiment))
    block = experiment.trial.traits.block
    first = MIN_BLOCKS * block if block > 1 else 2 if by_series or not looked else rule.start
    return _whole(experiment, max([first * batch, *fewest]), by_series=by_series)


def batch_of(experiment: Experiment) -> int:
    """Return how many trials a rule reduces to one number: more than one for CCEval's batches."""
    batched = any(goal.metric.estimand == "model_based" for goal in goals(experiment))
    return BATCH if batched else 1


def _whole(experiment: Experiment, number: int, *, by_series: bool) -> int:
    block = 1 if by_series else block_of(experiment)
    return -(-number // block) * block


def _check_room(experiment: Experiment, least: int, most: int, unit: str) -> None:
    if least > most:
        rounds = experiment.design.rounds
        hint = "raise max_trials" if rounds is None or unit == "series" else "raise rounds, or leave them out"
        raise PlanError(
            f"{experiment.name}: what is to be known takes at least {least} {unit}; there is room for {most}",
            hint=f"{hint}, take a shorter pilot, or ask for a lower confidence",
        )


_OF_ALL = ", in every metric that matches: one that few trials have keeps all waiting"


def _conditions(experiment: Experiment) -> tuple[str, ...]:
    patterns = {metric.name for metric in templates(experiment.results)}
    texts = [
        condition(goal) + (_OF_ALL if goal.metric.name in patterns else "") for goal in goals(experiment)
    ]
    number = len(comparisons(experiment)) if compared_metrics(experiment) else 0
    for metric in compared_metrics(experiment):
        many = "the comparison" if number == 1 else f"each of {number} comparisons"
        named = estimand_text(metric, metric.estimand)
        of = f" of {named}" if named else ""
        texts.append(
            f"{metric.name}: {many}{of} is decided by a margin of {extent_text(metric.margin, metric.unit)}"
        )
    return tuple(texts)


def condition(goal: Goal) -> str:
    """Describe a goal."""
    stop = goal.stop
    return (
        f"{goal.metric.name}: {what_of(goal)} of every treatment is known to "
        f"±{extent_text(stop.precision, goal.metric.unit)} at {stop.confidence:g} %{_controls(stop)}"
    )


def _controls(stop: Stop) -> str:
    if stop.controls == "none":
        return ""
    names = [f'"{name}"' for name in stop.controls.split(",")]
    return f", with control variates (controls = {names[0] if len(names) == 1 else '[' + ', '.join(names) + ']'})"


def what_of(goal: Goal) -> str:
    """Describe what is to be known."""
    if goal.metric.estimand == "pooled":
        return f"{_measure(goal.metric.percentile)} of all samples"
    what = _measure(None if goal.stop.of == "mean" else goal.stop.of)
    if goal.metric.estimand == "model_based":
        return f"{what} of the weighted {_measure(goal.metric.percentile)} of batches of {BATCH} trials"
    if goal.kind == "metric" and (named := estimand_text(goal.metric, "per_trial")):
        what += f" {named.removeprefix('mean ')}"
    return (
        what if goal.kpi is None or goal.kind == "kpi" else f"{what} of p{goal.kpi.percentile:g} over series"
    )


def _measure(percentile: float | None) -> str:
    return "the mean" if percentile is None else "the median" if percentile == 50 else f"p{percentile:g}"


def extent_text(extent: Extent | None, unit: str) -> str:
    """Write a width or margin."""
    if extent is None:
        return "none"
    if extent.relative:
        return f"{np.format_float_positional(extent.value, trim='-')} %"
    return f"{extent.value:g} {unit}".rstrip()
