"""Import a table of measurements, CSV or Parquet, as trials: a row is a trial or, with a column of trials, one sample of one.

Columns called host, boot, build and process say what a trial nests in. If no columns are given, `value` is the value and
`treatment` tells treatments apart; a column `metric` names metrics and `unit` their units, as `trialwise analyze --csv` writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trialwise.analysis.comparison.sides import treatment_name
from trialwise.analysis.trial_set import SCHEMA, MetricFacts, TrialSet
from trialwise.errors import AnalysisError
from trialwise.exchange.printed_table import is_printed, printed_trials
from trialwise.experiment.model import Measure
from trialwise.late import pl
from trialwise.numbers import counted
from trialwise.readers.tables.columns import numbers_of
from trialwise.readers.tables.dialect import Dialect
from trialwise.readers.tables.table import Table, names_metrics, read_table, units_of
from trialwise.readers.tables.text import LINE

_UNITS = ("host", "boot", "build", "process")
_IDENTIFYING = ("trial", "round", "run", "started", "time", "timestamp")
_VALUE, _TREATMENT, _TRIAL = "\0value", "\0treatment", "\0trial"
_LEVELS = re.compile(r"[^\s=]+=[^\s=]*(?: [^\s=]+=[^\s=]*)*")


@dataclass(frozen=True, slots=True)
class TrialColumns:
    """The roles of columns: values (each a metric), treatments and, if rows are samples, the trial."""

    values: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    trial: str | None = None
    measure: Measure = "mean"
    dialect: Dialect | None = None


def table_trials(path: Path, columns: TrialColumns, name: str, content: bytes | None = None) -> TrialSet:
    """Read the trials of a table, from its content if that has been read already.

    Raises
    ------
    AnalysisError
        The file cannot be read, a column is missing, a value is not a number, or there is no value.
    """
    read = read_table(path, columns.dialect, (*columns.values, *columns.groups), content)
    if (
        not columns.values
        and columns.trial is None
        and "value" not in read.columns
        and is_printed(read.columns)
    ):
        return printed_trials(read, columns.groups, name)
    columns = _filled(read, columns)
    notes = list(read.notes)
    table = read.frame
    table = _with_trials(_without_repeats(table, columns, notes), columns, name)
    treatments, table = _with_treatments(table, columns.groups)
    metrics: dict[str, MetricFacts] = {}
    parts: list[pl.DataFrame] = []
    for facts, column, part in _metrics(table, columns.values, notes):
        numbers = numbers_of(read.of(part), column)
        values = numbers.values
        notes += [note for note in numbers.notes if note not in notes]
        if missing := values.null_count():
            notes.append(f"{missing} of {part.height} values of {facts.name} are missing and were left out")
        metrics[facts.name] = replace(facts, unit=facts.unit or numbers.unit)
        parts.append(_reduced(part.with_columns(values.alias(_VALUE)), facts.name, columns.measure))
    found = pl.concat(parts) if parts else pl.DataFrame(schema=SCHEMA)
    if found.is_empty():
        raise AnalysisError(
            f"{path}: no trial has a value", hint="; ".join(notes) or "name a column with --value"
        )
    return TrialSet(name, metrics, treatments, found, tuple(notes))


def _filled(table: Table, columns: TrialColumns) -> TrialColumns:
    """Fill in the default columns."""
    there = table.columns
    if not columns.values and "value" not in there:
        printed = (
            "" if not {"n", "mean"} <= set(there) else "add a column sd to have printed results read, or "
        )
        raise AnalysisError(
            f"{table.path}: a table needs to know its columns",
            hint=f"{printed}add --value COLUMN; there are: {table.listed}",
        )
    found = replace(
        columns,
        values=columns.values or ("value",),
        groups=columns.groups or (("treatment",) if "treatment" in there else ()),
    )
    table.check((*found.values, *found.groups, *([found.trial] if found.trial else [])))
    return found


def _without_repeats(table: pl.DataFrame, columns: TrialColumns, notes: list[str]) -> pl.DataFrame:
    """Drop rows that repeat a trial, but only if a column identifies trials: otherwise equal rows may be different trials."""
    telling = [
        column
        for column in table.columns[1:]
        if column.lower() in _IDENTIFYING and column not in columns.values
    ]
    if columns.trial is not None or not telling:
        return table
    kept = table.unique(table.columns[1:], keep="first", maintain_order=True)
    if lost := table.height - kept.height:
        notes.append(
            f"{counted(lost, 'row repeats', 'rows repeat')} another in every column, {telling[0]} included: left out"
        )
    return kept


def _with_trials(table: pl.DataFrame, columns: TrialColumns, name: str) -> pl.DataFrame:
    """Name the units of all rows; equal names of hosts, boots, builds and processes mean the same unit."""
    units: list[pl.Expr] = []
    above = pl.lit("")
    for unit in _UNITS:
        own = pl.col(unit).cast(pl.String).fill_null("") if unit in table.columns else pl.lit("")
        above = own if unit == "host" else pl.concat_str(above, pl.lit("/"), own)
        units.append(above.alias(f"\0{unit}"))
    own = pl.col(columns.trial if columns.trial is not None else LINE).cast(pl.String).fill_null("")
    groups = [pl.col(group).cast(pl.String).fill_null("") for group in columns.groups if columns.trial]
    trial = pl.concat_str([pl.lit(name), *groups, above, own], separator="#").alias(_TRIAL)
    table = table.with_columns(*units, trial)
    if "process" in table.columns:
        return table
    return table.with_columns(pl.col(_TRIAL).alias("\0process"))


def _with_treatments(
    table: pl.DataFrame, groups: Sequence[str]
) -> tuple[dict[str, Mapping[str, str]], pl.DataFrame]:
    """Return the treatments with their levels, and the table with the treatments' names."""
    if not groups:
        return {"-": {}}, table.with_columns(pl.lit("-").alias(_TREATMENT))
    texts = table.select(pl.col(group).cast(pl.String).fill_null("missing") for group in groups)
    distinct = texts.unique(maintain_order=True)
    levels = [dict(zip(groups, row, strict=True)) for row in distinct.iter_rows()]
    if list(groups) == ["treatment"] and all(_LEVELS.fullmatch(each["treatment"]) for each in levels):
        levels = [dict(part.split("=", 1) for part in each["treatment"].split()) for each in levels]
    names = [treatment_name(each) for each in levels]
    joined = texts.join(
        distinct.with_columns(pl.Series(_TREATMENT, names)), on=list(groups), maintain_order="left"
    )
    return dict(zip(names, levels, strict=True)), table.with_columns(joined[_TREATMENT])


