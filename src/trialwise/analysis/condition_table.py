"""Tables of measurements over time: which column is the time, which the value, and what stands in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from trialwise.analysis.table_reading import check_columns, is_dated, numbers, seconds_of, whole_table
from trialwise.errors import AnalysisError, TrialwiseError

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = npt.NDArray[np.float64]

_TIME_NAMES = {"time", "times", "timestamp", "t", "epoch", "date", "datetime", "date_time", "seconds"}
_PER_SECOND = ((1e17, 1e9, "nanoseconds"), (1e14, 1e6, "microseconds"), (1e11, 1e3, "milliseconds"))
"""Numbers beyond the first entry (seconds of the year 5138 and later) are in units of which a second has the second."""

_SINCE_1973 = 1e8


@dataclass(frozen=True, slots=True)
class ConditionTable:
    """Values over time as a file has them.

    `times` are in seconds, since 1970 where `dated`, and None where no column of times was named or found; `values` are
    NaN where one is missing; `trials` says which trial each row belongs to, None where all are one.
    """

    path: Path
    time: str | None
    value: str
    times: Array | None
    values: Array
    dated: bool
    trials: tuple[str, ...] | None
    notes: tuple[str, ...]


def read_conditions(
    path: Path, *, time: str | None, value: str | None, trial: str | None = None, needs_time: bool = True
) -> ConditionTable:
    """Read a column of values and one of times from a CSV file (comma, semicolon, tab) or a Parquet file.

    Without names, the time is the only column of dates (else the only numeric one that is called so: time,
    timestamp, t …), the value the only other numeric one.

    Raises
    ------
    AnalysisError
        The file cannot be read, has no such column, or holds something that is no time or no number.
    TrialwiseError
        There are several columns to choose from (exit code 2).
    """
    if path.is_dir():
        raise AnalysisError(f"{path}: is a directory", hint="name a CSV or Parquet file")
    table = whole_table(path)
    columns = table.columns[1:]
    check_columns(path, columns, [name for name in (time, value, trial) if name is not None])
    time = time or _only_time(path, table, [name for name in columns if name not in (value, trial)])
    if time is None and needs_time:
        raise AnalysisError(
            f"{path}: there is no column of times",
            hint=f"name it with --time; columns: {', '.join(columns[:12])}",
        )
    value = value or _only_number(path, table, [name for name in columns if name not in (time, trial)])
    measured = numbers(path, table, value).to_numpy().astype(np.float64)
    if np.isnan(measured).all():
        raise AnalysisError(f"{path}: column {value!r} holds no number", hint="name another with --value")
    times, notes = (None, ()) if time is None else _times(path, table, time)
    trials = None if trial is None else tuple(map(str, table[trial]))
    dated = times is not None and float(times.min()) > _SINCE_1973
    return ConditionTable(path, time, value, times, measured, dated, trials, notes)


def _times(path: Path, table: pl.DataFrame, name: str) -> tuple[Array, tuple[str, ...]]:
    moments = seconds_of(path, table, name).to_numpy().astype(np.float64)
    if is_dated(table[name]):
        return moments, ()
    for beyond, per_second, unit in _PER_SECOND:
        if float(np.abs(moments).min()) > beyond:
            return moments / per_second, (f"the times in {name!r} were read as {unit} since 1970",)
    return moments, ()


def _only_time(path: Path, table: pl.DataFrame, columns: Sequence[str]) -> str | None:
    dated = [name for name in columns if is_dated(table[name])]
    called = [name for name in columns if name.lower() in _TIME_NAMES and _is_numeric(table[name])]
    return _only(path, "times", "--time", dated or called) if dated or called else None


def _only_number(path: Path, table: pl.DataFrame, columns: Sequence[str]) -> str:
    numeric = [name for name in columns if _is_numeric(table[name])]
    if not numeric:
        raise AnalysisError(
            f"{path}: there is no column of numbers",
            hint=f"name it with --value; columns: {', '.join(table.columns[1:13])}",
        )
    return _only(path, "numbers", "--value", numeric)


def _only(path: Path, what: str, option: str, names: Sequence[str]) -> str:
    if len(names) > 1:
        raise TrialwiseError(
            f"{path}: several columns hold {what}: {', '.join(names)}",
            hint=f"say which with {option}, as {option} {names[0]}",
        )
    return names[0]


def _is_numeric(column: pl.Series) -> bool:
    """Whether most cells that are not empty are numbers: one wrong cell is an error to name, not another column."""
    if column.dtype != pl.String:
        return column.dtype.is_numeric()
    known = column.str.strip_chars().replace("", None).drop_nulls()
    parsed = known.cast(pl.Float64, strict=False)
    return known.len() > 0 and parsed.null_count() <= known.len() // 2
