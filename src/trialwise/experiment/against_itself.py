"""An experiment in which every treatment stands against itself."""

from __future__ import annotations

import dataclasses

from trialwise.errors import PlanError
from trialwise.experiment.model import Experiment, FixedFactor, Metric

SIDE = "side"
"""The factor that nothing but the records knows."""
SIDES = ("A", "A'")


def against_itself(experiment: Experiment, trials: int | None = None) -> Experiment:
    """The same experiment with a factor `side` whose levels A and A' run the very same thing; it runs its plan to the end.

    With `trials`, each side of each treatment has so many, in one series; where its trials share a process in each
    series, it has so many series, as a series is one value then. Else what the file says.

    Raises
    ------
    PlanError
        The experiment has a factor called side.
    """
    if any(factor.name == SIDE for factor in experiment.factors):
        raise PlanError(
            f"{experiment.name}: there is a factor {SIDE!r} already",
            hint="call it something else: the sides of a treatment against itself are named so",
        )
    experiment = without_stops(experiment)
    design = dataclasses.replace(
        experiment.design,
        base=None,
        unseen=(*experiment.design.unseen, SIDE),
    )
    if trials is not None:
        design = (
            dataclasses.replace(design, series=trials)
            if experiment.trial.traits.shares_processes
            else dataclasses.replace(design, series=1, rounds=trials)
        )
    return dataclasses.replace(
        experiment,
        factors=(*experiment.factors, FixedFactor(SIDE, SIDES)),
        design=design,
    )


def without_stops(experiment: Experiment) -> Experiment:
    """The same experiment, whose plan alone decides when it ends."""
    design = dataclasses.replace(experiment.design, stop="plan", budget=None)
    metrics = tuple(_without_stops(metric) for metric in experiment.metrics)
    return dataclasses.replace(experiment, design=design, metrics=metrics)


def _without_stops(metric: Metric) -> Metric:
    variability = metric.variability and dataclasses.replace(metric.variability, stop=None)
    kpis = tuple(dataclasses.replace(kpi, stop=None) for kpi in metric.kpis)
    return dataclasses.replace(metric, stop=None, kpis=kpis, variability=variability)
