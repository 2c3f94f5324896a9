"""Choose the trials drawn as points: all of a few; of many, a random part with the extremes, so that a page stays small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from trialwise.analysis.results import MetricAnalysis
from trialwise.analysis.trial_columns import TrialMetric
from trialwise.report.plot_rows import Row

MAX_DRAWN = 2000
"""Maximum number of trials drawn: about as many points as can be told apart in a figure."""
_SEED = 1
"""Seed of PCG64DXSM: the same trials are drawn in each figure, every time a report is written."""
Thing = TypeVar("Thing")


def some(things: Sequence[Thing]) -> list[Thing]:
    """Return all things, or `MAX_DRAWN` of them in order, chosen at random without replacement."""
    if len(things) <= MAX_DRAWN:
        return list(things)
    rng = np.random.Generator(np.random.PCG64DXSM(_SEED))
    places: list[int] = np.sort(rng.choice(len(things), MAX_DRAWN, replace=False)).tolist()
    return [things[place] for place in places]


def drawn_trials(found: MetricAnalysis) -> list[TrialMetric]:
    """Return the trials to draw, among those with a value, in the order of the plan.

    The smallest and the largest value of each treatment are added to the random choice, so that outliers show.
    """
    valued = [trial for trial in found.trials if trial.value is not None]
    chosen = some(valued)
    if len(chosen) == len(valued):
        return chosen
    kept = {(trial.number, trial.attempt): trial for trial in (*chosen, *_extremes(valued))}
    return [kept[key] for key in sorted(kept)]


def _extremes(valued: Sequence[TrialMetric]) -> list[TrialMetric]:
    groups: dict[str, list[TrialMetric]] = {}
    for trial in valued:
        groups.setdefault(trial.treatment, []).append(trial)
    return [
        end(members, key=lambda trial: trial.value or 0.0)
        for members in groups.values()
        for end in (min, max)
    ]


def trial_rows(found: MetricAnalysis) -> list[Row]:
    """Return one row for each trial drawn."""
    return [
        {
            "trial": trial.number,
            "value": trial.value,
            "treatment": trial.treatment,
            "series": trial.series,
            "round": trial.round,
            "converged": "not tested" if trial.converged is None else "yes" if trial.converged else "no",
        }
        for trial in drawn_trials(found)
    ]


def drawn_words(found: MetricAnalysis) -> str:
    """Return a caption's note on trials that are not drawn, with a leading space; empty if all are drawn."""
    there, drawn = sum(trial.value is not None for trial in found.trials), len(drawn_trials(found))
    if drawn == there:
        return ""
    return f" {drawn:,} of {there:,} trials are drawn: chosen at random, and the smallest and the largest of each treatment."
