"""Trials of pooled metrics as one number each, so that comparisons are of the quantile or mean of all samples."""

from __future__ import annotations

import dataclasses

import polars as pl

from trialwise import statistics as st
from trialwise.analysis.observations import Observation, StoreObservations
from trialwise.analysis.trial_set import TrialSet
from trialwise.experiment.model import Experiment, Metric


def with_pooled_values(trials: TrialSet, experiment: Experiment, store: StoreObservations) -> TrialSet:
    """Replace the values of pooled metrics by what each trial contributes (`st.pooled_influence`).

    Their mean over the trials of a treatment is the statistic of all its samples, and differences of them have its variance.
    """
    metrics, table = dict(trials.metrics), trials.table
    pooled = [one for one in experiment.metrics if one.estimand == "pooled" and one.name in metrics]
    for metric in pooled:
        table = _replaced(table, metric, store)
        metrics[metric.name] = dataclasses.replace(metrics[metric.name], estimand="pooled")
    if not pooled:
        return trials
    names = ", ".join(metric.name for metric in pooled)
    note = f"pooled (of all samples; each trial counts by its influence on that): {names}"
    return dataclasses.replace(trials, metrics=metrics).replaced(table, note)


def _replaced(table: pl.DataFrame, metric: Metric, store: StoreObservations) -> pl.DataFrame:
    """The table with other values of one metric; a treatment with a single trial keeps its own, for which nothing is inferred."""
    own = pl.col("metric") == metric.name
    groups: dict[str, list[Observation]] = {}
    for observation in store.of(metric):
        groups.setdefault(observation.treatment, []).append(observation)
    values: dict[str, float] = {}
    for members in groups.values():
        if len(members) > 1:
            found = st.pooled_influence([one.values for one in members], metric.percentile)
            values |= {str(one.number): value for one, value in zip(members, found.tolist(), strict=True)}
    number = pl.col("trial").str.split("/").list.last()
    pooled = number.replace_strict(values, default=None, return_dtype=pl.Float64)
    return table.with_columns(
        value=pl.when(own).then(pl.coalesce(pooled, pl.col("value"))).otherwise("value")
    )
