"""Which column of a table is a factor, a value, a repetition, a time: told from names and content, and the rows that follow."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import fsum, isfinite
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from trialwise.errors import AnalysisError
from trialwise.late import pl
from trialwise.readers.blocks import Indices, distinct, first_of
from trialwise.readers.declared import Found, numbered
from trialwise.readers.records import Better, Inside, Summary, listed
from trialwise.readers.units import NORMAL

Kind = Literal["number", "time", "clock", "text"]
Shape = Literal["long", "wide", "summary"]

UNKNOWN = "unknown"
"""The unit of a column that names none."""
_REPETITIONS = {
    "rep",
    "run",
    "trial",
    "iter",
    "iteration",
    "repetition",
    "seed",
    "index",
    "idx",
    "no",
    "nr",
    "#",
    "id",
}
_NAMES, _VALUES = ("metric", "measure", "measurement", "variable", "quantity"), ("value", "result")
"""Names of a column that names the metric of each row, and of the column that then holds the values."""
_MOST_METRICS = 1000
"""Different names from which on a column names no metrics."""
_IMPORTED = {"file", "path", "row", "metric", "value", "levels", "factors", "where", "summary", "samples"}
"""Columns of the table that `trialwise import --csv` writes."""
_ORDERS = {"order", "position", "seq"}
_LEVELS = {"host", "hostname", "boot", "build", "process"}
_STATUS = {"status", "outcome", "state", "completion_status"}
FAILED = {"timeout", "failed", "failure", "error", "dnf", "x", "crashed", "aborted"}
"""Cells that say that a trial failed, in lower case."""
_MEANS, _DEVIATIONS, _COUNTS = {"mean", "average", "avg"}, {"sd", "std", "stddev"}, {"n", "count"}
_METRICS = re.compile(
    r"(?:^|_|\b)(?:throughput|goodput|rate|bandwidth|delay|latency|rtt|jitter|loss|time|duration|elapsed|fct|ops|"
    r"memory|rss|bytes|packets|retransmits|errors|count|value|result|score|p\d+|mean|median|min|max)(?:$|_|\b)",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(r"^(.*\S)\s*[(\[]([^()\[\]]{1,20})[)\]]$")
_SUFFIX = re.compile(r"^([A-Za-z]+(?:_[A-Za-z]+)*)_([A-Za-zµμ]+)$")
_PER_SECOND = re.compile(r"_([kmg]?)bps$", re.IGNORECASE)
_NO_SUFFIXES = {"m", "h", "min", "B", "second", "seconds", "byte", "bytes"}
_FEW = 10
_PART = 1 << 16
"""Numbers that are looked at together."""
_MOST_REMARKS = 3
_REMARKS = {
    "note",
    "notes",
    "comment",
    "comments",
    "remark",
    "remarks",
    "bemerkung",
    "bemerkungen",
    "kommentar",
}
_SEVERAL = 3
"""Trials of each treatment from which on their names tell them apart, and no treatments."""
_MOST_TRIALS = 1000
_ALIKE = 20.0
"""Maximum ratio of medians of columns that are levels of one factor."""
_MOST_CONSTANT = 200


@dataclass(frozen=True, slots=True)
class Column:
    """A column: numbers, Unix seconds, times that rise from row to row, or texts, null where a cell is missing.

    `unit` is empty if nothing tells it; `in_header` if the header does, so that values stay as they are. `failed` has the words by row
    that say that a trial failed.
    """

    name: str
    kind: Kind
    values: pl.Series
    unit: str = ""
    in_header: bool = False
    failed: Mapping[int, str] = field(default_factory=dict[int, str])

    @staticmethod
    def of_array(name: str, array: npt.NDArray[Any]) -> Column:
        """Return a field of a structured array as a column."""
        if array.dtype.kind == "M":
            seconds = array.astype("datetime64[us]").astype(np.int64) / 1e6
            missing = np.isnat(array)
            return Column(name, "time", pl.Series(np.where(missing, np.nan, seconds)).fill_nan(None))
        if array.dtype.kind in "iuf":
            metric, unit = of_header(name)
            return Column(metric, "number", pl.Series(array.astype(np.float64)), unit, in_header=bool(unit))
        try:
            texts = [
                each.decode("latin-1")
                if isinstance(each, bytes)
                else str(each).encode(errors="replace").decode()
                for each in array.tolist()
            ]
        except (
            UnicodeDecodeError
        ):  # code points beyond those of Unicode, which NumPy keeps and Python does not
            raise AnalysisError(f"field {name!r} holds characters beyond Unicode") from None
        return Column(name, "text", pl.Series([each or None for each in texts], dtype=pl.String))

    @property
    def known(self) -> pl.Series:
        """The cells that are not missing."""
        return self.values.drop_nulls()

    @property
    def is_constant(self) -> bool:
        """True if all cells are equal."""
        first = self.values[0]
        return first is not None and not self.values.null_count() and bool((self.values == first).all())

    @property
    def is_whole(self) -> bool:
        """True if it holds whole numbers alone, without a unit."""
        if self.kind != "number" or self.unit:
            return False
        known = self.known.to_numpy()
        parts = (known[begin : begin + _PART] for begin in range(0, len(known), _PART))
        return all(bool((np.isfinite(part) & (part == np.floor(part))).all()) for part in parts)


@dataclass(slots=True)
class Roles:
    """The columns by what they are for."""

    factors: list[Column] = field(default_factory=list[Column])
    values: list[Column] = field(default_factory=list[Column])
    repetition: Column | None = None
    order: Column | None = None
    time: Column | None = None
    clock: Column | None = None
    status: Column | None = None
    levels: list[Column] = field(default_factory=list[Column])
    constants: list[Column] = field(default_factory=list[Column])
    remarks: list[Column] = field(default_factory=list[Column])


def of_header(name: str) -> tuple[str, str]:
    """Split a header such as "rate (Mbit/s)" or "delay_ms" into the metric and its unit, which is empty if there is none."""
    if (found := _IN_BRACKETS.match(name)) is not None:
        return found[1], found[2].strip()
    if (found := _PER_SECOND.search(name)) is not None:
        return name, {"": "bit/s", "k": "kbit/s", "m": "Mbit/s", "g": "Gbit/s"}[found[1].lower()]
    if (found := _SUFFIX.match(name)) is not None and found[2] in NORMAL and found[2] not in _NO_SUFFIXES:
        return found[1], found[2]
    before, _, last = name.rpartition("_")
    if before and last in NORMAL and last not in _NO_SUFFIXES:
        return name, last
    return name, ""


def read_columns(found: Found, columns: Sequence[Column], lines: Sequence[int] | None = None) -> None:
    """Add the rows of a table.

    Raises
    ------
    AnalysisError
        No column holds values.
    """
    places = lines or range(1, len(columns[0].values) + 1)
    if (named := _named_metrics(columns)) is not None:
        _add_named(found, columns, named, places)
        return
    shape, roles = shape_of(columns)
    if not roles.values:
        raise AnalysisError(
            f"{found.content.path}: no column holds values of trials",
            hint="name the column with --value",
        )
    if shape == "summary":
        _add_summaries(found, columns, roles, places)
    elif _are_samples(roles):
        _add_series(found, roles, places)
    else:
        _add_rows(found, roles, places, wide=shape == "wide")
    _note_columns(found, roles, wide=shape == "wide")


def _named_metrics(columns: Sequence[Column]) -> tuple[Column, Column] | None:
    """Return the columns of names of metrics and of their values, where each row is one metric of a trial; None for other tables."""
    names = _called(columns, "text", _NAMES)
    values = _called(columns, "number", _VALUES)
    if _summary(columns) is not None or names is None or values is None or names.values.null_count():
        return None
    return None if names.values.n_unique() > _MOST_METRICS else (names, values)


def _called(columns: Sequence[Column], kind: Kind, names: Sequence[str]) -> Column | None:
    """Return the one column of a kind that has one of these names; None if there is none, or several."""
    found = [column for column in columns if column.kind == kind and column.name.strip().lower() in names]
    return found[0] if len(found) == 1 else None


def _add_named(
    found: Found, columns: Sequence[Column], named: tuple[Column, Column], places: Sequence[int]
) -> None:
    """Add the rows of each metric as a table of its own.

    Raises
    ------
    AnalysisError
        `trialwise import` wrote it, or a metric has several units.
    """
    if {each.name for each in columns} >= _IMPORTED:
        raise AnalysisError(
            f"{found.content.path}: a table that trialwise import wrote, which does not tell processes from their samples",
            hint="name the files themselves, or import them with -o DIR and name that directory",
        )
    metric, value = named
    units, directions = (_called(columns, "text", [name]) for name in ("unit", "better"))
    told = {column.name for column in (*named, units, directions) if column is not None}
    beside = [
        column
        for column in columns
        if column.name not in told and (column.kind != "number" or _is_place(column))
    ]
    roles, values = Roles(), list[Column]()
    for rows in sorted(_groups([metric], len(places)), key=lambda group: int(group[0])):
        roles = _roles([_rows_of(column, rows) for column in beside])
        name, unit = of_header(str(metric.values[int(rows[0])]))
        unit = _only(found, units, rows, name) or unit or value.unit
        better = _only(found, directions, rows, name)
        roles.values = [replace(_rows_of(value, rows), name=name, unit=unit, in_header=True)]
        direction = cast("Better", better) if better in {"higher", "lower"} else None
        _add_rows(found, roles, [places[int(row)] for row in rows], better=direction)
        values += roles.values
    roles.values = values
    _note_columns(found, roles, wide=False)


def _rows_of(column: Column, rows: Indices) -> Column:
    """Return some rows of a column."""
    new = {int(row): place for place, row in enumerate(rows)} if column.failed else {}
    failed = {new[row]: why for row, why in column.failed.items() if row in new}
    return replace(column, values=column.values.gather(rows), failed=failed)


def _only(found: Found, column: Column | None, rows: Indices, metric: str) -> str:
    """Return the text that a column has in all rows of a metric; empty if it has none."""
    texts = [] if column is None else column.values.gather(rows).unique(maintain_order=True).to_list()
    if column is not None and len(texts) > 1:
        raise AnalysisError(
            f"{found.content.path}: {metric} has several texts in the column {column.name}: {', '.join(map(_text, texts[:2]))}",
            hint="write the values of a metric in one unit, or give each unit its own metric",
        )
    return _text(texts[0]) if texts else ""


def _is_place(column: Column) -> bool:
    """Return True for numbers that say which trial a row is of, or of which treatment, rather than what was measured."""
    name = column.name.strip().lower()
    return name in _REPETITIONS or name in _ORDERS or _may_be_factor(column)


def shape_of(columns: Sequence[Column]) -> tuple[Shape, Roles]:
    """Return how a table is laid out, and what its columns are for."""
    roles = _roles(columns)
    if _summary(columns) is not None:
        return "summary", roles
    return ("wide" if _is_wide(roles) else "long"), roles


def _summary(columns: Sequence[Column]) -> tuple[Column, Column, Column] | None:
    """Return the columns of means, standard deviations and numbers of trials; None if there are none."""
    numeric = {column.name.lower(): column for column in columns if column.kind == "number"}
    found = [
        next((numeric[name] for name in names if name in numeric), None)
        for names in (_MEANS, _DEVIATIONS, _COUNTS)
    ]
    mean, deviation, count = found
    return None if mean is None or deviation is None or count is None else (mean, deviation, count)


def _roles(columns: Sequence[Column]) -> Roles:
    roles = Roles()
    numeric: list[Column] = []
    for column in columns:
        name = column.name.strip().lower()
        if column.known.is_empty() and not column.failed:
            continue
        if name in _LEVELS:
            roles.levels.append(column)
        elif column.kind == "time":
            roles.time = roles.time or column
        elif column.kind == "clock":
            roles.clock = roles.clock or column
        elif column.kind == "text" and name in _STATUS:
            roles.status = column
        elif column.kind == "text" and _names_trials(column, columns):
            roles.repetition = roles.repetition or column
        elif column.kind == "text":
            roles.factors.append(column)
        elif name in _ORDERS and column.is_whole:
            roles.order = column
        else:
            numeric.append(column)
    _sort_numbers(roles, numeric)
    _leave_out(roles)
    return roles


def _names_trials(column: Column, columns: Sequence[Column]) -> bool:
    """Return True for texts such as "run-07" below a name such as "run", which differ within each combination of the other texts."""
    if column.name.strip().lower() not in _REPETITIONS or column.failed or column.values.null_count():
        return False
    if not column.values.cast(pl.String).str.contains(r"[0-9]$").all():
        return False
    others = [each for each in columns if each.kind == "text" and each is not column and not each.is_constant]
    groups = _groups(others, len(column.values)) if others else []
    return bool(groups) and all(
        len(group) >= _SEVERAL and column.values.gather(group).n_unique() == len(group) for group in groups
    )


def _sort_numbers(roles: Roles, numeric: Sequence[Column]) -> None:
    """Tell repetitions and factors of whole numbers from values."""
    groups = cache(lambda: _groups(roles.factors, len(numeric[0].values)))
    left: list[Column] = []
    for column in numeric:
        if roles.repetition is None and column.is_whole and _numbers_trials(column, groups):
            roles.repetition = column
        else:
            left.append(column)
    may = [column for column in left if _may_be_factor(column) or _is_crossed(column, groups)]
    if len(may) < len(left):
        roles.factors += may
        left = [column for column in left if column not in may]
    roles.values = left


def _groups(factors: Sequence[Column], rows: int) -> list[Indices]:
    """Return the rows of each combination of levels."""
    of = distinct([column.values for column in factors], rows)
    ends = np.cumsum(np.bincount(of))[:-1]
    short = of.astype(np.min_scalar_type(len(ends)))  # of two bytes at most, it is sorted in linear time
    return np.split(np.argsort(short, kind="stable").astype(np.int32), ends)


def _numbers_trials(column: Column, groups: Callable[[], Sequence[Indices]]) -> bool:
    """Return True if a column has the name of a repetition, or numbers the trials of each treatment from 0 or 1 on."""
    if column.name.strip().lower() in _REPETITIONS:
        return True
    if _METRICS.search(column.name) or max(map(len, groups())) < 2:
        return False
    numbers = column.values.fill_null(0).to_numpy()
    return all(_counts_up(np.sort(numbers[group])) for group in groups())


def _counts_up(ordered: npt.NDArray[np.float64]) -> bool:
    """Return True for the whole numbers from 0 or 1 on."""
    return ordered[0] in (0, 1) and np.array_equal(ordered, np.arange(len(ordered)) + ordered[0])


def _may_be_factor(column: Column) -> bool:
    if not column.is_whole or column.failed or _METRICS.search(column.name):
        return False
    known = column.known
    levels = known.n_unique()
    return levels <= _FEW and 2 * levels <= len(known)


def _is_crossed(column: Column, groups: Callable[[], Sequence[Indices]]) -> bool:
    """Return True if each treatment has the same few whole numbers equally often, as in a factorial design."""
    if column.failed or column.values.null_count() or not column.is_whole:
        return False
    if not 2 <= column.values.n_unique() <= _FEW:
        return False
    levels, of = np.unique(column.values.to_numpy(), return_inverse=True)
    counts = [np.bincount(of[group], minlength=len(levels)) for group in groups()]
    return int(counts[0].min()) > 1 and all(np.array_equal(each, counts[0]) for each in counts)


def _leave_out(roles: Roles) -> None:
    """Take factors with one level, and values that are the same in each row, as constants, unless nothing were left."""
    constant = [column for column in roles.factors if column.is_constant]
    if 0 < len(constant) < len(roles.factors):
        roles.factors = [column for column in roles.factors if column not in constant]
        roles.constants += constant
    still = [
        column for column in roles.values if column.is_constant and not column.unit and not column.failed
    ]
    if 0 < len(still) < len(roles.values) and len(roles.values[0].values) > 1:
        roles.values = [column for column in roles.values if column not in still]
        roles.constants += still
    kept: list[Column] = []
    if len(roles.factors) > 1:
        roles.remarks = [column for column in roles.factors if _is_remark(column)]
        roles.factors = [column for column in roles.factors if column not in roles.remarks]
    for column in roles.factors:
        if any(_repeats(column, other) for other in kept):
            roles.constants.append(column)
        else:
            kept.append(column)
    roles.factors = kept


def _is_remark(column: Column) -> bool:
    """Return True for a text with the name of remarks, or that differs in every row that has one, as the name of a file does."""
    known = column.known
    return column.name.strip().lower() in _REMARKS or (
        len(column.values) > _MOST_REMARKS and known.n_unique() == len(known)
    )


def _why_no_factor(column: Column) -> str:
    known = column.known
    if known.n_unique() < len(known):
        return "holds remarks"
    return "differs in every row" + (" that has one" if len(known) < len(column.values) else "")


def _repeats(column: Column, other: Column) -> bool:
    """Return True if the levels of two factors belong together one to one."""
    both = pl.DataFrame([column.values.alias("a"), other.values.alias("b")])
    return both.n_unique() == both["a"].n_unique() == both["b"].n_unique()


def _is_wide(roles: Roles) -> bool:
    """Return True if columns of values are levels of one factor: no other factor, one unit, one magnitude, no names of metrics."""
    values = roles.values
    if (
        roles.factors
        or roles.clock is not None
        or len(values) < 2
        or len({column.unit for column in values}) > 1
    ):
        return False
    if any(_METRICS.search(column.name) for column in values):
        return False
    medians = [abs(float(np.median(known))) for known in (column.known for column in values) if len(known)]
    return len(medians) == len(values) and min(medians) > 0 and max(medians) <= _ALIKE * min(medians)


def _text(level: object) -> str:
    if isinstance(level, float) and level.is_integer():
        return str(int(level))
    return "" if level is None else str(level)


def _add_rows(
    found: Found, roles: Roles, places: Sequence[int], *, wide: bool = False, better: Better | None = None
) -> None:
    treatment, treatments = _combined(roles.factors, len(places))
    within, units = _combined(roles.levels, len(places), _level)
    numbers = numbered(places)
    for column in roles.values:
        found.add_block(
            "value" if wide else column.name,
            column.values,
            column.unit or UNKNOWN,
            treatments=[{"level": column.name}] if wide else treatments,
            treatment=treatment,
            numbers=numbers,
            process=("", f" {column.name}" if wide else ""),
            where=("line ", f", {column.name}"),
            as_written=column.in_header or not column.unit,
            reasons=_reasons(column, roles.status),
            orders=None if roles.order is None else roles.order.values,
            starts=None if roles.time is None else roles.time.values,
            units=units,
            within=within,
            better=better,
        )


def _combined(
    columns: Sequence[Column], rows: int, name: Callable[[str], str] = str
) -> tuple[Indices, list[dict[str, str]]]:
    """Return the different combinations of levels, and which of them each row has."""
    of = distinct([column.values for column in columns], rows)
    return of, [{name(column.name): _text(column.values[row]) for column in columns} for row in first_of(of)]


def _reasons(column: Column, status: Column | None) -> Mapping[int, str]:
    """Return why rows failed: what a column of states says, or else the cell itself."""
    if status is None:
        return column.failed
    states = status.values.cast(pl.String)
    failed = states.str.to_lowercase().is_in(list(FAILED)).fill_null(value=False)
    told = {row: states[row] for row in failed.arg_true()}
    return {**column.failed, **told}


def _are_samples(roles: Roles) -> bool:
    """Return True if rows with a clock are samples of a trial rather than trials: of one treatment, or very many."""
    if roles.clock is None or roles.repetition is not None:
        return False
    rows = len(roles.clock.values)
    return not roles.factors or max(map(len, _groups(roles.factors, rows))) > _MOST_TRIALS


def _add_series(found: Found, roles: Roles, places: Sequence[int]) -> None:
    """Add a trial for each treatment, whose value is the mean of its samples."""
    found.unit = "unknown: a row is a sample"
    clock = roles.clock.values if roles.clock else pl.Series(dtype=pl.Float64)
    for group in _groups(roles.factors, len(places)):
        first = int(group[0])
        treatment = {column.name: _text(column.values[first]) for column in roles.factors}
        for column in roles.values:
            rows = pl.DataFrame(
                [column.values.gather(group).alias("value"), clock.gather(group).alias("time")]
            )
            values, times = (each.to_list() for each in rows.drop_nulls().get_columns())
            found.add(
                treatment,
                column.name,
                fsum(values) / len(values) if values else None,
                column.unit or UNKNOWN,
                as_written=True,
                levels={"process": str(places[first])},
                samples=Inside("sample", values, times),
                where=f"line {places[first]}, {column.name}",
            )


def _level(name: str) -> str:
    return "host" if name.lower() == "hostname" else name.lower()


def _add_summaries(found: Found, columns: Sequence[Column], roles: Roles, places: Sequence[int]) -> None:
    mean, deviation, count = _summary(columns) or (roles.values[0],) * 3
    named = _called(columns, "text", _NAMES)
    factors = [column for column in roles.factors if column not in (named, mean, deviation, count)]
    for row, line in enumerate(places):
        number = count.values[row]
        found.add(
            {column.name: _text(column.values[row]) for column in factors},
            "value" if named is None else _text(named.values[row]),
            mean.values[row],
            mean.unit or UNKNOWN,
            as_written=True,
            status="aggregated",
            summary=Summary(
                n=None if number is None or not isfinite(number) else int(number),
                deviation=deviation.values[row],
            ),
            where=f"line {line}",
        )


def _note_columns(found: Found, roles: Roles, *, wide: bool) -> None:
    if wide:
        index = "row" if roles.repetition is None else f"row {roles.repetition.name}"
        found.unit = f"cell ({index}, column level)"
        names = ", ".join(column.name for column in roles.values)
        found.note("wide_guessed", what=f"levels of one factor: {names}")
    if unknown := [column.name for column in roles.values if not column.unit]:
        found.note("unit_unknown", what=listed(unknown))
    if united := [column.name for column in roles.values if column.unit and not column.in_header]:
        found.note("units_in_cells", what=listed(united))
    missing = sum(
        column.values.null_count() - sum(column.values[row] is None for row in column.failed)
        for column in roles.values
    )
    if missing > found.not_finite:
        found.note("missing_values", n=missing - found.not_finite)
    if not roles.factors and not wide:
        found.note("no_factors")
        if roles.repetition is None or roles.clock is not None:
            found.note(
                "unit_of_replication_unknown", what="is a row a trial, or are the rows samples of one?"
            )
    if roles.time is None and roles.order is None and roles.clock is None:
        found.note("order_unknown")
    for column in roles.remarks:
        found.remark(f"{column.name} {_why_no_factor(column)}, and is taken for no factor")
    for column in roles.constants:
        told = "" if (known := column.known).is_empty() else _text(known[0])
        found.facts[column.name] = told[:_MOST_CONSTANT]
