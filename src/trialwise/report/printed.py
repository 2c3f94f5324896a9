"""Print the figures of a whole analysis, and the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from trialwise.analysis.comparison.between import VerdictSummary
from trialwise.analysis.order.summary import OrderSummary
from trialwise.analysis.results import Analysis
from trialwise.report.document import Figure
from trialwise.report.documents import paper
from trialwise.report.documents.verdicts import verdict_figures
from trialwise.report.figures.estimation import estimation_figures
from trialwise.report.figures.metric import figures
from trialwise.report.figures.order import order_figures
from trialwise.report.figures.paint import write_all
from trialwise.report.figures.path_harm import harm_figures
from trialwise.report.figures.paths import PathBoard, delays_figure, printed_planes
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.styles import styles
from trialwise.report.figures.together import Pair, together_figures
from trialwise.report.plot_rows import labels
from trialwise.report.render.typst import pdf

Kind = Literal["pdf", "svg"]
DOCUMENT = "report.pdf"
"""The printed report, for experiments that `paper.has_document` names."""


def print_figures(
    analysis: Analysis,
    folder: Path,
    kind: Kind,
    version: str = "",
    order: OrderSummary | None = None,
    verdicts: VerdictSummary | None = None,
    planes: Sequence[Pair] = (),
) -> list[Path]:
    """Write the figures of all metrics, of the verdicts and of the order into a folder, which is created; return the paths.

    `planes` are pairs of metrics whose KPIs span a plane.

    An experiment over paths adds figures of its planes and delays, a simulation figures of its estimates, and both, as PDF, the whole
    report in one document.

    Raises
    ------
    OSError
        The folder cannot be created or written.
    """
    sheets: dict[str, ColumnData] = {}
    written = write_all(all_figures(analysis, order, verdicts, sheets, planes), sheets, folder, kind)
    if kind == "pdf" and paper.has_document(analysis):
        report = paper.document(analysis, sheets, version, verdicts)
        (folder / DOCUMENT).write_bytes(pdf(report, sheets, f"{analysis.name} – report"))
        written.append(folder / DOCUMENT)
    return written


def write_order_figures(view: OrderSummary, folder: Path, kind: str) -> list[Path]:
    """Write every figure of order that has something to show (as pdf or svg); return the paths.

    Raises
    ------
    OSError
        The folder cannot be created or written.
    """
    sheets: dict[str, ColumnData] = {}
    figures = (figure for group in order_figures(view, {}, sheets) for figure in group.figures)
    return write_all(figures, sheets, folder, kind)


def all_figures(
    analysis: Analysis,
    order: OrderSummary | None,
    verdicts: VerdictSummary | None,
    sheets: dict[str, ColumnData],
    planes: Sequence[Pair] = (),
) -> Iterator[Figure]:
    """Yield the figures of the report in its order, and add their data to `sheets`."""
    names = labels(analysis)
    if analysis.path is not None:
        context = PathBoard(analysis, analysis.path, sheets)
        if analysis.path.harm is not None:
            yield from harm_figures(analysis.path.harm, sheets, printed=True)
        yield from (figure for _, variants in printed_planes(context) for figure in variants)
        if found := delays_figure(context):
            yield found
    for metric in analysis.metrics:
        yield from figures(analysis, metric, sheets)
    yield from together_figures(analysis, sheets, planes)
    if analysis.estimation is not None:
        yield from estimation_figures(analysis.estimation, styles(analysis), names, sheets)
    if verdicts is not None:
        for group in verdict_figures(verdicts, names, sheets):
            yield from group.figures
    if order is not None:
        for group in order_figures(order, names, sheets):
            yield from (replace(figure, file=f"order-{figure.file}") for figure in group.figures)
