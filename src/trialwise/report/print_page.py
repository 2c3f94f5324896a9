"""What the printed figures of one metric share: names, colours, the unit that is shown, axes."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trialwise.analysis.results import Analysis, MetricAnalysis
from trialwise.report import points
from trialwise.report.figures.looks import looks
from trialwise.report.figures.palette import MOST
from trialwise.report.points import Row
from trialwise.report.print_style import GREY, WIDTH
from trialwise.report.tables import metric_scale


class Page:
    """What the printed figures of one metric share: names, colours, axes."""

    def __init__(self, analysis: Analysis, found: MetricAnalysis) -> None:
        self.analysis = analysis
        self.found = found
        self.labels = points.labels(analysis)
        there, known = points.treatments(analysis, found), looks(analysis)
        self.names = [self.labels[name] for name in there]
        self.looks = {self.labels[name]: known[name] for name in there}
        self.scale = metric_scale(found)
        self.title = found.metric.name + self.scale.heading
        self.rows_height = 0.55 + 0.16 * max(len(self.names), 3)

    def rows(self, rows: Sequence[Row]) -> list[Row]:
        """The rows of treatments that have trials, called as in figures, in the unit that is shown."""
        known = [row for row in rows if row["treatment"] in self.labels]
        return points.in_unit(points.labelled(known, self.labels), self.scale)

    def drawn(self, draw: Callable[[Axes, Page], None], height: float) -> Figure:
        """A figure one column wide with one pair of axes."""
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        draw(figure.add_subplot(), self)
        return figure

    def style(self, name: str) -> dict[str, Any]:
        """Colour, dashes and marker of a treatment; beyond six, treatments are grey."""
        if len(self.names) > MOST:
            return {"color": GREY, "marker": "."}
        return {"color": self.looks[name].colour, "marker": self.looks[name].marker}


def rows_of(rows: Sequence[Row], **wanted: str) -> list[Row]:
    """The rows whose fields are what is wanted."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def column(rows: Sequence[Row], name: str) -> list[float]:
    """One field of all rows, NaN where there is none."""
    return [float("nan") if row[name] is None else float(row[name] or 0) for row in rows]


def legend(axes: Axes, page: Page) -> None:
    """Treatments above the figure, where there are some to tell apart."""
    if 1 < len(page.names) <= MOST:
        axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)
