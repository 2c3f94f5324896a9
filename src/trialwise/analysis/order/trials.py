"""Trials with their order, from a long CSV or Parquet table, with a note on every unusable row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trialwise.analysis.order.results import Problem
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Better
from trialwise.late import pl
from trialwise.numbers import as_given, counted
from trialwise.readers.tables.columns import numbers_of
from trialwise.readers.tables.dialect import Dialect
from trialwise.readers.tables.numbers import parsed
from trialwise.readers.tables.table import Table, read_table
from trialwise.readers.tables.text import LINE

FIXED, RANDOM = "fixed", "random"
_NAMES = {
    "treatment": ("treatment", "test"),
    "order": ("order",),
    "round": ("round", "run"),
    "position": ("position",),
    "value": ("value",),
    "worker": ("worker",),
    "metric": ("metric",),
}
RECORDED = {
    "line": int,
    **dict.fromkeys(("metric", "group", "family", "treatment", "known_order", "worker", "round"), str),
    "place": float,
    "number": float,
    "follows": bool,
}
"""The columns of trials that a ledger or an import recorded."""
_ORDERS = {FIXED: (FIXED,), RANDOM: (RANDOM, "balanced")}
MAX_PROBLEMS = 100
_MAX_ALIKE = 5
_MAX_CODES = 2**62


@dataclass(frozen=True, slots=True)
class OrderColumns:
    """The roles of columns; None: found by name.

    Names are treatment or test, order, round or run, position, value, worker, metric.

    `metrics` are the metrics to analyse, empty: all; `groups` separate what is not compared (hardware types); `families` name the
    families of the correction; `fixed` and `random` are labels in the column of orders, None: fixed, and random or balanced.
    """

    treatment: str | None = None
    order: str | None = None
    round: str | None = None
    position: str | None = None
    value: str | None = None
    worker: str | None = None
    metric: str | None = None
    metrics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    fixed: str | None = None
    random: str | None = None


@dataclass(frozen=True, slots=True)
class OrderTrials:
    """Trials as columns: line, metric, group, family, treatment, order, worker, round, turn, position, value, follows.

    `order` is fixed or random; `value` is null if a trial gave none; `round` identifies rounds across workers and orders, `turn`
    counts them from 0 in data order, for each metric, group and worker; `follows` is false if a trial did not run immediately after
    the one in the previous position.
    """

    source: str
    table: pl.DataFrame
    problems: tuple[Problem, ...]
    n_problems: int
    notes: tuple[str, ...]
    better: Mapping[str, Better] = field(default_factory=dict[str, Better])
    """Which direction is better, for the metrics that specify it in the experiment."""


def read_order_table(path: Path, columns: OrderColumns, dialect: Dialect | None = None) -> OrderTrials:
    """Read trials from a CSV or Parquet file; unusable rows are reported and skipped.

    Raises
    ------
    AnalysisError
        The file cannot be read, lacks a column, or has no usable rows.
    """
    raw = read_table(path, dialect)
    names = _found_columns(raw, columns)
    table = raw.frame.select(
        pl.col(LINE).cast(pl.Int64).alias("line"),
        *(pl.col(name).cast(pl.String).str.strip_chars().alias(role) for role, name in names.items()),
        _joined(columns.groups, "group"),
        _joined([name for name in columns.families if name != names.get("metric")], "family"),
        *_numbers(raw, names),
    )
    if columns.metrics:
        table = _of_metrics(path, table, columns.metrics)
    by_metric = not columns.families or names.get("metric") in columns.families
    return order_trials(str(path), table, columns, by_metric=by_metric, where=raw.where, notes=raw.notes)


def _numbers(raw: Table, names: Mapping[str, str]) -> Iterator[pl.Series]:
    """Yield values and positions as numbers, null if they are not numbers, and which values are missing.

    Raises
    ------
    AnalysisError
        A value is ambiguous between two numbers.
    """
    said = raw.dialect
    values = parsed(raw.frame[names["value"]], said.missing, said.decimal, raw.custom)
    if values.open is not None:
        numbers_of(raw, names["value"])
    yield values.values.alias("number")
    yield values.missing.alias("missing")
    places = parsed(raw.frame[names["position"]], said.missing, said.decimal, raw.custom).values
    yield places.set(~(places.abs() <= MAX_PLACE), None).alias("place")


def _of_metrics(path: Path, table: pl.DataFrame, wanted: Sequence[str]) -> pl.DataFrame:
    known: list[str] = table["metric"].unique().sort().to_list() if "metric" in table.columns else []
    for name in wanted:
        if name not in known:
            raise AnalysisError(
                f"{path}: no metric {name!r}", hint=f"there are: {', '.join(known) or 'no such column'}"
            )
    return table.filter(pl.col("metric").is_in(wanted))


def _found_columns(table: Table, columns: OrderColumns) -> dict[str, str]:
    there = table.columns
    lower = {name.strip().lower(): name for name in there}
    found: dict[str, str] = {}
    for role, usual in _NAMES.items():
        named: str | None = getattr(columns, role)
        if named is not None:
            table.check([named])
        name = named or next((lower[name] for name in usual if name in lower), None)
        if name is not None:
            found[role] = name
    table.check([*columns.groups, *columns.families])
    for role in ("treatment", "round", "position", "value"):
        if role not in found:
            usual = " or ".join(_NAMES[role])
            raise AnalysisError(
                f"{table.path}: no column called {usual}",
                hint=f"name it with --{role}; columns: {table.listed}",
            )
    return found


def _joined(names: Sequence[str], alias: str) -> pl.Expr:
    if not names:
        return pl.lit(None, dtype=pl.String).alias(alias)
    parts = [pl.col(name).cast(pl.String).fill_null("missing") for name in names]
    return pl.concat_str(parts, separator=", ").alias(alias)


def order_trials(
    source: str,
    table: pl.DataFrame,
    columns: OrderColumns,
    *,
    by_metric: bool = False,
    where: str = "line",
    notes: Sequence[str] = (),
) -> OrderTrials:
    """Check trials given as columns, and number their rounds; `where` names what row numbers count.

    The columns are text columns by role, and `number`, `missing` (of the value) and `place` (of the position).

    Raises
    ------
    AnalysisError
        No row is usable.
    """
    table = _filled(table, by_metric=by_metric)
    known = table.with_columns(_order(columns).alias("known_order"))
    wrong = list(_wrong(known, where))
    # A trial without a number still ran, and may have affected the next one.
    usable = known.filter(~_placeless()).with_columns(
        pl.when(pl.col("number").is_finite()).then(pl.col("number")).alias("number")
    )
    usable = usable.with_columns(_turn_codes(usable).alias("trial"))
    usable = usable.with_columns(pl.struct("trial", "place").is_first_distinct().alias("is_first"))
    repeated, usable = usable.filter(~pl.col("is_first")), usable.filter("is_first")
    if usable["number"].drop_nulls().is_empty():
        first = f": {wrong[0].text}" if wrong else ""
        raise AnalysisError(
            f"{source}: no row can be used{first}",
            hint="values are numbers without a unit; --value, --order and the like name other columns",
        )
    wrong += [*_duplicates(repeated, where), *_disorder(usable, where), *_gaps(usable)]
    wrong.sort(key=lambda problem: (problem.line is None, problem.line or 0))
    usable = usable.with_columns(pl.lit(value=True).alias("follows"))
    return OrderTrials(
        source, _numbered(usable, by_number=True), tuple(wrong[:MAX_PROBLEMS]), len(wrong), tuple(notes)
    )


def recorded_trials(
    source: str, table: pl.DataFrame, problems: Sequence[Problem], notes: Sequence[str], first_value: str
) -> OrderTrials:
    """Build trials from a ledger, with the columns of `RECORDED`; rounds are numbered here.

    `first_value` is the hint where none has a value.

    Raises
    ------
    AnalysisError
        No trial has a value.
    """
    if table["number"].drop_nulls().is_empty():
        first = f": {problems[0].text}" if problems else ""
        raise AnalysisError(f"{source}: no trial has a value{first}", hint=first_value)
    table = table.with_columns(_turn_codes(table).alias("trial"))
    return OrderTrials(
        source,
        _numbered(table, by_number=False),
        tuple(problems[:MAX_PROBLEMS]),
        len(problems),
        tuple(notes),
    )


MAX_PLACE = 2**53
"""Doubles represent all integers up to here; nothing beyond is a position."""
_TRIAL = ("metric", "group", "worker", "known_order", "round")
"""The columns that identify rounds."""


def _turn_codes(table: pl.DataFrame) -> pl.Series:
    """Return a number for each round, for speed."""
    codes, size = np.zeros(table.height, dtype=np.int64), 1
    for name in _TRIAL:
        part = table[name].cast(pl.Categorical).to_physical().cast(pl.Int64).to_numpy()
        part = part - part.min(initial=0)
        width = int(part.max(initial=0)) + 1
        if size * width >= _MAX_CODES:
            codes, size = np.unique(codes, return_inverse=True)[1], table.height
        codes, size = codes * width + part, size * width
    return pl.Series(codes)


def _filled(table: pl.DataFrame, *, by_metric: bool) -> pl.DataFrame:
    """Fill in absent columns: one metric, one worker, random order."""
    absent = {"metric": "value", "worker": "", "order": RANDOM}
    added = [pl.lit(text).alias(name) for name, text in absent.items() if name not in table.columns]
    table = table.with_columns(*added).with_columns(
        pl.col("worker").fill_null(""), pl.col("group").fill_null("")
    )
    family = pl.col("family").fill_null("")
    named = pl.concat_str([pl.col("metric"), family], separator=" ").str.strip_chars()
    return table.with_columns((named if by_metric else family).alias("family"))


def _order(columns: OrderColumns) -> pl.Expr:
    label = pl.col("order")
    fixed = label == columns.fixed if columns.fixed else label.str.to_lowercase().is_in(_ORDERS[FIXED])
    random = label == columns.random if columns.random else label.str.to_lowercase().is_in(_ORDERS[RANDOM])
    return pl.when(fixed).then(pl.lit(FIXED)).when(random).then(pl.lit(RANDOM))


def _empty(name: str) -> pl.Expr:
    return pl.col(name).is_null() | (pl.col(name) == "")


def _not_a_number() -> pl.Expr:
    return ~pl.col("missing") & (
        pl.col("number").is_null() | pl.col("number").is_infinite().fill_null(value=False)
    )


def _placeless() -> pl.Expr:
    """Match rows with an unknown place in the experiment."""
    return _empty("treatment") | _empty("round") | pl.col("place").is_null() | pl.col("known_order").is_null()


def _wrong(table: pl.DataFrame, where: str) -> Iterator[Problem]:
    checks = (
        ("treatment", _empty("treatment"), "no treatment"),
        ("round", _empty("round"), "no round"),
        ("position", pl.col("place").is_null(), "{position!r} is not a position"),
        (
            "order",
            pl.col("known_order").is_null(),
            "order {order!r} is neither fixed nor random; see --fixed and --random",
        ),
        ("not a number", _not_a_number(), "{value!r} is not a finite number"),
        ("missing", pl.col("missing"), "the value is missing"),
    )
    for kind, condition, words in checks:
        for row in table.filter(condition).iter_rows(named=True):
            yield Problem(row["line"], kind, f"{where} {row['line']}: {words.format(**row)}")


def _place(row: dict[str, Any]) -> str:
    worker = f" on {row['worker']}" if row["worker"] else ""
    return f"{row['known_order']} round {row['round']}{worker}, position {as_given(row['place'])}"


def _duplicates(table: pl.DataFrame, where: str) -> Iterator[Problem]:
    for row in table.iter_rows(named=True):
        yield Problem(
            row["line"], "duplicate", f"{where} {row['line']}: {_place(row)} is there already; left out"
        )


def _disorder(table: pl.DataFrame, where: str) -> Iterator[Problem]:
    before = pl.col("place").shift(1).over("trial")
    found = table.filter(pl.col("place") < before)
    for row in found.head(_MAX_ALIKE).iter_rows(named=True):
        yield Problem(
            row["line"],
            "out of order",
            f"{where} {row['line']}: {_place(row)} comes after a later one; used in its place",
        )
    more = found.height - _MAX_ALIKE
    if more > 0:
        text = f"{counted(more, 'more row comes', 'more rows come')} after later ones of their round; used in their places"
        yield Problem(found["line"][_MAX_ALIKE], "out of order", text)


def _gaps(table: pl.DataFrame) -> Iterator[Problem]:
    """Yield the positions that a round lacks up to the longest round's last, from the first one that occurs."""
    extremes = [pl.col("place").min().alias("low"), pl.col("place").max().alias("high")]
    ends = table.group_by("metric", "group", maintain_order=True).agg(*extremes)
    rounds = table.group_by("trial", maintain_order=True).agg(
        *(pl.col(name).first() for name in _TRIAL), pl.len().alias("there"), pl.col("place").alias("places")
    )
    # A single outlying position must not make all rounds short.
    ends = ends.join(rounds.group_by("metric", "group").agg(pl.col("there").max()), on=["metric", "group"])
    ends = ends.with_columns(pl.min_horizontal("high", pl.col("low") + 2 * pl.col("there"))).drop("there")
    short = rounds.join(ends, on=["metric", "group"]).filter(
        pl.col("there") < pl.col("high") - pl.col("low") + 1
    )
    for row in short.iter_rows(named=True):
        lacking = sorted({*range(int(row["low"]), int(row["high"]) + 1)} - {*row["places"]})
        worker = f" on {row['worker']}" if row["worker"] else ""
        places = ", ".join(str(place) for place in lacking[:5]) + (" …" if len(lacking) > 5 else "")
        yield Problem(
            None, "no row", f"{row['known_order']} round {row['round']}{worker}: no row for position {places}"
        )


def _numbered(table: pl.DataFrame, *, by_number: bool) -> pl.DataFrame:
    """Number rounds by their first appearance, for each metric, group and worker.

    If rounds are numbers that no two orders share, these numbers are used, and rows may be in any order.
    """
    lane = ["metric", "group", "worker"]
    rounds = table.group_by("trial", maintain_order=True).agg(pl.col(*lane, "round").first())
    number = rounds["round"].cast(pl.Float64, strict=False)
    rounds = rounds.with_columns(number.alias("at"))
    if by_number and not number.null_count() and not rounds.select(*lane, "at").is_duplicated().any():
        rounds = rounds.sort("at", maintain_order=True)
    rounds = rounds.select("trial", pl.int_range(pl.len()).over(lane).alias("turn"))
    return table.join(rounds, on="trial", how="left", maintain_order="left").select(
        "line", "metric", "group", "family", "treatment", pl.col("known_order").alias("order"), "worker", "round", "turn",
        pl.col("place").alias("position"), pl.col("number").alias("value"), "follows",
    )  # fmt: skip
