"""The printed report in one document: what ran, figures, tables, and of paths each trial over time."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

from trialwise.analysis.comparison.between import VerdictSummary
from trialwise.analysis.estimation.results import Estimation
from trialwise.analysis.results import Analysis
from trialwise.report.documents import stopping as stops
from trialwise.report.estimation_print import estimation_drawings
from trialwise.report.figures.looks import looks
from trialwise.report.path_print import course_pages, plane_pages
from trialwise.report.path_print_text import title_page
from trialwise.report.points import labels
from trialwise.report.print_style import PAGE, sheet
from trialwise.report.print_tables import table_pages

_ROOM = 9.5
"""Inches of a page for figures, one below the other."""


def has_document(analysis: Analysis) -> bool:
    """Whether there is a document: of experiments over paths and of what is estimated."""
    return analysis.path is not None or analysis.estimation is not None


def write_document(
    analysis: Analysis, file: Path, version: str, verdicts: VerdictSummary | None = None
) -> None:
    """Write everything as one PDF; of `verdicts` what the experiment waits for.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    with PdfPages(file, metadata={"CreationDate": None, "Title": f"{analysis.name} – report"}) as pages:
        for figure in _pages(analysis, version, verdicts):
            pages.savefig(figure)


def _pages(analysis: Analysis, version: str, verdicts: VerdictSummary | None) -> Iterator[Figure]:
    yield title_page(analysis, version, PAGE)
    if analysis.path is not None:
        yield from plane_pages(analysis, analysis.path)
    if analysis.estimation is not None:
        yield from _estimate_pages(analysis, analysis.estimation)
    stopping = verdicts and verdicts.stopping and stops.document(verdicts.stopping, verdicts.lifts)
    yield from table_pages(analysis, (PAGE[1], PAGE[0]), stopping or None)
    if analysis.path is not None:
        yield from course_pages(analysis, analysis.path)


def _estimate_pages(analysis: Analysis, found: Estimation) -> Iterator[Figure]:
    """Figures of estimates one below the other, as many as fit on a page."""
    drawings = [
        (min(height, _ROOM), draw)
        for _, height, draw in estimation_drawings(found, looks(analysis), labels(analysis))
    ]
    while drawings:
        fitting = sum(total <= _ROOM for total in accumulate(height for height, _ in drawings))
        here, drawings = drawings[:fitting], drawings[fitting:]
        heights = [height for height, _ in here]
        figure = sheet()
        grid = figure.add_gridspec(
            len(here) + 1, 1, height_ratios=[*heights, max(0.01, _ROOM - sum(heights))]
        )
        for row, (_, draw) in enumerate(here):
            draw(figure.add_subfigure(grid[row, 0]).add_subplot())
        yield figure
