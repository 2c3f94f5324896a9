"""The type of a cell: a number, a time, or nothing."""

from __future__ import annotations

import re

MISSING = ("", "na", "n/a", "#n/a", "nan", "<na>", "nat", "null", "none", "-")
"""Words for a missing value, in lower case."""
_NUMBER = re.compile(r"[+-]?(?:\d[\d  ,.'’]*|[.,]\d+)(?:[eE][+-]?\d+)?")


def is_number(text: str) -> bool:
    """Return True if a cell is a number in any style of decimals and thousands separators."""
    return _NUMBER.fullmatch(text.strip()) is not None


def is_data(text: str) -> bool:
    """Return True if a cell can only be data, not a name: a number, or a time."""
    from trialwise.readers.tables.moments import looks_dated

    return is_number(text) or looks_dated(text)
