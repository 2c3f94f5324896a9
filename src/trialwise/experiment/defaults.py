"""Defaults that depend on the rest of the file: put in where it is read, and left out where it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

from trialwise.experiment import model
from trialwise.experiment.file.positions import Key
from trialwise.experiment.file.sections import Section, keys_of
from trialwise.experiment.problems import Problems
from trialwise.experiment.stopping import goals_of
from trialwise.experiment.traits import Source, Trial
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
    """Those of [design]: simulated trials cost little, and where the precision of metrics alone ends them the rule is geometric."""
    by_precision = stop == "plan" and {goal.kind for metric in metrics for goal in goals_of(metric)} == {
        "metric"
    }
    looks = GEOMETRIC if trial.traits.cheap and by_precision else TWO_STAGE
    return {"looks": looks.name, "max_trials": 10_000 if trial.traits.cheap else 1000}


def metric_defaults(metric: model.Metric) -> Defaults:
    """Those of [metrics.NAME].

    Simulated trials have many flows, of which the mean or a percentile is pooled, and CCEval's percentiles; elsewhere a trial
    gives one number, and percentiles are NumPy's, as TriScale has them.
    """
    source = metric.source
    pooled = source.pools and metric.measure not in ("min", "max")
    return {
        "better": source.better,
        "estimand": "pooled" if pooled else "per_trial",
        "convention": "nearest_rank" if source.is_sample else "linear",
    }


def stop_defaults(source: Source) -> Defaults:
    """Those of a metric's stop: of simulated trials CCEval's mean is to be known, else the median."""
    return {"of": "mean" if source.is_sample else 50.0}


def default_bound(percentile: float, better: model.Better | None) -> model.Bound:
    """The percentile's own side; for the median the side on which a metric disappoints."""
    if percentile == 50:
        return "lower" if better == "higher" else "upper"
    return "lower" if percentile < 50 else "upper"
