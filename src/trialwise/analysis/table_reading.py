"""Reading tables that others wrote: CSV in its dialects, Parquet; numbers and times in them, and what is wrong with them."""

from __future__ import annotations

import difflib
import gzip
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from trialwise.errors import AnalysisError

_MISSING = ("", "na", "n/a", "nan", "null", "none", "-")
_HEAD = 65536
_DATE = r"^\d{1,4}[-/.]\d{1,2}[-/.]\d|^\d{8}T"
LINE = "\0line"
"""The column that `read_table` adds: the line of each row in a file without line breaks inside quotes."""


def read_table(path: Path, wanted: Sequence[str]) -> pl.DataFrame:
    """Read the wanted columns of a CSV file (as text) or of a Parquet file.

    Raises
    ------
    AnalysisError
        The file cannot be read, is empty or binary, or lacks a column.
    """
    table = whole_table(path)
    check_columns(path, table.columns[1:], wanted)
    return table[[LINE, *dict.fromkeys(wanted)]]


def whole_table(path: Path) -> pl.DataFrame:
    """Read all columns of a CSV file (as text) or of a Parquet file.

    Raises
    ------
    AnalysisError
        The file cannot be read, is empty or binary, or has no row.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be read: {error.strerror}") from error
    if not head:
        raise AnalysisError(f"{path}: the file is empty")
    try:
        table = pl.read_parquet(path) if head.startswith(b"PAR1") else _read_csv(path, head)
    except (pl.exceptions.PolarsError, OSError, EOFError) as error:
        reason = str(error).splitlines()[0]
        raise AnalysisError(
            f"{path}: cannot be read: {reason}", hint="a CSV or Parquet file is wanted"
        ) from error
    if table.is_empty():
        raise AnalysisError(f"{path}: there is a header, but no row")
    return table.with_row_index(LINE, offset=2)


def _read_csv(path: Path, head: bytes) -> pl.DataFrame:
    if head.startswith(b"\x1f\x8b"):
        with gzip.open(path) as file:
            head = file.read(_HEAD)
    if b"\0" in head:
        raise AnalysisError(f"{path}: is a binary file", hint="a CSV or Parquet file is wanted")
    header = head.splitlines()[0]
    separator = max((b",", b";", b"\t"), key=header.count).decode()
    return pl.read_csv(path, separator=separator, infer_schema=False)


def check_columns(path: Path, columns: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse names that are no column, with the nearest that is one.

    Raises
    ------
    AnalysisError
        A column is not there.
    """
    for name in wanted:
        if name not in columns:
            near = difflib.get_close_matches(name, columns, 1, cutoff=0.4)
            there = ", ".join(columns[:12]) + (" …" if len(columns) > 12 else "")
            raise AnalysisError(
                f"{path}: no column {name!r}",
                hint=f"{near[0]!r} is there; all columns: {there}" if near else f"columns: {there}",
            )


def numbers(path: Path, table: pl.DataFrame, name: str) -> pl.Series:
    """A column as finite numbers, null where a value is missing (empty, NA, NaN, null, none, -).

    Raises
    ------
    AnalysisError
        A value is a text or infinite; the line is named (of a file without line breaks inside quotes).
    """
    column = table[name]
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        parsed = column.cast(pl.Float64).fill_nan(None)
        wrong = parsed.is_infinite().fill_null(value=False)
    else:
        text = column.cast(pl.String).str.strip_chars()
        missing = text.is_null() | text.str.to_lowercase().is_in(_MISSING)
        parsed = text.cast(pl.Float64, strict=False).fill_nan(None)
        wrong = ~missing & (parsed.is_null() | parsed.is_infinite().fill_null(value=False))
    if wrong.any():
        place = int(wrong.arg_max() or 0)
        raise _not_a_number(path, name, str(column[place]), table[LINE][place], int(wrong.sum()))
    return parsed


def missing_text(text: pl.Expr) -> pl.Expr:
    """Whether a text says that a value is missing: empty, NA, NaN, null, none, -."""
    return text.is_null() | text.str.to_lowercase().is_in(_MISSING)


def _not_a_number(path: Path, name: str, value: str, line: int, count: int) -> AnalysisError:
    others = f" (and {count - 1} more like it)" if count > 1 else ""
    comma = "," in value and value.replace(",", "", 1).lstrip("+-").isdigit()
    return AnalysisError(
        f"{path}: line {line}: {value[:40]!r} in column {name!r} is not a finite number{others}",
        hint="write a decimal point, not a comma" if comma else "name the column of numbers with --value",
    )


def seconds_of(path: Path, table: pl.DataFrame, name: str) -> pl.Series:
    """A column of times in seconds: numbers as they are, dates and times (ISO 8601, UTC unless said) since 1970.

    Raises
    ------
    AnalysisError
        A value is neither.
    """
    column = table[name]
    if column.dtype.is_temporal():
        return _since_1970(column)
    if not is_dated(column):
        values = numbers(path, table, name)
        _check_present(path, table, name, values.is_null())
        return values
    text = column.str.strip_chars()
    _check_present(path, table, name, text.is_null() | text.str.to_lowercase().is_in(_MISSING))
    try:
        # An order of day and month would have to be guessed: only years that come first are read.
        parsed = text.str.to_datetime(time_unit="us", time_zone="UTC") if _year_first(text) else None
    except pl.exceptions.PolarsError:
        parsed = None
    return _one_by_one(path, table, name) if parsed is None else _since_1970(parsed)


def is_dated(column: pl.Series) -> bool:
    """Whether a column holds dates and times: it is of such a type, or text that begins as they do."""
    if column.dtype != pl.String:
        return column.dtype.is_temporal()
    text = column.str.strip_chars()
    known = text.filter(~text.str.to_lowercase().is_in(_MISSING) & text.is_not_null())
    return bool(known.len()) and bool(known.str.contains(_DATE).any())


def _year_first(text: pl.Series) -> bool:
    return bool(text.str.contains(r"^\d{4}-").all())


def _since_1970(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Duration:
        return column.dt.total_microseconds().cast(pl.Float64) / 1e6
    return column.cast(pl.Datetime("us")).cast(pl.Int64).cast(pl.Float64) / 1e6


def _check_present(path: Path, table: pl.DataFrame, name: str, missing: pl.Series) -> None:
    if missing.any():
        place = int(missing.arg_max() or 0)
        raise AnalysisError(f"{path}: line {table[LINE][place]}: there is no time in column {name!r}")


def _one_by_one(path: Path, table: pl.DataFrame, name: str) -> pl.Series:
    """Moments of several forms in one column."""
    found: list[float] = []
    for line, text in zip(table[LINE], table[name], strict=True):
        try:
            moment = datetime.fromisoformat(str(text).strip())
        except ValueError as error:
            raise AnalysisError(
                f"{path}: line {line}: {str(text)[:40]!r} in column {name!r} is no time",
                hint="write ISO 8601, as 2026-11-21T12:00:00Z, or seconds as numbers",
            ) from error
        found.append((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    return pl.Series(name, found, dtype=pl.Float64)


def sortable(column: pl.Series) -> pl.Series:
    """A column as what it sorts by: numbers where all are numbers, else texts (ISO dates sort as texts)."""
    if column.dtype != pl.String:
        return column
    parsed = column.cast(pl.Float64, strict=False)
    return column if parsed.null_count() else parsed
