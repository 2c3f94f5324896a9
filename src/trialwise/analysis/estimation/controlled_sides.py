"""Control variates in comparisons: the values of treatments that met the same flows, adjusted so that pairs have the controls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.estimation.control_columns import KnownWorkloads
from trialwise.analysis.estimation.estimates import trial_values
from trialwise.analysis.observations import Observation, StoreObservations
from trialwise.analysis.trial_set import TrialSet
from trialwise.arrays import Array
from trialwise.errors import AnalysisError, PlanError, StatisticsError
from trialwise.experiment.model import Controls, Experiment, Metric
from trialwise.late import pl
from trialwise.numbers import counted, write

FEWEST = 200
"""Shared trials from which controlled differences are used, as in estimates: what controls leave is spiky."""
MOST_LEFT = 0.5
"""Share of one trial in what controls leave of a side, above which they are not used."""
FEWEST_BEYOND = 30
"""Trials, by effective number, that make the tail of a quantile on each side."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The controls that comparisons are asked for, with what is known of workloads, and their confidence in percent."""

    kind: Controls
    known: KnownWorkloads
    confidence: float = 95.0


def with_controls(
    trials: TrialSet,
    experiment: Experiment,
    store: StoreObservations,
    lists: Mapping[str, str],
    wanted: Wanted,
) -> TrialSet:
    """Replace values by adjusted ones where treatments met the same flows, and note what that gains, or what prevents it and lifts it.

    `lists` come from `flow_list_names`: only pairs of treatments with the same name have the same controls.

    Raises
    ------
    AnalysisError
        The trials are not simulated, or their flow lists are not independent.
    """
    if not experiment.trial.traits.workload:
        raise AnalysisError(f"{trials.name}: controls are for simulated trials, whose flows are known")
    if experiment.trial.traits.in_blocks:
        raise AnalysisError(
            f"{trials.name}: controls take flow lists that are drawn independently, and these are Sobol samples",
            hint="leave out --controls",
        )
    table, notes = trials.table, list[str]()
    groups: dict[str, list[str]] = {}
    for treatment, name in lists.items():
        groups.setdefault(name, []).append(treatment)
    shared = [members for members in groups.values() if len(members) > 1]
    if not shared:
        notes.append(
            "no controls: no two treatments met the same flows; the same topology and workload for both, without factors in them, "
            "lift that"
        )
    for metric in (one for one in experiment.metrics if one.name in trials.metrics):
        for members in shared:
            try:
                values, said = _adjusted(metric, members, store, wanted)
            except StatisticsError as error:
                notes.append(f"{metric.name}: no controls: {error}")
                continue
            except PlanError as error:
                lifts = f" ({error.hint})" if error.hint else ""
                notes.append(f"{metric.name}: no controls: {error.message}{lifts}")
                continue
            table = _replaced(table, metric, values)
            notes.append(f"{metric.name}: {said}")
    kept = trials
    for note in notes:
        kept = kept.replaced(table, note)
    return kept


def _adjusted(
    metric: Metric, members: Sequence[str], store: StoreObservations, wanted: Wanted
) -> tuple[dict[str, float], str]:
    """Return adjusted values by the number of the trial, and what the controls gain.

    Raises
    ------
    PlanError, StatisticsError
        What prevents it.
    """
    sides = _rounds_of(metric, members, store)
    rounds = sorted(sides[0])
    rows = [[side[each] for each in rounds] for side in sides]
    samples = [st.TrialSamples.of([one.values for one in row]) for row in rows]
    _check(metric, samples, len(rounds))
    y = np.column_stack([_values(metric, each) for each in samples])
    x, means, covariance, lists, engines = _controls(metric, rows, rounds, wanted)
    found = st.controlled_values(y, x, means, covariance, lists, confidence=wanted.confidence)
    if found.largest > MOST_LEFT:
        _refuse(
            f"one trial makes {write(100 * found.largest, digits=2)} % of what the controls leave, so that the difference "
            "would rest on it; more trials, of which others are like it, lift this"
        )
    gains = found.gains[np.triu_indices(len(sides), 1)]
    if float(gains.max()) <= 1:
        _refuse(
            "they say nothing of the differences; engines that know of what the treatments differ in lift that"
        )
    adjusted = {
        str(one.number): float(value)
        for column, row in zip(found.values.T, rows, strict=True)
        for one, value in zip(row, column, strict=True)
    }
    return adjusted, _said(engines, len(found.kept), lists, len(rounds), gains)


def _said(engines: Sequence[str], controls: int, lists: int, rounds: int, gains: Array) -> str:
    low, high = (write(float(end), digits=2) for end in (gains.min(), gains.max()))
    by = f"by the factor {low}" if low == high else f"by factors of {low} to {high}"
    named = ", ".join(engines) or "workload"
    return (
        f"differences by regression on {counted(controls, 'control')} ({named}; means from {lists:,} lists or more, "
        f"{rounds} shared trials): their variance is smaller {by}; intervals at the level of four fifths"
    )