def _metrics(
    table: pl.DataFrame, values: Sequence[str], notes: list[str]
) -> Iterator[tuple[MetricFacts, str, pl.DataFrame]]:
    """Yield each metric with its column and rows: a column of values, or one part of it if a column names metrics."""
    for column in values:
        named = names_metrics(table.columns, column)
        parts = table.partition_by("metric", maintain_order=True) if named else [table]
        for part in parts:
            name = str(part["metric"][0]) if named else column
            units = units_of(part, column)
            if len(units) > 1:
                notes.append(
                    f"{name} stands there in {' and '.join(units)}: left out; convert it to one unit"
                )
                continue
            yield MetricFacts(name, units[0] if units else ""), column, part


def _reduced(part: pl.DataFrame, metric: str, measure: Measure) -> pl.DataFrame:
    """Reduce to one row for each trial of a metric."""
    value = pl.col(_VALUE)
    by_name = {"mean": value.mean(), "median": value.median(), "min": value.min(), "max": value.max()}
    reduced = (
        by_name[str(measure)]
        if isinstance(measure, str)
        else value.quantile(measure / 100, interpolation="linear")
    )
    keys = [_TREATMENT, *(f"\0{unit}" for unit in _UNITS), _TRIAL]
    known = part.filter(value.is_not_null()).group_by(keys, maintain_order=True).agg(reduced)
    return known.select(
        pl.lit(metric).alias("metric"),
        pl.col(_TREATMENT).alias("treatment"),
        pl.col(_VALUE).alias("value"),
        *(pl.col(f"\0{unit}").alias(unit) for unit in _UNITS),
        pl.col(_TRIAL).alias("trial"),
        pl.lit("1").alias("series"),
        pl.lit("1").alias("round"),
        pl.lit(None, dtype=pl.Float64).alias("started"),
        pl.lit(None, dtype=pl.Float64).alias("seconds"),
    )
