"""Columns of a large plain table as what their cells are, in a quarter of the memory of their texts and a tenth of the time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trialwise.foreign_files import MEBIBYTE
from trialwise.late import pl
from trialwise.readers.tables.moments import is_dated
from trialwise.readers.tables.numbers import clear_comma, parsed

LEAST = MEBIBYTE
"""Bytes of a table that is large."""
_SEVERAL = 8
"""How often texts of a column are repeated at least, to be numbered."""
_NUMBER, _FEW = pl.Float64(), pl.Categorical()
Schema = Mapping[str, pl.DataType]


def typed(head: pl.DataFrame, read: Callable[[Schema], pl.DataFrame]) -> pl.DataFrame | None:
    """Read a table by the types that its first rows have, as doubles, names that are numbered, and texts.

    None where that might give other cells than their texts do: a cell is of another type, beyond doubles, or may have a decimal comma.

    Parameters
    ----------
    head
        The first rows, as texts.
    read
        Reads all rows by a schema; it raises an error of polars where a cell is of another type.
    """
    if any(map(clear_comma, head)):
        return None
    schema = {column.name: _type(column) for column in head}
    try:
        found = read(schema)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    finite = all(_is_finite(column) for column in found if column.dtype == _NUMBER)
    if not finite:
        return None
    others = [column.name for column in found if column.dtype == _FEW and not _are_names(column)]
    return found.with_columns(pl.col(others).cast(pl.String)) if others else found


def _is_finite(column: pl.Series) -> bool:
    bounds: list[Any] = [column.min(), column.max()]
    return all(bound is None or abs(bound) != float("inf") for bound in bounds)


def _type(column: pl.Series) -> pl.DataType:
    """Return the type of a column by its first cells."""
    known = column.drop_nulls()
    if known.is_empty():
        return pl.String()
    if not known.cast(_NUMBER, strict=False).null_count():
        return _NUMBER
    return _FEW if known.n_unique() * _SEVERAL <= len(known) else pl.String()


def _are_names(column: pl.Series) -> bool:
    """Return True if no text is a number, with or without a unit, a time, a word for a missing value, or has blanks around."""
    different = column.unique().cast(pl.String)
    if different.null_count() or (different != different.str.strip_chars()).any():
        return False
    if is_dated(different):
        return False
    found = parsed(different)
    is_number = found.open is not None or bool(found.units) or found.values.null_count() < len(different)
    return not is_number and not found.missing.any()
