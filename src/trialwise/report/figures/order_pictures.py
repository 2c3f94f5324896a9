"""The figures of order, free of any way to draw them: what each shows, its rows and its words. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trialwise.analysis.order.summary import OrderSummary
from trialwise.report.figures.order_carryover import MOST_GROUPS, carry_over_groups, carryover_pictures
from trialwise.report.figures.order_comparison import MOST_METRICS, compared_metrics, comparison_pictures
from trialwise.report.figures.order_picture import Picture, group_text
from trialwise.report.figures.order_time import time_pictures


def pictures(view: OrderSummary, labels: Mapping[str, str]) -> list[Picture]:
    """Every figure there is something for; `labels` are what figures call treatments, else their names."""
    return [
        *comparison_pictures(view, labels),
        *carryover_pictures(view, labels),
        *time_pictures(view, labels),
    ]


def left_out(view: OrderSummary) -> Iterator[str]:
    """What is not drawn, and where it stands instead."""
    metrics = compared_metrics(view)
    if len(metrics) > MOST_METRICS:
        yield (
            f"figures of fixed against random order show {MOST_METRICS} of {len(metrics)} metrics; "
            "the table has all"
        )
    if len(view.courses) > MOST_GROUPS:
        yield f"carry-over and trials over time are drawn for {MOST_GROUPS} of {len(view.courses)} groups"
    for group in carry_over_groups(view)[:MOST_GROUPS]:
        if group.tested and group.matrix is None:
            drawn = (
                "the pairs that stand out are drawn" if group.pairs else "there is no pair that stands out"
            )
            yield f"{group_text(group)}: a matrix of so many treatments cannot be read; {drawn}"
