"""Rows of a text that are none: lines without a cell, and the header again where files were put together with `cat`."""

from __future__ import annotations

from trialwise.late import pl
from trialwise.numbers import counted


def without_strays(frame: pl.DataFrame, line: str) -> tuple[pl.DataFrame, str]:
    """Leave out rows without any cell and rows that repeat the names of the columns; say it of the latter, in one sentence.

    The column `line` has the lines of the rows. A row of a single column may be a missing value.
    """
    names = [name for name in frame.columns if name != line]
    if len(names) < 2 or frame.is_empty():
        return frame, ""
    first = frame[names[0]]
    is_text = first.dtype == pl.String
    if first.null_count() or (is_text and (first == "").any()):
        frame = frame.filter(~pl.all_horizontal(_is_empty(frame[name]) for name in names))
        first = frame[names[0]]
    if not is_text or not (first == names[0]).any():
        return frame, ""
    again = pl.all_horizontal(pl.col(name).cast(pl.String) == pl.lit(name) for name in names)
    repeated = frame.filter(again)
    if repeated.is_empty():
        return frame, ""
    more = repeated.height - 1
    others = f" and {counted(more, 'later line')}" if more else ""
    says = "repeat" if more else "repeats"
    told = f"line {repeated[line][0]}{others} {says} the header, and {'are' if more else 'is'} left out"
    return frame.filter(~again.fill_null(value=False)), told


def _is_empty(column: pl.Series) -> pl.Expr:
    own = pl.col(column.name)
    return own.is_null() | (own == "") if column.dtype == pl.String else own.is_null()
