"""The sentence about the gate of a comparison."""

from __future__ import annotations

from trialwise.analysis.comparison.gate import Gate
from trialwise.analysis.comparison.results import Comparison, ComparisonRow
from trialwise.numbers import first_of


def sentence(found: Comparison, gate: Gate) -> str:
    """Return the outcome and the rows that decide it, without a full stop."""
    if gate.outcome == "failed":
        return (
            f"failed: {_names(found, gate.failing)} {'is' if len(gate.failing) == 1 else 'are'} different for the worse"
            + (
                " or in a metric that does not say which way is better"
                if any(found.rows[place].direction is None for place in gate.failing)
                else ""
            )
        )
    if gate.outcome == "undecided":
        bare = all(row.difference is None or row.difference.margin is None for row in found.rows)
        why = "; without a margin nothing can be equivalent" if bare else ""
        return f"undecided: {_names(found, gate.open)}{why}"
    return "passed: every row is equivalent or better"


def _names(found: Comparison, places: tuple[int, ...]) -> str:
    names = [f"{found.rows[place].metric.name} of {_whose(found, found.rows[place])}" for place in places]
    return first_of(names, 3)


def _whose(found: Comparison, row: ComparisonRow) -> str:
    """Return the treatment of a row, or both sides if it covers everything that they ran."""
    return f"{found.b} against {found.a}" if row.treatment == "-" else row.treatment
