"""Figures of a history, and its page, which opens from disk without a network."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import altair as alt

from trialwise.analysis.history import History, Series
from trialwise.report.document import Document, Figure, Figures
from trialwise.report.documents import history as histories
from trialwise.report.figures import encodings
from trialwise.report.figures.figure_context import charted
from trialwise.report.figures.palette import COLOURS
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.html import page
from trialwise.report.numbers import counted
from trialwise.report.plot_rows import Row

MOST_FIGURES = 24
"""Figures of a page: those of series that changed come first."""
_MOST_POINTS = 2000
"""Points of a figure; of a longer series, evenly spaced ones."""
_HEIGHT = 180


def history_page(found: History) -> str:
    """Return the page of a history: the terminal's text, and a figure for each series, the changed ones first."""
    sheets: dict[str, ColumnData] = {}
    return page(
        _document(found, sheets),
        sheets,
        title="History",
        heading="What changed, and when?",
        lead=[f"{counted(len(found.series), 'series', 'series')}, {found.order}"],
        numbers="The numbers are those of `trialwise history --json`; each carries its place in that document (attribute data-path).",
    )


def _document(found: History, sheets: dict[str, ColumnData]) -> Document:
    ranked = sorted(range(len(found.series)), key=lambda place: not found.series[place].changes)
    figures = tuple(_figure(found, place, sheets) for place in ranked[:MOST_FIGURES])
    return histories.document(found, (Figures("Courses", figures),))


def _figure(found: History, place: int, sheets: dict[str, ColumnData]) -> Figure:
    series = found.series[place]
    size = histories.scale_of(series)
    chart = charted(list(_points(series, size.factor)), sheets)
    values = [point.value * size.factor for point in series.points]
    axis = encodings.count_axis([0, len(series.points) - 1])
    x = alt.X("point:Q", title=f"{found.by}s in order", axis=axis, scale=alt.Scale(nice=False, padding=8))
    title = f"value{size.heading}"
    tips = [*encodings.name_tips("at"), encodings.tip("value", title), *encodings.name_tips("n")]
    y = alt.Y("value:Q", title=title, scale=encodings.span(values))
    marks = chart.mark_point(filled=True, size=22, opacity=0.7, color=COLOURS[0])
    layers = [marks.encode(x=x, y=y, tooltip=tips).add_params(encodings.zoom("x", "y"))]
    levels = charted(list(_levels(series, size.factor)), sheets).mark_rule(strokeWidth=2.5, color=COLOURS[1])
    layers.append(levels.encode(x="point:Q", x2="end:Q", y="value:Q"))
    name = histories.title_of(series, found)
    shared = " Evenly spaced points are shown." if len(series.points) > _MOST_POINTS else ""
    changes = f"{counted(len(series.changes), 'change')} of level; lines are the medians between changes"
    what = changes if series.changes else "no change of level"
    return Figure(
        f"history-{place}",
        name,
        f"Each mark is a {found.by}: {what}.{shared}",
        f"{name} over {found.by}s: {what}.",
        encodings.finished(alt.layer(*layers), _HEIGHT),
        whole=True,
    )


def _points(series: Series, factor: float) -> Iterator[Row]:
    step = -(-len(series.points) // _MOST_POINTS)
    for place in range(0, len(series.points), step):
        point = series.points[place]
        yield {"point": place, "at": point.at, "value": point.value * factor, "n": point.n}


def _levels(series: Series, factor: float) -> Iterator[Row]:
    """Yield the level between neighbouring changes; the series has one of its own before the first."""
    changes = series.changes
    edges = [0, *(change.point for change in changes), len(series.points)]
    heights = [changes[0].before, *(change.after for change in changes)] if changes else []
    for height, (begin, end) in zip(heights, pairwise(edges), strict=False):
        yield {"point": begin - 0.5, "end": end - 0.5, "value": height * factor}
