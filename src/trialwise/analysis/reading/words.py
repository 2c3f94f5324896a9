"""What a cell holds: a number, a moment, or nothing."""

from __future__ import annotations

import re

MISSING = ("", "na", "n/a", "#n/a", "nan", "<na>", "nat", "null", "none", "-")
"""What stands for a missing value, in lower case."""
_NUMBER = re.compile(r"[+-]?(?:\d[\d  ,.'’]*|[.,]\d+)(?:[eE][+-]?\d+)?")


def is_number(text: str) -> bool:
    """Whether a cell holds a number in any spelling of decimals and thousands."""
    return _NUMBER.fullmatch(text.strip()) is not None


def is_data(text: str) -> bool:
    """Whether a cell can only be data and no name: a number, or a moment."""
    from trialwise.analysis.reading.moments import looks_dated

    return is_number(text) or looks_dated(text)
