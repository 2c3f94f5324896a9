"""Trials as one number each for comparisons, for pooled metrics their contribution to the pooled statistic, and caveats."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from trialwise import statistics as st
from trialwise.analysis.estimation.estimates import is_estimated
from trialwise.analysis.observations import Observation, StoreObservations
from trialwise.analysis.trial_set import TrialSet
from trialwise.experiment.estimands import estimand_text, measure_text
from trialwise.experiment.model import Experiment, Metric
from trialwise.late import pl
from trialwise.numbers import about, decimals, write

MIN_BEYOND = 20
"""Minimum number of samples beyond a quantile for about nominal coverage of intervals of differences."""


def with_estimands(trials: TrialSet, experiment: Experiment, store: StoreObservations) -> TrialSet:
    """Replace the values of pooled metrics by each trial's contribution (`st.pooled_influence`), and note forced quantiles.

    The mean of the contributions is the statistic of all samples of a treatment, and differences have its variance.
    """
    forced = [
        note for one in experiment.metrics if one.name in trials.metrics for note in _forced(one, store)
    ]
    return _pooled(dataclasses.replace(trials, notes=(*trials.notes, *forced)), experiment, store)


def _forced(metric: Metric, store: StoreObservations) -> Iterator[str]:
    """Warn if trials have too few samples beyond a per-trial quantile; averaging over trials does not remove its bias."""
    if metric.estimand != "per_trial" or metric.percentile is None or not is_estimated(metric):
        return
    sizes = [len(one.values) for one in store.of(metric) if len(one.values)]
    each = sum(sizes) / len(sizes) if sizes else 0.0
    if each > 1 and st.quantile_refusal(each, metric.percentile):
        yield (
            f"{metric.name}: a trial has {about(each)} samples, too few for its {measure_text(metric)}: both sides "
            "are biased whatever "
            'the number of trials, and the difference with them; longer trials or estimand = "pooled" lift that'
        )


def _pooled(trials: TrialSet, experiment: Experiment, store: StoreObservations) -> TrialSet:
    metrics, table = dict(trials.metrics), trials.table
    pooled = [one for one in experiment.metrics if one.estimand == "pooled" and one.name in metrics]
    for metric in pooled:
        table = _replaced(table, metric, store)
        what = estimand_text(metric, "pooled")
        metrics[metric.name] = dataclasses.replace(metrics[metric.name], estimand="pooled", what=what)
    if not pooled:
        return trials
    names = ", ".join(metric.name for metric in pooled)
    note = f"pooled (of all samples; each trial counts by its influence on that): {names}"
    found = dataclasses.replace(trials, metrics=metrics).replaced(table, note)
    warnings = [warning for metric in pooled for warning in _few(metric, store)]
    return dataclasses.replace(found, notes=(*found.notes, *warnings))


def _few(metric: Metric, store: StoreObservations) -> Iterator[str]:
    """Warn if too few samples lie beyond the quantile for its influence to show its variance."""
    if metric.percentile is None:
        return
    counts: dict[str, int] = {}
    for one in store.of(metric):
        counts[one.treatment] = counts.get(one.treatment, 0) + len(one.values)
    share = min(metric.percentile, 100 - metric.percentile) / 100
    if counts and (beyond := share * min(counts.values())) < MIN_BEYOND:
        yield (
            f"{metric.name}: about {write(beyond, digits=2)} samples lie beyond the quantile and {MIN_BEYOND} are "
            "needed: the verdict may come "
            f"too soon (with 7 the interval of 95 % holds in 86 %); {decimals(MIN_BEYOND / beyond, 1)} times the trials lift that"
        )


def _replaced(table: pl.DataFrame, metric: Metric, store: StoreObservations) -> pl.DataFrame:
    """Replace the values of one metric; a treatment with a single trial keeps its own, without inference."""
    own = pl.col("metric") == metric.name
    groups: dict[str, list[Observation]] = {}
    # A trial without samples adds nothing to the statistic or its standard error, because both are sums over trials.
    for observation in (one for one in store.of(metric) if len(one.values)):
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
