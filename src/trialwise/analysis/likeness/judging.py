"""The verdicts on emulated trials of schemes that a path was not fitted to, by the product's own comparison."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from trialwise.analysis.comparison.comparing import PAPER_MARGIN, CompareOptions, compare
from trialwise.analysis.comparison.results import ComparisonRow
from trialwise.analysis.likeness.chance import OF_SPREAD, beyond, confirmed
from trialwise.analysis.likeness.distances import Values, Yardstick, collected
from trialwise.analysis.likeness.results import JudgedRow
from trialwise.analysis.likeness.values import METRICS
from trialwise.analysis.trial_set import LEVELS, PRINTED, SCHEMA, MetricFacts, TrialSet
from trialwise.late import pl
from trialwise.numbers import counted

TrialValues = Mapping[str, float]
"""The metrics of one trial."""


def judging_options(options: CompareOptions, *, has_values: bool) -> CompareOptions:
    """Return the options of the verdicts on means: the margin is 10 % of the real mean unless one is given.

    Where both sides have values, and not printed means alone, a part of the error goes to those beyond the others.
    """
    share = 1 - OF_SPREAD if has_values else 1.0
    confidence = 100 - (100 - options.confidence) * share
    return dataclasses.replace(options, margin=options.margin or PAPER_MARGIN, confidence=confidence)


def with_likeness(trials: TrialSet, values: Mapping[str, TrialValues]) -> TrialSet:
    """Return a set with the metrics of a likeness in place of its own; `values` are by the names of its trials."""
    places = trials.table.unique("trial", maintain_order=True).drop("metric", "value")
    cells = [
        (trial, metric, value) for trial, of_metric in values.items() for metric, value in of_metric.items()
    ]
    found = pl.DataFrame(cells, schema=["trial", "metric", "value"], orient="row")
    table = found.join(places, on="trial", how="inner", maintain_order="left").select(list(SCHEMA))
    return dataclasses.replace(trials, metrics=_known(table), table=table, may_repeat=False)


def emulated_set(name: str, like: TrialSet, values: Mapping[str, Sequence[TrialValues]]) -> TrialSet:
    """Return emulated trials, by treatment, as the other side of a comparison with the set `like`."""
    rows = [
        (metric, treatment, value, *_units(name, treatment, number), "1", f"1.{number}", None, None)
        for treatment, trials in values.items()
        for number, trial in enumerate(trials, 1)
        for metric, value in trial.items()
    ]
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    there = {treatment: like.treatments[treatment] for treatment in values}
    return beside(TrialSet(name, _known(table), there, table), like)


def beside(trials: TrialSet, real: TrialSet) -> TrialSet:
    """Return computed trials in the units of the real ones where these have one unit of a level: that is no difference of the paths.

    Where the real trials are of several boots, say, each computed one is a boot by itself: it depends on none.
    """
    columns = [
        pl.lit(units[0]).alias(level) if len(units) == 1 else pl.col("trial").alias(level)
        for level in LEVELS[:-2]
        for units in (real.table[level].unique().to_list(),)
    ]
    return dataclasses.replace(trials, table=trials.table.with_columns(columns).select(list(SCHEMA)))


def _is_computed(trials: TrialSet) -> bool:
    return PRINTED not in trials.table.columns and trials.table["host"].unique().to_list() == [""]


def _units(name: str, treatment: str, number: int) -> tuple[str, ...]:
    """Return the units of a computed trial, which nests in nothing."""
    trial = f"{name}/{treatment}/{number}"
    return tuple(trial if level in {"process", "trial"} else "" for level in LEVELS)


def _known(table: pl.DataFrame) -> dict[str, MetricFacts]:
    there = set(table["metric"].unique())
    return {name: facts for name, facts in METRICS.items() if name in there}


def only(trials: TrialSet, treatments: Iterable[str]) -> TrialSet:
    """Return the trials of some treatments."""
    names = [name for name in trials.treatments if name in set(treatments)]
    table = trials.table.filter(pl.col("treatment").is_in(names))
    there = {name: trials.treatments[name] for name in names}
    return dataclasses.replace(trials, treatments=there, table=table)


def judged_rows(
    real: TrialSet,
    emulated: Mapping[str, Sequence[TrialValues]],
    yardstick: Yardstick,
    options: CompareOptions,
    name: str,
) -> tuple[tuple[JudgedRow, ...], str]:
    """Judge the treatments in `emulated` as one family; return the rows and the correction.

    Raises
    ------
    AnalysisError
        A side has no value.
    """
    if not emulated:
        return (), "none: there is no inference"
    values = {treatment: collected(trials) for treatment, trials in emulated.items()}
    names = dict(zip(_canonical(real, emulated), emulated, strict=True))
    rows, correction = _judged(only(real, emulated), emulated_set(name, real, emulated), options, names)
    return tuple(_measured(row, values, yardstick) for row in rows), correction


def rows_of(real: TrialSet, emulated: TrialSet, options: CompareOptions) -> tuple[tuple[JudgedRow, ...], str]:
    """Judge trials that have run, or printed means, in the metrics that both sides have; return the rows and the correction.

    Raises
    ------
    AnalysisError
        The sides have no treatment or no metric in common.
    """
    if _is_computed(emulated) and PRINTED not in real.table.columns:
        emulated = beside(emulated, real)
    return _judged(real, emulated, options, {})


def _judged(
    real: TrialSet, emulated: TrialSet, options: CompareOptions, names: Mapping[str, str]
) -> tuple[tuple[JudgedRow, ...], str]:
    """Judge the means of all rows together, and with them whether real units lie beyond the emulated ones."""
    has_values = not any(PRINTED in side.table.columns for side in (real, emulated))
    found = compare(real, emulated, judging_options(options, has_values=has_values))
    rows = confirmed([_row(row, names) for row in found.rows], found.rows, 1 - options.confidence / 100)
    tested = sum(row.p_beyond is not None for row in rows)
    spread = (
        f"; a fifth of the error goes to {counted(tested, 'count')} of real values beyond the emulated ones"
        if tested
        else ""
    )
    return rows, found.correction + spread


def _canonical(real: TrialSet, emulated: Mapping[str, object]) -> list[str]:
    from trialwise.analysis.comparison.sides import treatment_name

    return [
        treatment_name(dict(sorted(real.treatments[name].items()))) if real.treatments[name] else name
        for name in emulated
    ]


def _measured(row: JudgedRow, values: Mapping[str, Values], yardstick: Yardstick) -> JudgedRow:
    """Return a row with its distance, and with the share of emulated trials among the real ones."""
    own = values[row.treatment].get(row.metric, [])
    distance = yardstick.distances(row.treatment, {row.metric: own}).get(row.metric)
    inside = yardstick.inside(row.treatment, row.metric, own)
    return dataclasses.replace(row, distance=distance, inside=inside)


def _row(row: ComparisonRow, names: Mapping[str, str]) -> JudgedRow:
    change = row.difference.percent if row.difference else None
    outside, p = beyond(row)
    return JudgedRow(
        treatment=names.get(row.treatment, row.treatment),
        metric=row.metric.name,
        unit=row.metric.unit,
        n=row.summary.n,
        means=row.summary.means,
        change=change and change.estimate,
        low=change and change.low,
        high=change and change.high,
        margin=row.difference and row.difference.margin,
        verdict=row.verdict,
        more=row.more,
        reason=row.reason,
        distance=None,
        inside=None,
        beyond=outside,
        p_beyond=p,
        basis="means",
    )


def outcome_of(rows: Sequence[JudgedRow]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the metrics that are equivalent in all rows, that are open, and that are different in one."""
    metrics = dict.fromkeys(row.metric for row in rows)
    words = {metric: {row.verdict for row in rows if row.metric == metric} for metric in metrics}
    failed = tuple(metric for metric in metrics if "different" in words[metric])
    passed = tuple(metric for metric in metrics if words[metric] == {"equivalent"})
    return passed, tuple(metric for metric in metrics if metric not in (*failed, *passed)), failed


def farness(rows: Sequence[JudgedRow]) -> float:
    """Return how far apart the means of rows are on average, from 0 to 1: a / (1 + a), where a is their difference in margins.

    A row that no path can bring near counts for no more than 1; with no row that has a margin, it is 1.
    """
    apart = [abs(row.means[1] - row.means[0]) / row.margin for row in rows if row.margin]
    return sum(each / (1 + each) for each in apart) / len(apart) if apart else 1.0


def betrayed_by(rows: Sequence[JudgedRow]) -> str | None:
    """Return the treatment in which the path is farthest from the real one; None if there is none.

    By its mean distance, or where only printed means are known by its mean difference in margins.
    """
    found: dict[str, list[float]] = {}
    for row in rows:
        apart = row.distance
        if apart is None and row.margin:
            apart = abs(row.means[1] - row.means[0]) / row.margin
        if apart is not None:
            found.setdefault(row.treatment, []).append(apart)
    return max(found, key=lambda name: sum(found[name]) / len(found[name]), default=None)
