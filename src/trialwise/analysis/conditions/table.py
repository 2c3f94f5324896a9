"""Tables of measurements over time: their columns of times and values, and the contents."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trialwise.arrays import Array
from trialwise.errors import AnalysisError, TrialwiseError
from trialwise.readers.tables.columns import numbers_of
from trialwise.readers.tables.dialect import Dialect
from trialwise.readers.tables.table import Table, read_table
from trialwise.readers.tables.times import time_columns, times_of, without_times_note

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class ConditionTable:
    """Values over time as recorded in a file.

    `times` are in seconds, since 1970 if `dated`, and None if no column of times was named or found; missing `values` are NaN;
    `trials` gives the trial of each row, None if all are one.
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
    path: Path,
    *,
    time: str | None,
    value: str | None,
    trial: str | None = None,
    needs_time: bool = True,
    dialect: Dialect | None = None,
) -> ConditionTable:
    """Read a column of values and one of times from a CSV or a Parquet file; rows without a time are dropped.

    Without names, the time is the only column of dates (else the only numeric column with a name such as time, timestamp, `t [ms]`
    …), and the value is the only other numeric column.

    Raises
    ------
    AnalysisError
        The file cannot be read, lacks a column, or contains an entry that is not a time or not a number.
    TrialwiseError
        There are several columns to choose from (exit code 2).
    """
    table = read_table(path, dialect, [name for name in (time, value, trial) if name is not None])
    time = time or _only_time(table, [name for name in table.columns if name not in (value, trial)])
    if time is None and needs_time:
        raise AnalysisError(
            f"{path}: there is no column of times", hint=f"name it with --time; columns: {table.listed}"
        )
    value = value or _only_number(table, [name for name in table.columns if name not in (time, trial)])
    notes, times, dated = list(table.notes), None, False
    if time is not None:
        found = times_of(table, time)
        notes += [*found.notes, *without_times_note(time, found.missing, table.frame.height)]
        there = found.seconds.is_not_null()
        table, dated = table.of(table.frame.filter(there)), found.dated
        times = found.seconds.filter(there).to_numpy().astype(np.float64)
        if not times.size:
            raise AnalysisError(f"{path}: no row has a time in column {time!r}")
    numbers = numbers_of(table, value)
    measured = numbers.values.to_numpy().astype(np.float64)
    if np.isnan(measured).all():
        raise AnalysisError(f"{path}: column {value!r} holds no number", hint="name another with --value")
    notes += numbers.notes
    trials = None if trial is None else tuple(map(str, table.frame[trial]))
    return ConditionTable(path, time, value, times, measured, dated, trials, tuple(notes))


def _only_time(table: Table, columns: Sequence[str]) -> str | None:
    dated, called = time_columns(table, columns)
    return _only(table.path, "times", "--time", dated or called) if dated or called else None


def _only_number(table: Table, columns: Sequence[str]) -> str:
    numeric = [name for name in columns if table.is_numeric(name)]
    if not numeric:
        raise AnalysisError(
            f"{table.path}: there is no column of numbers",
            hint=f"name it with --value; columns: {table.listed}",
        )
    return _only(table.path, "numbers", "--value", numeric)


def _only(path: Path, what: str, option: str, names: Sequence[str]) -> str:
    if len(names) > 1:
        raise TrialwiseError(
            f"{path}: several columns hold {what}: {', '.join(names)}",
            hint=f"say which with {option}, as {option} {shlex.quote(names[0])}",
        )
    return names[0]
