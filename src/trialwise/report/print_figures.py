"""Figures for print: vector graphics one column wide, the same bytes for the same analysis."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from trialwise.analysis.comparison.between import VerdictSummary
from trialwise.analysis.order.summary import OrderSummary
from trialwise.analysis.results import Analysis, MetricAnalysis
from trialwise.experiment.model import Kpi
from trialwise.report import points
from trialwise.report.claims import objective_text
from trialwise.report.comparison_print import differences_figure, file_name, ranks_figure
from trialwise.report.documents.verdicts import verdict_pictures
from trialwise.report.estimation_print import estimation_figures_for_print
from trialwise.report.figures.comparison import Differences
from trialwise.report.figures.drawn_trials import some, trial_rows
from trialwise.report.figures.looks import looks
from trialwise.report.figures.palette import COLOURS, FAILED, MOST
from trialwise.report.order_print import order_drawings
from trialwise.report.path_print import path_figures
from trialwise.report.points import Row
from trialwise.report.pooled_print import pooled_drawings
from trialwise.report.print_document import has_document, write_document
from trialwise.report.print_page import Page, column, legend, rows_of
from trialwise.report.print_style import GREY, STYLE, save

Kind = Literal["pdf", "svg"]
DOCUMENT = "report.pdf"
"""The printed report, of experiments that `has_document` names."""


def print_figures(
    analysis: Analysis,
    folder: Path,
    kind: Kind,
    version: str = "",
    order: OrderSummary | None = None,
    verdicts: VerdictSummary | None = None,
) -> list[Path]:
    """Write the figures of all metrics, of the verdicts and of the order, into a folder, which is made; return what was written.

    An experiment over paths has those of its planes and delays too, a simulation those of its estimates, and both as PDF the whole
    report in one document.

    Raises
    ------
    OSError
        The folder cannot be made or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    with mpl.rc_context(STYLE):
        for name, figure in _all_figures(analysis, order, verdicts):
            written.append(folder / f"{name}.{kind}")
            save(figure, written[-1])
        if has_document(analysis) and kind == "pdf":
            write_document(analysis, folder / DOCUMENT, version, verdicts)
            written.append(folder / DOCUMENT)
    return written


def _all_figures(
    analysis: Analysis, order: OrderSummary | None, verdicts: VerdictSummary | None
) -> Iterator[tuple[str, Figure]]:
    yield from path_figures(analysis)
    for found in analysis.metrics:
        for name, figure in _figures(analysis, found):
            yield f"{_file_name(found.metric.name)}-{name}", figure
    if analysis.estimation is not None:
        names = points.labels(analysis)
        for name, figure in estimation_figures_for_print(analysis.estimation, looks(analysis), names):
            yield _file_name(name), figure
    for name, picture in verdict_pictures(verdicts, points.labels(analysis)) if verdicts else ():
        draw = differences_figure(picture) if isinstance(picture, Differences) else ranks_figure(picture)
        yield file_name(name), draw
    for name, figure in order_drawings(order, points.labels(analysis)) if order else ():
        yield f"order-{name}", figure


def _file_name(metric: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in metric)


def _figures(analysis: Analysis, found: MetricAnalysis) -> Iterator[tuple[str, Figure]]:
    page = Page(analysis, found)
    if not page.names:
        return
    if found.metric.estimand == "pooled":
        yield from pooled_drawings(page)
        return
    yield "order", page.drawn(_order, 2.2)
    yield "distribution", page.drawn(_distribution, 2.2)
    for place, objective in enumerate(found.metric.kpis):
        yield (
            f"kpi-{place}",
            page.drawn(lambda axes, at, kpi=objective: _kpi(axes, at, kpi), page.rows_height),
        )
        if len(analysis.series) > 1:
            yield (
                f"series-{place}",
                page.drawn(lambda axes, at, kpi=objective: _series(axes, at, kpi), page.rows_height),
            )
    if points.lag_rows(found):
        yield "autocorrelation", page.drawn(_autocorrelation, 1.8)
    if found.traces:
        yield "samples", page.drawn(_samples, 2.2)


def _order(axes: Axes, page: Page) -> None:
    rows = page.rows(trial_rows(page.found))
    for name in page.names:
        own = rows_of(rows, treatment=name)
        axes.plot(
            column(own, "trial"), column(own, "value"), linestyle="none", label=name, **page.style(name)
        )
    for start in points.series_starts(page.found):
        axes.axvline(float(start["start"] or 0), color=GREY, linestyle=(0, (4, 3)), linewidth=0.6)
    failed = column(page.rows(points.failure_rows(some(page.analysis.failures))), "trial")
    if failed:
        low, _ = axes.get_ylim()
        axes.plot(failed, [low] * len(failed), "x", color=FAILED, label="failed", clip_on=False)
    axes.set_xlabel(points.order_words(page.analysis)[0])
    axes.set_ylabel(page.title)
    legend(axes, page)


