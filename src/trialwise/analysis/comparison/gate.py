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
    sentence: str


def gate_of(found: Comparison) -> Gate:
    """Judge all rows together: one failing row outweighs open ones."""
    failing = tuple(place for place, row in enumerate(found.rows) if fails(row))
    undecided = tuple(
        place for place, row in enumerate(found.rows) if row.verdict in ("undecided", "no inference")
    )
    outcome: Outcome = "failed" if failing else "undecided" if undecided else "passed"
    return Gate(outcome, failing, undecided, _sentence(found, outcome, failing, undecided))


def fails(row: ComparisonRow) -> bool:
    """Return True if the row alone blocks the change."""
    return row.verdict == "different" and row.direction != "better"


def _sentence(
    found: Comparison, outcome: Outcome, failing: tuple[int, ...], undecided: tuple[int, ...]
) -> str:
    if outcome == "failed":
        return (
            f"failed: {_names(found, failing)} {'is' if len(failing) == 1 else 'are'} different for the worse"
            + (
                " or in a metric that does not say which way is better"
                if any(found.rows[place].direction is None for place in failing)
                else ""
            )
        )
    if outcome == "undecided":
        bare = all(row.difference is None or row.difference.margin is None for row in found.rows)
        why = "; without a margin nothing can be equivalent" if bare else ""
        return f"undecided: {_names(found, undecided)}{why}"
    return "passed: every row is equivalent or better"


def _names(found: Comparison, places: tuple[int, ...]) -> str:
    names = [f"{found.rows[place].metric.name} of {_whose(found, found.rows[place])}" for place in places[:3]]
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return ", ".join(names) + more


def _whose(found: Comparison, row: ComparisonRow) -> str:
    """Return the treatment of a row, or both sides if it covers everything that they ran."""
    return f"{found.b} against {found.a}" if row.treatment == "-" else row.treatment
