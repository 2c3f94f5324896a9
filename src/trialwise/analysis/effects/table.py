"""Trials of a CSV or Parquet table, with columns for factors and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.trial_set import SCHEMA, MetricFacts, TrialSet
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Measure
from trialwise.late import pl
from trialwise.readers.tables.columns import numbers_of
from trialwise.readers.tables.dialect import Dialect
from trialwise.readers.tables.table import Table, read_table
from trialwise.readers.tables.text import LINE
from trialwise.readers.tables.times import times_of, without_times_note

_TRIAL, _TIME, _METRIC = "\0trial", "\0time", "metric"


@dataclass(frozen=True, slots=True)
class EffectColumns:
    """The roles of columns. Without `trial` each row is a trial; with it rows are samples, which `measure` reduces.

    `time` orders trials or samples; without it they are in row order. `metrics` are the selected ones from a column called metric.
    """

    factors: tuple[str, ...]
    values: tuple[str, ...]
    trial: str | None = None
    time: str | None = None
    metrics: tuple[str, ...] = ()
    measure: Measure = "mean"


@dataclass(frozen=True, slots=True)
class SampleSeries:
    """The samples of one trial for one metric, in time order."""

    metric: str
    treatment: str
    trial: str
    values: np.ndarray[tuple[int], np.dtype[np.float64]]


def read_effects_table(
    path: Path, columns: EffectColumns, dialect: Dialect | None = None
) -> tuple[TrialSet, tuple[SampleSeries, ...]]:
    """Read trials, and the samples of each; if rows are trials, each has one.

    Raises
    ------
    AnalysisError
        The file cannot be read, lacks a column, or a value is not a number.
    """
    single = [name for name in (columns.trial, columns.time) if name is not None]
    raw = read_table(path, dialect, [*columns.factors, *columns.values, *single])
    _check_roles(path, columns)
    table, notes = _with_factors(raw, columns)
    notes += _repeated(raw.frame.drop(raw.frame.columns[0]), columns)
    series: list[SampleSeries] = []
    units: dict[str, str] = {}
    for name in columns.values:
        numbers = numbers_of(table, name)
        notes += numbers.notes
        units[name] = numbers.unit
        series += _series(table.frame, numbers.values, columns, name, notes)
    if not series:
        raise AnalysisError(f"{path}: no row has a value", hint="name another column with --value")
    return _trial_set(path, table.frame, columns, series, notes, units), tuple(series)


def _check_roles(path: Path, columns: EffectColumns) -> None:
    for name in columns.factors:
        if name in columns.values or name in (columns.trial, columns.time):
            raise AnalysisError(f"{path}: column {name!r} is a factor and something else at once")


def _with_factors(table: Table, columns: EffectColumns) -> tuple[Table, list[str]]:
    """Return the rows of the selected metrics that have a level of every factor and a time, in time order."""
    frame, notes = _of_metrics(table, columns), list(table.notes)
    names = {name: pl.col(name).cast(pl.String).str.strip_chars() for name in columns.factors}
    frame = frame.with_columns(text.alias(name) for name, text in names.items())
    # "none" is a valid level of many factors, not a missing one.
    missing = pl.any_horizontal(pl.col(name).is_null() | (pl.col(name) == "") for name in columns.factors)
    lost = frame.filter(missing)
    if lost.height:
        notes.append(
            f"{_rows(lost.height)} without a level of every factor left out, first in {table.where} {lost[LINE][0]}"
        )
    frame = frame.filter(~missing)
    if columns.time is not None:
        times = times_of(table.of(frame), columns.time)
        notes += [*times.notes, *without_times_note(columns.time, times.missing, frame.height)]
        frame = frame.with_columns(times.seconds.alias(_TIME)).filter(pl.col(_TIME).is_not_null())
        frame = frame.sort(_TIME, maintain_order=True)
    number = pl.int_range(1, pl.len() + 1).cast(pl.String)
    trial = number if columns.trial is None else pl.col(columns.trial).cast(pl.String).fill_null("")
    return table.of(frame.with_columns(trial.alias(_TRIAL))), notes


def _of_metrics(table: Table, columns: EffectColumns) -> pl.DataFrame:
    raw = table.frame
    if columns.metrics:
        table.check([_METRIC])
        known = raw[_METRIC].cast(pl.String).unique(maintain_order=True).to_list()
        for name in columns.metrics:
            if name not in known:
                there = ", ".join(str(one) for one in known)
                raise AnalysisError(f"{table.path}: no metric {name!r}", hint=f"there are: {there}")
        return raw.filter(pl.col(_METRIC).cast(pl.String).is_in(columns.metrics))
    if _METRIC in table.columns and _METRIC not in columns.factors and raw[_METRIC].n_unique() > 1:
        raise AnalysisError(
            f"{table.path}: there are several metrics in the column {_METRIC!r}",
            hint="name one with --metric",
        )
    return raw


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number} rows"


def _repeated(whole: pl.DataFrame, columns: EffectColumns) -> list[str]:
    """Yield notes on duplicate rows; without a column that identifies rows they may just be equal values."""
    roles = {*columns.factors, *columns.values, _METRIC, *([columns.trial] if columns.trial else [])}
    others = set(whole.columns) - roles
    number = whole.height - whole.n_unique()
    if not others or not number:
        return []
    return [f"{_rows(number)} equal another one in every column, and are counted: are they copies?"]


def _series(
    table: pl.DataFrame, values: pl.Series, columns: EffectColumns, name: str, notes: list[str]
) -> Iterator[SampleSeries]:
    metric_of = [_METRIC] if columns.metrics else []
    if values.null_count():
        notes.append(f"{_rows(values.null_count())} without a value of {name} left out")
    kept = table.with_columns(values.alias("\0value")).filter(pl.col("\0value").is_not_null())
    keys = [*metric_of, *columns.factors, _TRIAL]
    # A table for each of many trials would take a hundred times as long as a part of one array.
    groups = kept.group_by(keys, maintain_order=True).agg(pl.col("\0value"))
    joined = groups["\0value"].explode().to_numpy()
    bounds = np.cumsum([0, *groups["\0value"].list.len()]).tolist()
    for levels, (begin, end) in zip(groups.select(keys).iter_rows(), pairwise(bounds), strict=True):
        metric = name if not metric_of else str(levels[0])
        if metric_of and len(columns.values) > 1:
            metric = f"{metric} {name}"
        treatment = _treatment(columns.factors, [str(level) for level in levels[len(metric_of) : -1]])
        yield SampleSeries(metric, treatment, f"{treatment}/{levels[-1]}", joined[begin:end])


def _treatment(factors: Sequence[str], levels: Sequence[str]) -> str:
    return " ".join(f"{factor}={level}" for factor, level in zip(factors, levels, strict=True))


def _trial_set(
    path: Path,
    table: pl.DataFrame,
    columns: EffectColumns,
    series: Sequence[SampleSeries],
    notes: Sequence[str],
    units: Mapping[str, str],
) -> TrialSet:
    treatments = {
        _treatment(columns.factors, row): dict(zip(columns.factors, row, strict=True))
        for row in table.select(columns.factors).unique(maintain_order=True).iter_rows()
    }
    rows = [
        (
            one.metric,
            one.treatment,
            _value(one, columns),
            "",
            "/",
            "//",
            one.trial,
            one.trial,
            "1",
            "",
            float(place),
            None,
        )
        for place, one in enumerate(series)
    ]
    names = dict.fromkeys(one.metric for one in series)
    return TrialSet(
        name=str(path),
        metrics={name: MetricFacts(name, units.get(name, "")) for name in names},
        treatments=treatments,
        table=pl.DataFrame(rows, schema=SCHEMA, orient="row"),
        notes=tuple(notes),
    )


def _value(one: SampleSeries, columns: EffectColumns) -> float:
    if one.values.size == 1:
        return float(one.values[0])
    return float(st.trial_metric(one.values, columns.measure).value or 0.0)
