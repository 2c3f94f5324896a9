"""Figures of order: fixed against random order, predecessors, time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trialwise.analysis.order.summary import OrderSummary
from trialwise.report.document import Figures
from trialwise.report.figures.order_carryover import carry_over_groups, carryover_figures
from trialwise.report.figures.order_comparison import compared_metrics, comparison_figures
from trialwise.report.figures.order_parts import MAX_GROUPS, MAX_METRICS, group_text
from trialwise.report.figures.order_time import time_figures
from trialwise.report.figures.plot_data import ColumnData


def order_figures(
    view: OrderSummary, labels: Mapping[str, str], sheets: dict[str, ColumnData]
) -> Iterator[Figures]:
    """Yield every figure that has something to show, in groups; `labels` are the treatments' labels, else their names."""
    groups = (
        ("Fixed against random order", comparison_figures),
        ("Which predecessor does it", carryover_figures),
        ("Position and time", time_figures),
    )
    for title, draw in groups:
        if figures := tuple(draw(view, labels, sheets)):
            yield Figures(title, figures)


def left_out(view: OrderSummary) -> Iterator[str]:
    """Yield notes on what is not drawn, and where to find it instead."""
    metrics = compared_metrics(view)
    if len(metrics) > MAX_METRICS:
        yield (
            f"figures of fixed against random order show {MAX_METRICS} of {len(metrics)} metrics; "
            "the table has all"
        )
    if len(view.courses) > MAX_GROUPS:
        yield f"carry-over and trials over time are drawn for {MAX_GROUPS} of {len(view.courses)} groups"
    for group in carry_over_groups(view)[:MAX_GROUPS]:
        if group.tested and group.matrix is None:
            drawn = (
                "the pairs that stand out are drawn" if group.pairs else "there is no pair that stands out"
            )
            yield f"{group_text(group)}: a matrix of so many treatments cannot be read; {drawn}"
