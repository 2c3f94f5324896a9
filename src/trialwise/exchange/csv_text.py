"""Write tables of results as CSV (RFC 4180); the only place that does so, safe for spreadsheets and terminals."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from trialwise.late import pl
from trialwise.visible import visible

_FORMULA = ("=", "+", "-", "@")
_ESCAPED = r"^[=+@-]|[^ -~]"
"""What a text has that may not be written as it is."""
_PART = 1 << 14
"""Rows that are written together."""


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a header and rows; a missing value is an empty cell.

    A text that a spreadsheet would take for a formula gets a leading apostrophe, and control characters are escaped;
    numbers stay as they are.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_cell, header))
    writer.writerows(map(_cell, row) for row in rows)
    return text.getvalue()


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write a table as `csv_text` does, a part at a time; cells without anything to escape are written as they are."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(map(_cell, table.columns))
        for part in table.iter_slices(_PART):
            writer.writerows(zip(*map(_cells, part), strict=True))


def _cells(column: pl.Series) -> list[object]:
    """Return the cells of a column as they are written; the writer makes a missing one empty."""
    is_plain = column.dtype != pl.String or not column.str.contains(_ESCAPED).any()
    return column.to_list() if is_plain else list(map(_cell, column))


def _cell(value: object) -> object:
    if value is None:
        return ""
    if not isinstance(value, str):
        return value
    shown = visible(value)
    is_formula = shown.startswith(_FORMULA) and len(shown) > 1 and not _is_number(shown)
    return f"'{shown}" if is_formula else shown


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