def _distribution(axes: Axes, page: Page) -> None:
    series = page.analysis.series[0]
    steps, bands = (
        rows_of(page.rows(rows), series=series)
        for rows in (points.step_rows(page.found), points.band_rows(page.found))
    )
    side = "lower" if page.found.metric.better == "higher" else "upper"
    for name in page.names:
        own, band = rows_of(steps, treatment=name), rows_of(bands, treatment=name)
        style = page.style(name)
        dash = page.looks[name].dash
        dashes = (0, dash) if len(page.names) <= MOST and dash[1] else "-"
        axes.step(
            column(own, "value"),
            column(own, "share"),
            where="post",
            label=name,
            color=style["color"],
            linestyle=dashes,
        )
        if len(page.names) <= MOST:
            axes.plot(
                column(band, side),
                column(band, "share"),
                color=style["color"],
                linestyle=(0, (1, 1)),
                linewidth=0.8,
            )
            axes.fill_betweenx(
                column(band, "share"),
                column(band, "low"),
                column(band, "high"),
                color=style["color"],
                alpha=0.12,
                linewidth=0,
            )
    axes.set_ylim(0, 1)
    axes.set_xlabel(page.title + (f", series {series}" if len(page.analysis.series) > 1 else ""))
    axes.set_ylabel("share of trials")
    legend(axes, page)


def _rows_axis(axes: Axes, page: Page) -> dict[str, int]:
    axes.set_yticks(range(len(page.names)), page.names)
    axes.set_ylim(len(page.names) - 0.4, -0.6)
    return {name: place for place, name in enumerate(page.names)}


def _kpi(axes: Axes, page: Page, objective: Kpi) -> None:
    places, series = _rows_axis(axes, page), list(page.analysis.series)
    marker = ">" if objective.bound == "lower" else "<"

    def height(row: Row) -> float:
        shift = (series.index(str(row["series"])) + 0.5) / len(series) - 0.5
        return places[str(row["treatment"])] + 0.8 * shift

    trials = page.rows(trial_rows(page.found))
    axes.plot(
        column(trials, "value"),
        list(map(height, trials)),
        "|",
        color=GREY,
        alpha=0.6,
        markersize=2.5,
        markeredgewidth=0.4,
    )
    for row in page.rows(points.kpi_rows(page.found, objective)):
        if row["low"] is not None and row["high"] is not None:
            axes.plot(
                column([row], "low") + column([row], "high"),
                [height(row)] * 2,
                color=COLOURS[0],
                alpha=0.5,
                linewidth=1.6,
            )
        filled = row["standing"] == "holds"
        colour = COLOURS[0] if filled else COLOURS[1]
        axes.plot(
            column([row], "bound"),
            [height(row)],
            marker,
            color=colour,
            markerfacecolor=colour if filled else "white",
            markeredgewidth=0.7,
        )
    axes.set_xlabel(page.title)
    axes.figure.suptitle(f"KPI: {objective_text(objective)}", fontsize=7.5)


def _series(axes: Axes, page: Page, objective: Kpi) -> None:
    places = _rows_axis(axes, page)
    for row in page.rows(points.score_rows(page.found, objective)):
        low, high = column([row], "low")[0], column([row], "high")[0]
        axes.barh(
            places[str(row["treatment"])],
            high - low,
            left=low,
            height=0.5,
            color=COLOURS[5],
            alpha=0.5,
            linewidth=0,
        )
    for row in page.rows(points.kpi_rows(page.found, objective)):
        filled = row["standing"] == "holds"
        colour = COLOURS[0] if filled else COLOURS[1]
        axes.plot(
            column([row], "bound"),
            [places[str(row["treatment"])]],
            "o",
            color=colour,
            markerfacecolor=colour if filled else "white",
        )
    axes.set_xlabel(f"KPI of {page.title} in each series")
    axes.figure.suptitle(objective_text(objective), fontsize=7.5)


def _autocorrelation(axes: Axes, page: Page) -> None:
    rows = rows_of(page.rows(points.lag_rows(page.found)), series=page.analysis.series[0])
    for name in page.names:
        own, style = rows_of(rows, treatment=name), page.style(name)
        if not own:
            continue
        axes.plot(column(own, "lag"), column(own, "coefficient"), label=name, linewidth=0.5, **style)
    if rows:
        limit = max(column(rows, "threshold"))
        for side in (-limit, limit):
            axes.axhline(side, color="black", linestyle=(0, (4, 3)), linewidth=0.6)
    axes.set_ylim(points.correlation_range(rows))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("lag, in trials of the treatment")
    axes.set_ylabel("autocorrelation")
    legend(axes, page)


def _samples(axes: Axes, page: Page) -> None:
    trace = page.found.traces[0]
    factor = page.scale.factor
    lows, highs = trace.lows * factor, trace.highs * factor
    axes.vlines(trace.times, lows, highs, color=GREY, linewidth=0.4, alpha=0.7)
    size = 4 if points.has_few_samples(trace) else 1
    axes.plot(trace.times, lows, ".", color=GREY, markersize=size, alpha=0.7)
    axes.set_xlabel(f"time within trial {trace.number} [{'s' if trace.timed else 'samples'}]")
    axes.set_ylabel(page.title)
    if page.found.metric.convergence is None:
        return
    axes.plot(trace.batch_starts, trace.batches * factor, "o", color=COLOURS[1], label="batches")
    for kind in ("fitted slope", "tolerance", "tolerance, falling"):
        own = points.in_unit(rows_of(points.line_rows([trace], page.labels), line=kind), page.scale)
        dashes = "-" if kind == "fitted slope" else (0, (4, 3))
        label = None if kind == "tolerance, falling" else kind
        axes.plot(column(own, "time"), column(own, "value"), color=COLOURS[0], linestyle=dashes, label=label)
    axes.legend(loc="best")