def _refuse(why: str) -> NoReturn:
    raise StatisticsError(why)


def _rounds_of(
    metric: Metric, members: Sequence[str], store: StoreObservations
) -> list[dict[tuple[int, int], Observation]]:
    """Return the observations of each treatment by series and round, which are those of all."""
    places = {row.number: (row.series, row.round) for row in store.rows}
    every = [one for one in store.of(metric) if metric.estimand == "pooled" or len(one.values)]
    sides = [{places[one.number]: one for one in every if one.treatment == name} for name in members]
    if any(side.keys() != sides[0].keys() for side in sides):
        _refuse(
            "a round has a value of some treatments only, so that the rest may be no sample of the workloads; a run in which "
            "every trial is valid lifts that"
        )
    return sides


def _check(metric: Metric, samples: Sequence[st.TrialSamples], rounds: int) -> None:
    """Refuse too few trials, and pooled trials without a flow, whose values are not part of the comparison."""
    if rounds < FEWEST:
        _refuse(f"they take {FEWEST} shared trials and there are {rounds}; more rounds lift that")
    if metric.estimand != "pooled":
        return
    if any(bool((each.sizes == 0).any()) for each in samples):
        _refuse("trials have no flow; longer ones, or a higher load, lift that")
    if metric.percentile is None:
        return
    fewest = min(_in_tail(each, metric.percentile) for each in samples)
    if fewest < FEWEST_BEYOND:
        more = write(FEWEST_BEYOND / fewest, digits=2)
        _refuse(
            f"about {write(fewest, digits=2)} trials make the tail and it takes {FEWEST_BEYOND}; {more} times the trials lift that"
        )


def _in_tail(samples: st.TrialSamples, percentile: float) -> float:
    """Return by how many trials, by effective number, the shorter tail at a quantile is made."""
    everything = np.concatenate(list(samples))
    level = float(np.quantile(everything, percentile / 100, method="inverted_cdf"))
    beyond = np.array([np.count_nonzero(each > level) for each in samples], dtype=np.float64)
    counts = beyond if percentile >= 50 else samples.sizes - beyond
    squares = float(np.sum(counts**2))
    return float(counts.sum()) ** 2 / squares if squares else 1.0


def _values(metric: Metric, samples: st.TrialSamples) -> Array:
    if metric.estimand == "pooled":
        return st.pooled_influence(samples, metric.percentile)
    return trial_values(metric, samples)


def _controls(
    metric: Metric,
    rows: Sequence[Sequence[Observation]],
    rounds: Sequence[tuple[int, int]],
    wanted: Wanted,
) -> tuple[Array, Array, Array, int, tuple[str, ...]]:
    """Return controls of the rounds, known means with their covariance, the fewest lists behind these, and the engines.

    Controls of the list and of the batched engine are those of the first treatment; of engines that simulate list by list there are
    those of every treatment, from the same lists.
    """
    known, kind = wanted.known, wanted.kind
    means = [known.known_means(metric, kind, row[0].factors) for row in rows]
    found = [each for each in means if each is not None]
    if len(found) < len(means):
        _refuse("the flows are not drawn at random, or hardly ever has a trial one")
    x = [known.of_rounds(metric, kind, row[0].factors, rounds) for row in rows]
    cheap = len(found[0].means)
    first = x[0][:, :cheap]
    dear = [each.dear for each in found if each.dear is not None]
    beside = found[0].cheap
    if beside is None or not dear:
        level = st.LevelMeans.of(found[0].means, found[0].lists, np.cov(first.T))
        return first, level.means, level.covariance, level.lists, found[0].engines
    if len({len(each) for each in dear}) > 1:
        _refuse("an engine has values for other lists in one treatment than in another")
    base = st.LevelMeans.of(found[0].means, found[0].lists, np.cov(beside.T))
    level = base.extended(beside, np.hstack(dear))
    columns = np.hstack([first, *(each[:, cheap:] for each in x)])
    return columns, level.means, level.covariance, level.lists, found[0].engines


def _replaced(table: pl.DataFrame, metric: Metric, values: Mapping[str, float]) -> pl.DataFrame:
    number = pl.col("trial").str.split("/").list.last()
    adjusted = number.replace_strict(values, default=None, return_dtype=pl.Float64)
    own = pl.col("metric") == metric.name
    return table.with_columns(
        value=pl.when(own).then(pl.coalesce(adjusted, pl.col("value"))).otherwise("value")
    )


def stopped_by(experiment: Experiment) -> Iterator[str]:
    """Say which metrics stopped by controls that a comparison without any does not have."""
    for metric in experiment.metrics:
        if metric.stop is not None and metric.stop.controls != "none":
            yield (
                f"{metric.name} stopped by an interval with controls, and differences here are without any: "
                f"trialwise compare --controls {metric.stop.controls} uses them"
            )
