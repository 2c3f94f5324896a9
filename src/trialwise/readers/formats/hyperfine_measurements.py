"""What hyperfine writes since 2.0 (`schema_version` 2): each run is an object with all metrics, their units, and its exit code.

Times of day stand for the whole file alone, and a run that a signal ended has the exit code 128 + its number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from trialwise.readers.declared import Found
from trialwise.readers.long_lists import Column, Columns, Kind, columns_of, is_list
from trialwise.readers.records import Better

NAMES = {"time_wall_clock": "time", "memory_peak_resident": "memory"}
"""Metrics that earlier versions wrote, by their new names."""
LOWER = {
    *NAMES,
    "time_cpu",
    "time_user",
    "time_system",
    "cpu_cycles",
    "instructions",
    "cache_references",
    "cache_misses",
    "branch_misses",
}
UNITS = {"count": "1"}
_COUNTS = {"count": 1.0, "k": 1e3, "M": 1e6, "B": 1e9}
_OF_TABLE = ("unit", "mean", "stddev", "median", "min", "max")
_TIME = "time_wall_clock"
_EXIT = "exit_code"
_UNIT, _VALUE = "unit", "value"


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """One metric of the runs of a command; NaN where a run lacks it.

    `before` and `after` stand around the number of a run in the JSON pointer to its value.
    """

    metric: str
    values: npt.NDArray[np.float64]
    unit: str
    better: Better | None
    before: str
    after: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """The runs of a command: their metrics, of which the first is the time that they took, and why runs failed."""

    measured: Sequence[Measured]
    reasons: Mapping[int, str]


def runs_of(measurements: object, found: Found, where: str) -> Runs | None:
    """Read the runs of a command; None if there are none.

    Raises
    ------
    AnalysisError
        They are no objects with metrics, or a metric has several units.
    """
    if is_list(measurements) and not len(measurements):
        return None
    columns = columns_of(measurements) if is_list(measurements) else None
    if columns is None:
        raise found.wrong(f"{where} of hyperfine 2 is no list of runs with metrics")
    measured = list(_measured(columns, found, where))
    if not measured or measured[0].metric != NAMES[_TIME]:
        raise found.wrong(f"{where} of hyperfine 2 has no {_TIME}")
    return Runs(measured, _reasons(columns.get((_EXIT,))))


def named_and_better(key: str) -> tuple[str, Better | None]:
    """Return the name of a metric, and its direction."""
    return NAMES.get(key, key), "lower" if key in LOWER else None


def _measured(columns: Columns, found: Found, where: str) -> Iterator[Measured]:
    """Yield the metrics, that of the time first."""
    keys = [key for key, *more in columns if more == [_VALUE]]
    for key in sorted(keys, key=lambda key: key != _TIME):
        column, units = columns[key, _VALUE], columns.get((key, _UNIT))
        if not len(column.values):
            continue
        told = [] if units is None else [units.texts[code] for code in _different(units)]
        if len(told) != 1:
            raise found.wrong(f"{where}: the unit of {key} is missing, or is not the same in all runs")
        metric, better = named_and_better(key)
        values = np.where(column.is_number, column.values, np.nan)
        yield Measured(metric, values, UNITS.get(told[0], told[0]), better, f"{where}/", f"/{key}/{_VALUE}")


def _different(units: Column) -> Sequence[int]:
    return np.unique(units.codes[units.kinds == Kind.TEXT]).tolist()


def _reasons(codes: Column | None) -> dict[int, str]:
    """Return why runs failed: null stands where a signal ended one."""
    if codes is None:
        return {}
    numbers = codes.values if len(codes.values) else np.full(len(codes.kinds), np.nan)
    failed = np.flatnonzero((numbers != 0) & (codes.kinds != Kind.ABSENT))
    return {
        int(run): f"exit code {numbers[run]:.0f}" if codes.is_number[run] else "a signal ended it"
        for run in failed
    }


def metrics_of_table(columns: Sequence[str]) -> list[str]:
    """Return the metrics of a table of summaries, each of which has six columns; none if it is no such table."""
    keys = [name.removesuffix(f"_{_UNIT}") for name in columns if name.endswith(f"_{_UNIT}")]
    told = [f"{key}_{what}" for key in keys for what in _OF_TABLE]
    return keys if list(columns[: len(told) + 1]) == ["command", *told] else []


def counted_in(key: str, unit: str) -> tuple[float, str]:
    """Return the factor and the unit of a metric in a table: counts may be in thousands, millions and billions."""
    is_count = not key.startswith(("time_", "memory_"))
    return (_COUNTS[unit], "1") if is_count and unit in _COUNTS else (1.0, unit)


def parameter(told: Any) -> Any:  # noqa: ANN401  any JSON
    """Return the level of a parameter, which is an object with a value since 2.0."""
    return cast("dict[str, Any]", told).get(_VALUE) if isinstance(told, dict) else told
