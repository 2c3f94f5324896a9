"""The analysis of a long-form table: a row is a trial, or one sample of a trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from trialwise.analysis.observations import Observation
from trialwise.analysis.results import Analysis
from trialwise.analysis.table_reading import numbers, read_table, seconds_of, sortable
from trialwise.analysis.timescales import analyse_metric
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Method, Metric

_TRIAL, _ORDER, _LEVEL = "\0trial", "\0order", "missing"


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Which column is what. Without `trial` each row is a trial; with it, rows are samples and `time` is theirs.

    `groups` make the treatments; `order` (else `time` of rows that are trials, else the order of rows) says in which
    order the trials ran.
    """

    groups: tuple[str, ...] = ()
    series: str | None = None
    trial: str | None = None
    order: str | None = None
    time: str | None = None

    @property
    def named(self) -> tuple[str, ...]:
        """All the columns that were named."""
        single = (self.series, self.trial, self.order, self.time)
        return (*self.groups, *(name for name in single if name is not None))


def analyse_table(
    path: Path, columns: TableColumns, metrics: Sequence[Metric], method: Method = "default"
) -> Analysis:
    """Analyse the columns of a CSV or Parquet file that the metrics are named after.

    Raises
    ------
    AnalysisError
        The file cannot be read, a column is not there, or a value is no number.
    """
    table = read_table(path, (*(metric.name for metric in metrics), *columns.named))
    table = _prepared(table, columns)
    found = {metric.name: _observations(path, table, columns, metric) for metric in metrics}
    longest = max(found.values(), key=lambda pair: len(pair[0]))[0]
    return Analysis(
        name=path.name,
        description="",
        method=method,
        seed=None,
        treatments=tuple(dict.fromkeys(seen.treatment for seen in longest)),
        series=tuple(dict.fromkeys(seen.series for seen in longest)),
        planned=len(longest),
        counts={"finished": len(longest)},
        metrics=tuple(analyse_metric(metric, found[metric.name][0], method) for metric in metrics),
        failures=(),
        notes=tuple(note for _, notes in found.values() for note in notes),
        boots=(),
    )


def _prepared(table: pl.DataFrame, columns: TableColumns) -> pl.DataFrame:
    """Sort by the order of trials, and number them."""
    key = columns.order or (columns.time if columns.trial is None else None)
    if key is not None:
        table = table.with_columns(sortable(table[key]).alias(_ORDER)).sort(_ORDER, maintain_order=True)
    if columns.trial is None:
        return table.with_columns(pl.int_range(1, pl.len() + 1).alias(_TRIAL))
    place = [*columns.groups, *([columns.series] if columns.series else []), columns.trial]
    appearance = pl.int_range(pl.len()).alias("\0place")
    first = pl.col("\0place").first().over(place)
    return table.with_columns(appearance).with_columns(first.rank("dense").cast(pl.Int64).alias(_TRIAL))


def _observations(
    path: Path, table: pl.DataFrame, columns: TableColumns, metric: Metric
) -> tuple[list[Observation], list[str]]:
    values = numbers(path, table, metric.name)
    missing = values.null_count()
    times = seconds_of(path, table, columns.time) if columns.time else None
    kept = table.with_columns(
        values.alias("\0value"), *([times.alias("\0time")] if times is not None else [])
    )
    kept = kept.filter(pl.col("\0value").is_not_null())
    if kept.is_empty():
        raise AnalysisError(
            f"{path}: column {metric.name!r} holds no number", hint="name another with --value"
        )
    notes = (
        [f"{missing} of {table.height} values of {metric.name} are missing and were left out"]
        if missing
        else []
    )
    rounds: dict[tuple[str, str], int] = {}
    parts = kept.partition_by(_TRIAL, maintain_order=True)
    return [_observation(part, columns, rounds) for part in parts], notes


def _observation(
    part: pl.DataFrame, columns: TableColumns, rounds: dict[tuple[str, str], int]
) -> Observation:
    row = part.row(0, named=True)
    factors = {name: _LEVEL if row[name] is None else str(row[name]) for name in columns.groups}
    treatment = " ".join(f"{name}={level}" for name, level in factors.items()) or "-"
    series = "1" if columns.series is None else str(row[columns.series])
    rounds[treatment, series] = rounds.get((treatment, series), 0) + 1
    samples = columns.trial is not None and columns.time is not None
    if samples:
        part = part.sort("\0time", maintain_order=True)
    return Observation(
        number=row[_TRIAL],
        attempt=1,
        treatment=treatment,
        factors=factors,
        series=series,
        round=rounds[treatment, series],
        position=1,
        started=None if samples or columns.time is None else float(row["\0time"]),
        values=part["\0value"].to_numpy().astype(np.float64),
        times=part["\0time"].to_numpy().astype(np.float64) if samples else None,
    )
