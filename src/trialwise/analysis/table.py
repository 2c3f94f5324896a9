"""Analysis of a long-form table: a row is a trial, or one sample of a trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trialwise.analysis.conditions.timescales import analyse_metric
from trialwise.analysis.equal_trials import notes_of
from trialwise.analysis.results import Analysis
from trialwise.analysis.trial_columns import Kind, Observed, Places, Whole
from trialwise.arrays import Array
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Level, Method, Metric
from trialwise.late import pl
from trialwise.readers.blocks import Indices, distinct, first_of
from trialwise.readers.tables.columns import numbers_of
from trialwise.readers.tables.dialect import Dialect
from trialwise.readers.tables.table import Table, names_metrics, read_table, units_of
from trialwise.readers.tables.times import holds_dates, time_columns, times_of, without_times_note

_TRIAL, _ORDER, _TIME, _VALUE, _FIRST, _LEVEL = (
    "\0trial",
    "\0order",
    "\0time",
    "\0value",
    "\0first",
    "missing",
)


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The roles of columns. Without `trial` each row is a trial; with it, rows are samples with their `time`.

    With `samples` and no `trial`, all rows of a treatment and series are the samples of one trial. `groups` define the treatments;
    `order` (else `time` of rows that are trials, else row order) gives the order in which the trials ran.
    """

    groups: tuple[str, ...] = ()
    series: str | None = None
    trial: str | None = None
    order: str | None = None
    time: str | None = None
    samples: bool = False

    @property
    def named(self) -> tuple[str, ...]:
        """All named columns."""
        single = (self.series, self.trial, self.order, self.time)
        return (*self.groups, *(name for name in single if name is not None))


def analyse_table(
    path: Path,
    columns: TableColumns,
    metrics: Sequence[Metric],
    method: Method = "default",
    dialect: Dialect | None = None,
) -> Analysis:
    """Analyse the columns of a CSV or Parquet file that the metrics are named after.

    Raises
    ------
    AnalysisError
        The file cannot be read, a column is missing, a value is not a number, or a column of values holds those of several metrics.
    """
    table = read_table(path, dialect, (*(metric.name for metric in metrics), *columns.named))
    for metric in metrics:
        _check_alike(table, metric.name)
    notes = list(table.notes)
    columns = _with_time(table, columns, metrics, notes)
    table = _prepared(_timed(table, columns, notes), columns)
    found = [_measured(table, columns, metric, notes) for metric in metrics]
    analysed = tuple(analyse_metric(metric, observations, method) for metric, observations in found)
    longest = max((observations for _, observations in found), key=len)
    places = longest.places
    return Analysis(
        name=path.name,
        description="",
        method=method,
        seed=None,
        treatments=tuple(places.treatments),
        series=tuple(places.all_series),
        planned=len(longest),
        counts={"finished": len(longest)},
        metrics=analysed,
        failures=(),
        notes=(*notes, *notes_of(analysed)),
        boots=(),
    )


def _check_alike(table: Table, column: str) -> None:
    """Check that a column of values holds those of one metric in one unit."""
    if names_metrics(table.columns, column):
        raise AnalysisError(
            f"{table.path}: the column metric names the metric of each row, so that the column value holds several",
            hint="trialwise import FILE -o DIR, and name DIR; or write a column for each metric",
        )
    if len(units := units_of(table.frame, column)) > 1:
        raise AnalysisError(
            f"{table.path}: the column {column} stands there in {' and '.join(units[:2])}",
            hint="write the values in one unit",
        )


def _with_time(
    table: Table, columns: TableColumns, metrics: Sequence[Metric], notes: list[str]
) -> TableColumns:
    """Set the time column if only one column can hold the times of samples, and no column identifies trials."""
    if not columns.samples or columns.trial is not None:
        return columns
    what = "a treatment and series" if columns.groups or columns.series else "the file"
    notes.append(
        f"all rows of {what} are the samples of one trial: name a column with --trial where they are several"
    )
    others = [
        name
        for name in table.columns
        if name not in columns.named and name not in {one.name for one in metrics}
    ]
    dated, called = time_columns(table, others)
    times = dated or called
    if columns.time is not None or len(times) != 1:
        return columns
    notes.append(f"the times of samples are those of {times[0]}")
    return replace(columns, time=times[0])


def _timed(table: Table, columns: TableColumns, notes: list[str]) -> Table:
    """Return the rows that have a time, with their times, if a column of times is named."""
    if columns.time is None:
        return table
    times = times_of(table, columns.time)
    notes += [*times.notes, *without_times_note(columns.time, times.missing, table.frame.height)]
    frame = table.frame.with_columns(times.seconds.alias(_TIME)).filter(pl.col(_TIME).is_not_null())
    if frame.is_empty():
        raise AnalysisError(f"{table.path}: no row has a time in column {columns.time!r}")
    return table.of(frame)


