"""Choose a tilt for an experiment on packet trials: CCEval's search, the same with weights, a defensive mixture, or none."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from trialwise import statistics as st
from trialwise.arrays import Array
from trialwise.design.treatments import treatments
from trialwise.errors import PlanError
from trialwise.experiment.model import Experiment, Level, Metric
from trialwise.experiment.placeholders import BUILT_IN, fill, names_in
from trialwise.experiment.simulation import SimulationSource, SimulationTrial
from trialwise.experiment.tilts import Tilt
from trialwise.experiment.traits import assumed
from trialwise.study.tilt_document import TiltChoice
from trialwise.study.tilt_search import Progress, TiltOptions, TiltSearch, fitted_sizes
from trialwise.trials.simulating import filled
from trialwise.trials.tilt_cycles import TiltCycles


def tilt_metric(experiment: Experiment, name: str | None) -> Metric:
    """Return the metric whose quantile a tilt is chosen for: a percentile of completion times above the median.

    Raises
    ------
    PlanError
        The experiment is not simulated, or has no such metric.
    """
    workload = experiment.trial.traits.workload
    if workload is None:
        raise PlanError(
            f"{experiment.name}: only simulated trials can be tilted", hint='trial.kind = "simulation"'
        )
    if workload == "given":
        raise PlanError(
            f"{experiment.name}: its flows come from a file or several patterns, and a tilt is of one pattern's drawn sizes",
            hint="give sizes, load and duration alone",
        )
    tails = [metric for metric in experiment.metrics if goes_with_a_tilt(metric)]
    if name is not None:
        tails = [metric for metric in tails if metric.name == name]
    if not tails:
        known = name is None or any(metric.name == name for metric in experiment.metrics)
        what = f"metric {name}" if name else "no metric"
        raise PlanError(
            f"{what} is {'' if not name else 'not '}a tail quantile of completion times"
            if known
            else f"there is no metric {name}",
            hint='[metrics.p99] quantity = "fct", measure = "p99" without sizes',
        )
    return tails[0]


def goes_with_a_tilt(metric: Metric) -> bool:
    """Return True if a metric is a tail quantile of the completion times of all flows."""
    source = metric.source
    of_all = isinstance(source, SimulationSource) and source.quantity == "fct" and not source.sizes
    return of_all and metric.percentile is not None and metric.percentile > 50


def size_fits(experiment: Experiment) -> tuple[Array, Array, list[st.SizeFit]]:
    """Return the first treatment's sizes (bytes), the percentage of flows up to each, and the four families fitted to them.

    Raises
    ------
    PlanError
        The sizes are not a table.
    """
    trial = assumed(experiment.trial, SimulationTrial)
    one = filled(trial, {**dict.fromkeys(BUILT_IN, 0), **dict(treatments(experiment)[0].levels)})
    return fitted_sizes(TiltCycles(one, experiment.folder, np.random.default_rng(0)))


def choose_tilts(
    experiment: Experiment, metric: Metric, options: TiltOptions, told: Progress
) -> tuple[list[TiltChoice], Experiment]:
    """Search for the tilt of each level of the scheme, and return the tilted experiment.

    Returns
    -------
    tuple
        The choices, and the experiment with them: its metrics are those compatible with a tilt, without margins and stops.

    Raises
    ------
    PlanError
        The workload cannot be tilted, or differs between treatments that would share a tilt.
    """
    trial = assumed(experiment.trial, SimulationTrial)
    text = trial.workload.tilt or (trial.scheme if names_in(trial.scheme) else "all")
    choices: list[TiltChoice] = []
    tilts: list[tuple[str, Tilt | None]] = []
    for name, (one, factors) in _by_tilt(experiment, trial, text).items():
        found, tilt = TiltSearch(experiment, one, metric, options, name, told).choose(factors)
        choices.append(found)
        tilts.append((name, tilt))
    workload = dataclasses.replace(trial.workload, tilt=text)
    tilted = dataclasses.replace(
        experiment,
        name=f"{experiment.name}-tilted",
        trial=dataclasses.replace(trial, workload=workload, tilts=tuple(tilts)),
        metrics=tuple(_tilted(each, options) for each in experiment.metrics if goes_with_a_tilt(each)),
    )
    return choices, tilted


def _tilted(metric: Metric, options: TiltOptions) -> Metric:
    printed = options.method == "cross-entropy"
    return dataclasses.replace(
        metric,
        estimand="model_based" if printed else "pooled",
        margin=None,
        stop=None,
    )


def _by_tilt(
    experiment: Experiment, trial: SimulationTrial, text: str
) -> dict[str, tuple[SimulationTrial, Mapping[str, Level]]]:
    """Return one trial for each tilt, by name; treatments that share a tilt may differ only in what its name does not cover."""
    found: dict[str, tuple[SimulationTrial, Mapping[str, Level]]] = {}
    untilted = dataclasses.replace(trial, workload=dataclasses.replace(trial.workload, tilt=""), tilts=())
    for treatment in treatments(experiment):
        factors = dict(treatment.levels)
        values = {**dict.fromkeys(BUILT_IN, 0), **factors}
        try:
            name, one = fill(text, values), filled(untilted, values)
        except KeyError as error:
            raise PlanError(
                f"{experiment.name}: the trial depends on {error.args[0]}, which is drawn for each trial",
                hint="a tilt is of one workload: give the factor levels",
            ) from error
        known = found.setdefault(name, (one, factors))[0]
        if known != one:
            raise PlanError(
                f"the treatments with the tilt {name} differ in more than their scheme",
                hint=f'name the tilt of each: workload.tilt = "{text}-{{FACTOR}}"',
            )
    return found
