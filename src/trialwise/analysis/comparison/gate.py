"""The decision whether a comparison lets a change pass: better or equivalent everywhere, worse somewhere, or undecided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trialwise.analysis.comparison.results import Comparison, ComparisonRow

Outcome = Literal["passed", "failed", "undecided"]


@dataclass(frozen=True, slots=True)
class Gate:
    """The outcome of a comparison for a gate.

    `failing` are rows that are different for the worse, or different in a metric without a preferred direction; `open` are rows
    without a verdict. Both hold row indices, from 0.
    """

    outcome: Outcome
    failing: tuple[int, ...]
    open: tuple[int, ...]


def gate_of(found: Comparison) -> Gate:
    """Judge all rows together: one failing row outweighs open ones."""
    failing = tuple(place for place, row in enumerate(found.rows) if fails(row))
    undecided = tuple(
        place for place, row in enumerate(found.rows) if row.verdict in ("undecided", "no inference")
    )
    outcome: Outcome = "failed" if failing else "undecided" if undecided else "passed"
    return Gate(outcome, failing, undecided)


def fails(row: ComparisonRow) -> bool:
    """Return True if the row alone blocks the change."""
    return row.verdict == "different" and row.direction != "better"