def _prepared(table: Table, columns: TableColumns) -> Table:
    """Sort by the order of trials, and number them."""
    frame, samples = table.frame, columns.samples or columns.trial is not None
    if columns.order is not None:
        frame = frame.with_columns(_sortable(table, columns.order).alias(_ORDER)).sort(
            _ORDER, maintain_order=True
        )
    elif columns.time is not None and not samples:
        frame = frame.sort(_TIME, maintain_order=True)
    if not samples:
        return table.of(frame.with_columns(pl.int_range(1, pl.len() + 1).alias(_TRIAL)))
    place = [*columns.groups, *(name for name in (columns.series, columns.trial) if name is not None)]
    if not place:
        return table.of(frame.with_columns(pl.lit(1, dtype=pl.Int64).alias(_TRIAL)))
    appearance = pl.int_range(pl.len()).alias("\0place")
    first = pl.col("\0place").first().over(place)
    numbered = first.rank("dense").cast(pl.Int64).alias(_TRIAL)
    return table.of(frame.with_columns(appearance).with_columns(numbered))


def _sortable(table: Table, name: str) -> pl.Series:
    """Return a column as a sort key: times, numbers if all are numbers, else text."""
    column = table.frame[name]
    if column.dtype != pl.String:
        return column
    if holds_dates(table, name):
        return times_of(table, name).seconds
    parsed = column.cast(pl.Float64, strict=False)
    return column if parsed.null_count() else parsed


def _measured(
    table: Table, columns: TableColumns, metric: Metric, notes: list[str]
) -> tuple[Metric, Observed]:
    """Return the metric, with the unit found in its cells if none was given, and its observations."""
    numbers = numbers_of(table, metric.name)
    notes += numbers.notes
    rows, missing = table.frame.height, numbers.values.null_count()
    kept = table.frame.with_columns(numbers.values.alias(_VALUE)).filter(pl.col(_VALUE).is_not_null())
    if kept.is_empty():
        raise AnalysisError(
            f"{table.path}: column {metric.name!r} holds no number", hint="name another with --value"
        )
    if missing:
        notes.append(f"{missing} of {rows} values of {metric.name} are missing and were left out")
    metric = replace(metric, unit=metric.unit or numbers.unit)
    return metric, _observations(kept, columns)


def _observations(rows: pl.DataFrame, columns: TableColumns) -> Observed:
    """Return the trials in the order of their first rows."""
    if not columns.samples and columns.trial is None:
        trials, sizes = rows, np.ones(rows.height, np.int64)
    else:
        rows = rows.with_columns(pl.int_range(pl.len()).alias(_FIRST))
        rows = rows.with_columns(pl.col(_FIRST).first().over(_TRIAL))
        trials = rows.unique(_FIRST, keep="first", maintain_order=True)
        by_time = () if columns.time is None else (_TIME,)
        rows = rows.sort(_FIRST, *by_time, maintain_order=True)
        sizes = np.diff(np.append(np.flatnonzero(np.diff(rows[_FIRST].to_numpy(), prepend=-1)), rows.height))
    is_sampled = trials is not rows and columns.time is not None
    levels = [_texts(trials[name], _LEVEL) for name in columns.groups]
    series = [] if columns.series is None else [_texts(trials[columns.series], str(None))]
    kind, label = (distinct(each, trials.height) for each in (levels, series))
    kinds = [_treatment(columns.groups, [each[place] for each in levels]) for place in first_of(kind)]
    return Observed(
        Places(
            number=trials[_TRIAL].to_numpy(),
            attempt=_ones(trials.height),
            kinds=kinds,
            kind=kind,
            labels=[each[place] for each in series for place in first_of(label)] or ["1"],
            series=label,
            round=_turns(kinds, kind, label),
            position=_ones(trials.height),
            started=None if is_sampled or columns.time is None else _floats(trials[_TIME]),
        ),
        values=_floats(rows[_VALUE]),
        bounds=np.append(0, np.cumsum(sizes)),
        times=_floats(rows[_TIME]) if is_sampled else None,
    )


def _floats(cells: pl.Series) -> Array:
    return cells.to_numpy().astype(np.float64)


def _ones(height: int) -> Whole:
    return np.broadcast_to(np.int64(1), height)


def _texts(cells: pl.Series, missing: str) -> pl.Series:
    """Return cells as text."""
    if isinstance(cells.dtype, pl.String):
        return cells.fill_null(missing)
    return pl.Series([missing if cell is None else str(cell) for cell in cells.to_list()], dtype=pl.String)


def _turns(kinds: Sequence[Kind], kind: Indices, label: Indices) -> Whole:
    """Count the trials of each treatment in each series."""
    names = list(dict.fromkeys(name for name, _ in kinds))
    treatment = np.array([names.index(name) for name, _ in kinds], np.int32)[kind]
    one = pl.int_range(1, pl.len() + 1).over("treatment", "series")
    return pl.DataFrame({"treatment": treatment, "series": label}).select(one).to_series().to_numpy()


def _treatment(names: Sequence[str], levels: Sequence[str]) -> tuple[str, dict[str, Level]]:
    """Return the name of a treatment, and its factors."""
    factors: dict[str, Level] = dict(zip(names, levels, strict=True))
    return " ".join(f"{name}={level}" for name, level in factors.items()) or "-", factors
