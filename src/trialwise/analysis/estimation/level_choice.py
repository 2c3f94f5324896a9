"""Which engines among the controls pay for their lists, and how many lists each gets: multilevel Monte Carlo by a pilot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import ceil, isfinite, sqrt

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.estimation.control_columns import ControlColumns, KnownWorkloads, control_columns
from trialwise.analysis.estimation.results import ChosenLevels, LevelShare
from trialwise.arrays import Array
from trialwise.experiment.engines import engines_in
from trialwise.experiment.model import Controls, Level, Levels, Metric

FEWEST = 200
"""Trials for which lists are shared out at least: controls are not used with fewer."""
LISTS = 400
"""Most lists of such an engine whose number follows from what they gain beside trials that have run."""
MOST_LISTS = 50_000
"""Most lists of an engine that simulates list by list."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Controls without the engines that do not pay, lists of those that simulate list by list, and why."""

    controls: Controls
    lists: int
    levels: ChosenLevels


def chosen_columns(
    metric: Metric,
    kind: Controls,
    factors: Mapping[str, Level],
    known: KnownWorkloads,
    levels: Levels | None,
    trials: int | None = None,
) -> tuple[ControlColumns | None, ChosenLevels | None]:
    """Return the controls of a metric for so many trials, None as of `control_columns`, and with levels = "auto" the pilot's choice.

    With `trials` None, these are not known yet. With `levels` None, engines have the least lists: what more pay is told by
    `lists_that_pay`.

    Raises
    ------
    PlanError
        As of `KnownWorkloads.known_means`.
    StatisticsError
        The pilot has too few lists with a value of the metric.
    """
    choice = chosen(metric, kind, factors, known, trials) if levels == "auto" else None
    if choice is not None:
        return control_columns(metric, choice.controls, factors, known, choice.lists), choice.levels
    return control_columns(metric, kind, factors, known, trials=None if levels else trials), None


def lists_that_pay(
    variances: tuple[float, float], numbers: tuple[int, int], seconds: tuple[float, float]
) -> int:
    """Return the lists of engines that simulate list by list at which a further one gains as much for its time as a further trial.

    With n trials the variance is A + B / N, and A falls as 1/n: it is least for its time at N = n √(B / (n A) · C_t / C_l).

    Parameters
    ----------
    variances
        Of the estimate with the lists that there are, and with as many as one could wish.
    numbers, seconds
        Of trials and of lists; of a trial and of a list.
    """
    (now, rest), (trials, lists), (trial, one) = variances, numbers, seconds
    if now <= rest:
        return 0
    if not (rest and one):
        return LISTS
    wanted = sqrt((now - rest) * lists * trials / rest * trial / one)
    return min(LISTS, ceil(wanted))


def chosen(
    metric: Metric, kind: Controls, factors: Mapping[str, Level], known: KnownWorkloads, trials: int | None
) -> Choice | None:
    """Choose among the engines of controls; None if none of them simulates list by list, or the trials are by an engine of estimates.

    All that are kept simulate the same lists, so that they are one level together.

    Raises
    ------
    PlanError, StatisticsError
        As of `chosen_columns`.
    """
    pilot = known.pilot(metric, kind, factors, trials)
    if pilot is None:
        return None
    trial, *dear = pilot.names
    best: tuple[float, tuple[str, ...], st.LevelAllocation] | None = None
    for number in range(len(dear) + 1):
        for kept in combinations(range(len(dear)), number):
            groups: list[Array] = []
            names, seconds = [trial], [pilot.seconds[0]]
            if kept:
                groups.append(pilot.dear[:, kept])
                names.append("+".join(dear[place] for place in kept))
                seconds.append(sum(pilot.seconds[1 + place] for place in kept))
            found = st.allocate(pilot.trials, [*groups, pilot.cheap], [*names, "lists"], [*seconds, 0.0])
            if best is None or (found.gain > best[0] and len(found.levels) > 1):
                best = found.gain, tuple(dear[place] for place in kept), found
    if best is None:
        return None
    _, kept_names, found = best
    number = max(trials or 0, FEWEST)
    own = next((level.share for level in found.levels if level.name == "+".join(kept_names)), 0.0)
    lists = min(MOST_LISTS, ceil(number * own)) if kept_names and isfinite(own) else 0
    batched = [name for name in engines_in(kind) if name not in dear]
    controls = ",".join((*batched, *kept_names)) or "workload"
    shares = tuple(
        LevelShare(
            _called(level.name, batched),
            level.variance,
            level.seconds,
            None if not isfinite(level.share) else min(MOST_LISTS, ceil(number * level.share)),
        )
        for level in found.levels
    )
    dropped = tuple(name for name in dear if name not in kept_names)
    gain = found.gain if np.isfinite(found.gain) else None
    return Choice(controls, lists, ChosenLevels(shares, gain, dropped, number, pilot.trials.size))


def _called(name: str, batched: list[str]) -> str:
    """Name the cheapest level by what is known of lists in it."""
    return "+".join(batched) or "workload" if name == "lists" else name
