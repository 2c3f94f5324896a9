"""Interactive figures of the KPIs of a metric, and of how far they move from series to series."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from trialwise.experiment.model import Kpi
from trialwise.report import plot_rows
from trialwise.report.claims import objective_text
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.encodings import Chart
from trialwise.report.figures.figure_context import FigureContext
from trialwise.report.figures.palette import COLOURS
from trialwise.report.figures.trial_marks import drawn_words, trial_rows
from trialwise.report.plot_rows import Row

_ROW = 26
_TALLEST = 2400


def kpi_figure(context: FigureContext, objective: Kpi, place: int) -> Figure | None:
    """Plot the KPI by treatment and series, with intervals and trials; None if there is none. `place` is the objective's index."""
    rows = plot_rows.kpi_rows(context.found, objective)
    if not rows:
        return None
    found, lower = context.found, objective.bound == "lower"
    y, offset = encodings.treatment_rows(context.names), alt.YOffset("series:N", sort=context.series)
    ticks = context.chart(trial_rows(found)).mark_tick(
        thickness=1, size=8, opacity=0.35, color="currentColor"
    )
    height = _rows_height(context, max(_ROW, 12 * len(context.series)))
    values = [*context.values(trial_rows(found), "value"), *context.values(rows, "bound", "low", "high")]
    x = encodings.metric_x("value", context.title, values, height)
    layers = [
        ticks.encode(x=x, y=y, yOffset=offset, tooltip=encodings.trial_tips(found.metric.name)).add_params(
            encodings.zoom("x")
        )
    ]
    layers += _interval_marks(
        context, [row for row in rows if row["low"] is not None and row["high"] is not None]
    )
    shape = "triangle-right" if lower else "triangle-left"
    layers += _bound_marks(context, [row for row in rows if row["bound"] is not None], shape)
    several = len(context.series) > 1
    return context.figure(
        f"kpi-{place}",
        f"KPI: {objective_text(objective)}",
        f"The triangle is the KPI, read “{'or more' if lower else 'or less'}”; the bar is the two-sided interval of "
        "the same percentile; ticks are trials."
        + (f" Rows of a treatment are its {len(context.series)} series, the first on top." if several else "")
        + drawn_words(found),
        f"Dot plot of the {objective_text(objective)} bound on {found.metric.name} for each treatment and series.",
        alt.layer(*layers),
        height,
    )


def _rows_height(context: FigureContext, each: int = _ROW) -> int:
    return max(120, min(len(context.names) * each, _TALLEST))


def _kpi_tips() -> list[alt.Tooltip]:
    numbers = [
        encodings.tip("bound", "KPI"),
        encodings.tip("low", "two-sided low"),
        encodings.tip("high", "two-sided high"),
    ]
    return [*encodings.name_tips("treatment", "series"), *numbers, *encodings.name_tips("n", "standing")]


def _interval_marks(context: FigureContext, rows: Sequence[Row]) -> list[Chart]:
    if not rows:
        return []
    bars = context.chart(rows).mark_rule(strokeWidth=3, color=COLOURS[0], opacity=0.5)
    y, offset = encodings.treatment_rows(context.names), alt.YOffset("series:N", sort=context.series)
    return [bars.encode(x="low:Q", x2="high:Q", y=y, yOffset=offset, tooltip=_kpi_tips())]


def _bound_marks(context: FigureContext, rows: Sequence[Row], shape: str) -> list[Chart]:
    if not rows:
        return []
    stroke, fill = encodings.standing()
    bounds = context.chart(rows).mark_point(shape=shape, size=90, strokeWidth=1.5, opacity=1)
    y, offset = encodings.treatment_rows(context.names), alt.YOffset("series:N", sort=context.series)
    return [bounds.encode(x="bound:Q", y=y, yOffset=offset, stroke=stroke, fill=fill, tooltip=_kpi_tips())]


def series_figure(context: FigureContext, objective: Kpi, place: int) -> Figure | None:
    """Plot the KPIs of all series with each treatment's variability score; None for one series, or without a KPI."""
    rows = [row for row in plot_rows.kpi_rows(context.found, objective) if row["bound"] is not None]
    if len(context.series) < 2 or not rows:
        return None
    found, y = context.found, encodings.treatment_rows(context.names)
    stroke, fill = encodings.standing()
    dots = context.chart(rows).mark_point(size=45, strokeWidth=1.5, opacity=0.75)
    scores = plot_rows.score_rows(found, objective)
    values = [*context.values(rows, "bound"), *context.values(scores, "low", "high")]
    x = encodings.metric_x("bound", f"KPI of {context.title}", values, _rows_height(context))
    layers = [
        dots.encode(x=x, y=y, stroke=stroke, fill=fill, tooltip=_kpi_tips()).add_params(encodings.zoom("x"))
    ]
    if scores:
        tips = [
            *encodings.name_tips("treatment"),
            *map(encodings.tip, ("low", "high", "score")),
            *encodings.name_tips("n"),
        ]
        bars = context.chart(scores).mark_bar(height=13, opacity=0.5, color=COLOURS[5])
        layers.insert(0, bars.encode(x="low:Q", x2="high:Q", y=y, tooltip=tips))
    return context.figure(
        f"series-{place}",
        f"From series to series: {objective_text(objective)}",
        "Each dot is the KPI of one series; "
        + (
            "the bar is the variability score: the shorter, the better it replicates."
            if scores
            else "no score yet."
        ),
        f"Dot plot of the KPIs of {found.metric.name} in all series with the variability score of each treatment.",
        alt.layer(*layers),
        _rows_height(context),
    )
