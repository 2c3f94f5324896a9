"""Import a table of printed results, CSV or Parquet: a row has number, mean and standard deviation of a treatment and metric.

Papers print these and keep the trials. The columns are `n`, `mean` and `sd` (n - 1 in the denominator) or `population_sd` (n in the
denominator, as numpy's `std` and Pantheon have it); `metric`, `unit` and `better` describe the metric. Every other column, or those
that are named as groups, tells treatments apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

from trialwise.analysis.comparison.sides import treatment_name
from trialwise.analysis.trial_set import LEVELS, PRINTED, PRINTED_FIELDS, SCHEMA, MetricFacts, TrialSet
from trialwise.errors import AnalysisError
from trialwise.late import pl
from trialwise.readers.tables.columns import numbers_of
from trialwise.readers.tables.table import Table

_DEVIATIONS = ("sd", "population_sd")
_NUMBERS = ("n", "mean", *_DEVIATIONS)
_MOST = 2**53
"""Of trials; larger numbers are not whole ones of 64 bits."""
_OF_METRIC = ("metric", "unit", "better")
_DECIMALS = re.compile(r"[.,](\d+)$")
_NOTE = "known by printed numbers, means and standard deviations only; what their last digit leaves open counts against a verdict"


def is_printed(columns: Sequence[str]) -> bool:
    """Return True if a table with these columns has printed results instead of trials."""
    return {"n", "mean"} <= set(columns) and any(name in columns for name in _DEVIATIONS)


def printed_trials(table: Table, groups: Sequence[str], name: str) -> TrialSet:
    """Read printed results; every cell of the set is a summary (`trial_set.summary_of`).

    Raises
    ------
    AnalysisError
        A cell is not a number, n is not a whole number above 0, a deviation is negative, or a treatment and metric occurs twice.
    """
    groups = groups or [column for column in table.columns if column not in (*_NUMBERS, *_OF_METRIC)]
    table.check(tuple(groups))
    cells: list[dict[str, object]] = []
    seen: set[tuple[str, str]] = set()
    metrics: dict[str, MetricFacts] = {}
    treatments: dict[str, Mapping[str, str]] = {}
    for place, row in enumerate(_rows(table)):
        levels = {group: str(row[group] or "missing") for group in groups}
        treatment = treatment_name(levels)
        facts = _metric(table, place, row)
        if metrics.setdefault(facts.name, facts) != facts:
            raise AnalysisError(
                f"{table.at(place)}: {facts.name} has another unit, or another direction, above"
            )
        if (treatment, facts.name) in seen:
            raise AnalysisError(
                f"{table.at(place)}: {facts.name} of {treatment} stands in the table twice",
                hint="keep one row for each treatment and metric",
            )
        seen.add((treatment, facts.name))
        treatments[treatment] = levels
        cells.append({"metric": facts.name, "treatment": treatment, **_cell(table, place, row)})
    if not cells:
        raise AnalysisError(f"{table.path}: the table has no row with a mean")
    schema = {**SCHEMA, PRINTED: pl.Struct(pl.Schema(PRINTED_FIELDS))}
    named = [{**dict.fromkeys(LEVELS, "printed"), "series": "1", "round": "1", **cell} for cell in cells]
    return TrialSet(name, metrics, treatments, pl.DataFrame(named, schema=schema), (*table.notes, _NOTE))


def _rows(table: Table) -> Iterator[dict[str, object]]:
    """Yield the rows, with numbers where numbers belong and the text of each as ``TEXT name``."""
    frame = table.frame
    for column in _NUMBERS:
        if column in frame.columns:
            numbers = numbers_of(table, column).values
            frame = frame.with_columns(pl.col(column).alias(f"\0{column}"), numbers.alias(column))
    return iter(frame.iter_rows(named=True))


def _metric(table: Table, place: int, row: Mapping[str, object]) -> MetricFacts:
    better = row.get("better")
    if better not in (None, "", "higher", "lower"):
        raise AnalysisError(f"{table.at(place)}: better is higher or lower, not {better!r}")
    return MetricFacts(str(row.get("metric") or "value"), str(row.get("unit") or ""), better or None)


def _cell(table: Table, place: int, row: Mapping[str, object]) -> dict[str, object]:
    name = next(
        name for name in _DEVIATIONS if (name in row and row[name] is not None) or name == "population_sd"
    )
    n, mean, deviation = row["n"], row["mean"], row.get(name)
    if not isinstance(n, float) or not 1 <= n <= _MOST or not n.is_integer():
        raise AnalysisError(
            f"{table.at(place)}: n is a whole number above 0", hint="write how many trials the mean is of"
        )
    if not isinstance(mean, float) or not isinstance(deviation, float) or not isfinite(mean):
        raise AnalysisError(f"{table.at(place)}: mean or standard deviation is missing")
    if deviation < 0:
        raise AnalysisError(f"{table.at(place)}: a standard deviation is not negative")
    factor = (n / (n - 1)) ** 0.5 if name == "population_sd" and n > 1 else 1.0
    printed = {
        "n": int(n),
        "deviation": deviation * factor,
        "mean_rounding": _rounding(row["\0mean"]),
        "deviation_rounding": _rounding(row[f"\0{name}"]) * factor,
    }
    return {"value": mean, PRINTED: printed}


def _rounding(cell: object) -> float:
    """Return half a unit of the last printed digit; 0 for a number of 64 bits, as in Parquet."""
    if not isinstance(cell, str):
        return 0.0
    found = _DECIMALS.search(cell.strip())
    return 0.5 * 10.0 ** -(len(found[1]) if found else 0)
