"""Warn before anything runs of precisions and margins so fine that even steady trials would not reach them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trialwise import statistics as st
from trialwise.design.sizing import Sizing
from trialwise.design.stopping import batch_of, condition, extent_text, pilot_size
from trialwise.experiment.model import Experiment, Metric
from trialwise.experiment.stopping import Goal, compared_metrics, goals, is_monitored
from trialwise.late import special
from trialwise.rules import RULES
from trialwise.statistics.comparing.difference_family import trials_to_decide_at
from trialwise.statistics.sequential.sampling import MOST, Looks
from trialwise.statistics.sequential.two_stage import PILOT, TooManyTrialsError

STEADY = 0.01
"""The coefficient of variation assumed for trials while nothing is known: few experiments are steadier."""
_FAMILY_LEVEL = 0.05
_ASSUMED = f"even if trials vary by {100 * STEADY:g} % only (coefficient of variation)"
_SEE = "`trialwise plan --pilot` or the first look says what it is"


def too_fine(experiment: Experiment, sizing: Sizing) -> Iterator[str]:
    """Warn of each relative precision and margin that takes more steady trials than planned, by the rule's own formula.

    An absolute one cannot be judged before the values are known.
    """
    most = sizing.series * sizing.rounds
    for goal in goals(experiment):
        if goal.kind != "variability" and goal.stop.precision.relative:
            wanted = _wanted(experiment, goal)
            if wanted is None or wanted > most:
                yield f"{condition(goal)}: that takes {_number(wanted)} trials {_ASSUMED}, and there are {most:,}; {_SEE}"
    for metric in compared_metrics(experiment):
        if metric.margin is not None and metric.margin.relative and not _can_be_equivalent(metric, most):
            yield (
                f"{metric.name}: a margin of {extent_text(metric.margin, metric.unit)} takes more than {most:,} trials to find two "
                f'treatments equivalent, {_ASSUMED}: only "different" can come out'
            )


def _wanted(experiment: Experiment, goal: Goal) -> int | None:
    """Return the number of trials that a goal takes if they are steady; None above a billion."""
    design, stop = experiment.design, goal.stop
    precision = stop.precision.value
    if is_monitored(goal, design):
        start = design.pilot if RULES[design.looks].starts_at_pilot else None
        looks = Looks.of(design.looks, precision, relative=True, confidence=stop.confidence, start=start)
        batches = looks.wanted(STEADY, looks.target(1.0), looks.start)
        return None if batches is None else batches * batch_of(experiment)
    pilot = _steady(pilot_size(experiment))
    try:
        return st.two_stage_size(
            pilot, precision, relative=True, confidence=stop.confidence, estimand=stop.of
        ).size
    except TooManyTrialsError:
        return None


def _can_be_equivalent(metric: Metric, most: int) -> bool:
    """Return True if `most` steady trials of two identical treatments would show equivalence."""
    if metric.margin is None:
        return True
    trials = _steady(PILOT)
    found = st.difference(trials, trials, margin=metric.margin.value, relative=True)
    wanted = trials_to_decide_at(found, _FAMILY_LEVEL)
    return wanted is not None and wanted <= most


def _steady(number: int) -> np.ndarray:
    """Return normal scores about 1: trials as steady as assumed."""
    scores = special.ndtri((np.arange(number) + 0.5) / number)
    return 1 + STEADY * scores / scores.std(ddof=1)


def _number(wanted: int | None) -> str:
    return f"more than {MOST:,}" if wanted is None else f"about {wanted:,}"
