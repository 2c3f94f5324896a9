"""An experiment in which every treatment is compared with itself."""

from __future__ import annotations

import dataclasses

from trialwise.errors import PlanError
from trialwise.experiment.model import Experiment, FixedFactor, Metric

SIDE = "side"
"""The factor that only the records know."""
SIDES = ("A", "A'")


def against_itself(experiment: Experiment, trials: int | None = None) -> Experiment:
    """Add a factor `side` with the levels A and A', which run exactly the same thing; the plan runs to its end.

    With `trials`, each side of each treatment has this many, in one series. If its trials share a process in each series, it has
    this many series, since a series is then one value. Without `trials`, the file decides.

    Raises
    ------
    PlanError
        The experiment already has a factor called side.
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
    """Return the same experiment with the plan alone deciding when it ends."""
    design = dataclasses.replace(experiment.design, stop="plan", budget=None)
    metrics = tuple(_without_stops(metric) for metric in experiment.metrics)
    results = experiment.results and experiment.results.changed(_without_stops)
    return dataclasses.replace(experiment, design=design, metrics=metrics, results=results)


def _without_stops(metric: Metric) -> Metric:
    variability = metric.variability and dataclasses.replace(metric.variability, stop=None)
    kpis = tuple(dataclasses.replace(kpi, stop=None) for kpi in metric.kpis)
    return dataclasses.replace(metric, stop=None, kpis=kpis, variability=variability)
