"""Defaults that depend on the rest of the file: put in where it is read, and left out where it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

from trialwise.experiment import model, simulation, sources
from trialwise.experiment.file.positions import Key
from trialwise.experiment.file.sections import Section, keys_of
from trialwise.experiment.instruments import instrument_unit
from trialwise.experiment.problems import Problems
from trialwise.experiment.quantities import QUANTITIES
from trialwise.experiment.simulation import SimulationTrial
from trialwise.experiment.simulation_quantities import SIMULATION_QUANTITIES
from trialwise.experiment.stopping import goals_of
from trialwise.experiment.trials import Trial
from trialwise.rules import GEOMETRIC, TWO_STAGE

Record = TypeVar("Record", bound=Section)
Defaults = Mapping[str, Any]


def put_in(record: Record, place: Key, defaults: Defaults, problems: Problems) -> Record:
    """The record with the defaults of what the file does not give at the place."""
    keys = keys_of(type(record))
    left = {name: each for name, each in defaults.items() if not problems.given((*place, keys[name].name))}
    return replace(record, **left)  # pyright: ignore[reportArgumentType, reportUnknownVariableType]


def design_defaults(
    trial: Trial, stop: Literal["plan", "verdict"], metrics: Sequence[model.Metric]
) -> Defaults:
    """Those of [design]."""
    return {"looks": default_looks(trial, stop, metrics), "max_trials": default_most(trial)}


def metric_defaults(metric: model.Metric) -> Defaults:
    """Those of [metrics.NAME]."""
    return {
        "better": own_direction(metric.source),
        "estimand": default_estimand(metric.source, metric.measure),
        "convention": default_convention(metric.source),
    }


def stop_defaults(source: sources.Source) -> Defaults:
    """Those of a metric's stop."""
    return {"of": default_of(source)}


def kpi_defaults(kpi: model.Kpi, better: model.Better | None) -> Defaults:
    """Those of a KPI."""
    return {"bound": default_bound(kpi.percentile, better)}


def default_looks(
    trial: Trial, stop: Literal["plan", "verdict"], metrics: Sequence[model.Metric]
) -> model.Looks:
    """Geometric where simulated trials end by the precision of metrics alone; elsewhere two stages."""
    kinds = {goal.kind for metric in metrics for goal in goals_of(metric)}
    simulated = isinstance(trial, SimulationTrial)
    return GEOMETRIC.name if simulated and stop == "plan" and kinds == {"metric"} else TWO_STAGE.name


def default_most(trial: Trial) -> int:
    """Trials of each treatment at most, where the file does not say: simulated ones cost little."""
    return 10_000 if isinstance(trial, SimulationTrial) else 1000


_OF_FLOWS = frozenset({"fct", "slowdown", "throughput"})
"""Quantities of a simulated trial with one sample for each flow."""


def default_estimand(source: sources.Source, measure: model.Measure) -> model.Estimand:
    """Pooled for the mean or a percentile of flows, of which a simulated trial has many; else one number for each trial."""
    of_flows = isinstance(source, simulation.SimulationSource) and source.quantity in _OF_FLOWS
    return "pooled" if of_flows and measure not in ("min", "max") else "per_trial"


def default_convention(source: sources.Source) -> model.Convention:
    """CCEval's for simulated trials; elsewhere NumPy's, as TriScale has it."""
    return "nearest_rank" if isinstance(source, simulation.SimulationSource) else "linear"


def default_of(source: sources.Source) -> Literal["mean"] | float:
    """What of the trials is to be known where the file does not say: of simulated ones CCEval's mean, else the median."""
    return "mean" if isinstance(source, simulation.SimulationSource) else 50.0


def default_bound(percentile: float, better: model.Better | None) -> model.Bound:
    """The percentile's own side; for the median the side on which a metric disappoints."""
    if percentile == 50:
        return "lower" if better == "higher" else "upper"
    return "lower" if percentile < 50 else "upper"


def default_unit(source: sources.Source) -> str:
    """The unit of what is read, where it is known."""
    match source:
        case sources.ResourceSource(resource):
            return "B" if resource == "max_rss" else "s"
        case sources.InstrumentSource(name):
            return instrument_unit(name)
        case sources.PathSource(quantity) if quantity in QUANTITIES:
            return QUANTITIES[quantity].unit
        case simulation.SimulationSource(quantity) if quantity in SIMULATION_QUANTITIES:
            return SIMULATION_QUANTITIES[quantity].unit
        case _:
            return ""


def own_direction(source: sources.Source) -> model.Better | None:
    """Which way is better by the nature of what is read; None where that is for the file to say."""
    match source:
        case sources.ResourceSource():
            return "lower"
        case sources.PathSource(quantity) if quantity in QUANTITIES:
            return QUANTITIES[quantity].better
        case simulation.SimulationSource(quantity) if quantity in SIMULATION_QUANTITIES:
            return SIMULATION_QUANTITIES[quantity].better
        case _:
            return None
