"""Data of figures, packed to keep the file small: by column, each distinct text once."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from trialwise.report.plot_rows import Row, Value

Column = dict[str, list[Value] | list[str] | list[int]]
ColumnData = dict[str, Column]


def packed(rows: Sequence[Row]) -> ColumnData:
    """Pack rows as columns: `{"v": values}`, or `{"t": texts, "i": indices into them}`.

    Numbers keep seven digits, enough for pixels.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _column([row.get(name) for row in rows]) for name in names}


def _column(values: list[Value]) -> Column:
    texts = list(dict.fromkeys(value for value in values if isinstance(value, str)))
    if not texts:
        return {"v": [_short(value) for value in values]}
    places = {text: place for place, text in enumerate(texts)}
    return {"t": texts, "i": [places[value] if isinstance(value, str) else -1 for value in values]}


def _short(value: Value) -> Value:
    if not isinstance(value, float):
        return value
    # JSON has no NaN, and NaN is not drawn anyway.
    return float(f"{value:.7g}") if isfinite(value) else None


def unpacked(sheet: ColumnData) -> list[Row]:
    """Unpack the rows of a sheet."""
    columns = [_values(column) for column in sheet.values()]
    return [dict(zip(sheet, row, strict=True)) for row in zip(*columns, strict=True)]


def _values(column: Column) -> list[Value]:
    if "v" in column:
        return list(column["v"])
    texts = column["t"]
    return [texts[place] if isinstance(place, int) and place >= 0 else None for place in column["i"]]
