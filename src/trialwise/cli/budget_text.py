"""What fits into a budget, and what would, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from trialwise.cli.text import columns
from trialwise.design.budget import Budget, Fit
from trialwise.experiment.quantity import duration_text
from trialwise.report.numbers import counted
from trialwise.report.terminal_table import Line


def budget_lines(budget: Budget) -> Iterator[Line]:
    """Whether the experiment fits, how much of it does, and what would make the rest fit."""
    if budget.fits:
        yield f"  fits: {duration_text(budget.needed_seconds)} are needed"
        yield f"  {counted(budget.rounds, 'round')} in each of {amount(budget.series, 'series')} would fit"
        return
    yield f"  does not fit: {duration_text(budget.needed_seconds)} are needed"
    span = "" if budget.span is None else f", each in a span of {duration_text(budget.span)}"
    yield (
        f"  {amount(budget.series, 'series')} of {counted(budget.rounds, 'round')} fit{span}"
        if budget.rounds
        else f"  not one round fits into each of {amount(budget.series, 'series')}"
    )
    rows = [[fit.metric, _need(fit), _verdict(fit)] for fit in (*budget.kpis, *budget.scores)]
    yield columns(rows, has_heading=False)
    if budget.changes:
        yield "  To stay within it, one of:"
    changes = [
        [
            f"{amount(change.series, 'series')} × {counted(change.rounds, 'round')}",
            duration_text(change.seconds),
            change.what,
        ]
        for change in budget.changes
    ]
    yield columns(changes, indent=4, has_heading=False)


def _need(fit: Fit) -> str:
    return f"{fit.text}: {amount(fit.amount, fit.unit)}"


def _verdict(fit: Fit) -> str:
    if fit.fits:
        return "fits"
    nearest = [
        *([f"{fit.largest_confidence:g} % confidence"] if fit.largest_confidence is not None else []),
        *(
            [f"p{fit.most_extreme_percentile:g} at {fit.objective.confidence:g} %"]
            if fit.most_extreme_percentile is not None
            else []
        ),
    ]
    return f"does not fit; at most {' or '.join(nearest)}" if nearest else "does not fit"


def amount(number: int, unit: Literal["rounds", "series"]) -> str:
    """A number of rounds or series, such as "1 round" or "2 series"."""
    return counted(number, "round") if unit == "rounds" else counted(number, "series", "series")
