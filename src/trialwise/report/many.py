"""Documents of so many metrics that each is given a line instead of a table."""

from __future__ import annotations

from collections.abc import Sequence

from trialwise.numbers import first_of

MANY_METRICS = 12
"""More metrics than this share one table, of which the first rows are shown."""
MOST_ROWS = 30
"""Rows of such a table that are shown unless all are requested."""


def first_names(names: Sequence[str]) -> str:
    """List names, of many only the first; the others are counted."""
    return first_of(names, MANY_METRICS)
