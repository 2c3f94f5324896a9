"""Defaults that depend on the rest of the file: added on reading, omitted on writing."""

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
    """Add to a record the defaults of keys that the file does not give at this place."""
    keys = keys_of(type(record))
    left = {name: each for name, each in defaults.items() if not problems.given((*place, keys[name].name))}
    return replace(record, **left)  # pyright: ignore[reportArgumentType, reportUnknownVariableType]


def design_defaults(
    trial: Trial, stop: Literal["plan", "verdict"], metrics: Sequence[model.Metric]
) -> Defaults:
    """Return the defaults of [design]: simulated trials are cheap; if only precision of metrics ends them, the rule is geometric."""
    by_precision = stop == "plan" and {goal.kind for metric in metrics for goal in goals_of(metric)} == {
        "metric"
    }
    looks = GEOMETRIC if trial.traits.cheap and by_precision else TWO_STAGE
    return {"looks": looks.name, "max_trials": 10_000 if trial.traits.cheap else 1000}


def metric_defaults(metric: model.Metric) -> Defaults:
    """Return the defaults of [metrics.NAME].

    Simulated trials have many flows: means and percentiles are pooled, and percentiles are CCEval's. Other trials give one number,
    and percentiles are NumPy's, as in TriScale.
    """
    source = metric.source
    pooled = source.traits.pools and metric.measure not in ("min", "max")
    return {
        "better": source.traits.better,
        "estimand": "pooled" if pooled else "per_trial",
        "convention": "nearest_rank" if source.traits.is_sample else "linear",
    }


def stop_defaults(source: Source) -> Defaults:
    """Return the defaults of a metric's stop: the mean for simulated trials, as in CCEval, else the median."""
    return {"of": "mean" if source.traits.is_sample else 50.0}


def default_bound(percentile: float, better: model.Better | None) -> model.Bound:
    """Return the percentile's natural side; for the median the side on which a metric is worse."""
    if percentile == 50:
        return "lower" if better == "higher" else "upper"
    return "lower" if percentile < 50 else "upper"
