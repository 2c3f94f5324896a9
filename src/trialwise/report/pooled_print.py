"""Printed figures of a pooled metric: its estimate as trials come in, and the distribution of all samples."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

from collections.abc import Iterator

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trialwise.report.figures.palette import MOST
from trialwise.report.points import pooled_rows, pooled_step_rows
from trialwise.report.print_page import Page, column, legend, rows_of
from trialwise.report.print_style import log_scale


def pooled_drawings(page: Page) -> Iterator[tuple[str, Figure]]:
    """The figures by name; none where there are too few trials."""
    if pooled_rows(page.analysis, page.found):
        yield "course", page.drawn(_course, 2.2)
        yield "distribution", page.drawn(_distribution, 2.2)


def _course(axes: Axes, page: Page) -> None:
    rows = page.rows(pooled_rows(page.analysis, page.found))
    for name in page.names:
        own, style = rows_of(rows, treatment=name), page.style(name)
        trials = column(own, "trials")
        axes.plot(trials, column(own, "estimate"), label=name, linewidth=0.7, **style)
        if len(page.names) <= MOST:
            axes.fill_between(
                trials, column(own, "low"), column(own, "high"), color=style["color"], alpha=0.12, linewidth=0
            )
    axes.set_xlabel("trials of the treatment")
    axes.set_ylabel(page.title)
    legend(axes, page)


def _distribution(axes: Axes, page: Page) -> None:
    rows = page.rows(pooled_step_rows(page.analysis, page.found))
    for name in page.names:
        own, colour = rows_of(rows, treatment=name), page.style(name)["color"]
        dash = page.looks[name].dash
        dashes = (0, dash) if len(page.names) <= MOST and dash[1] else "-"
        values, shares = column(own, "value"), column(own, "share")
        axes.step(values, shares, where="post", label=name, color=colour, linestyle=dashes)
    if min(column(rows, "value")) > 0:
        log_scale(axes, "x")
    axes.set_ylim(0, 1)
    axes.set_xlabel(page.title)
    axes.set_ylabel("share of samples")
    legend(axes, page)
