"""Write tables of results as CSV (RFC 4180); the only place that does so, safe for spreadsheets and terminals."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from trialwise.visible import visible

_FORMULA = ("=", "+", "-", "@")


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
