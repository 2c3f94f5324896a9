"""Parts of documents that a kind of trials adds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trialwise.analysis.results import Analysis
from trialwise.kinds import kinds, part
from trialwise.report.document import Block, Chapter, Figures, Table
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.notes import Note


class Words:
    """Parts that a kind adds to documents; all are empty by default.

    `sheets` collects the data of figures.
    """

    def __init__(self, analysis: Analysis, sheets: dict[str, ColumnData]) -> None:
        self.analysis = analysis
        self.sheets = sheets

    def answer(self) -> str:
        """Return the answer to what the experiment asks, which every document begins with; empty for none."""
        return ""

    def overview(self, *, full: bool) -> Iterable[Block]:  # noqa: ARG002 for subclasses
        """Return the first blocks of `trialwise analyze`, in brief or in full."""
        return ()

    def chapters(self) -> Iterable[Chapter]:
        """Return the first chapters of the report; they replace its leading figure."""
        return ()

    def figures(self) -> Iterable[Figures]:
        """Return figures to draw before those of the metrics."""
        return ()

    def tables(self) -> Sequence[Table]:
        """Return the tables of the report."""
        return ()

    def paper_tables(self) -> Sequence[Table]:
        """Return the tables for LaTeX."""
        return ()

    def notes(self) -> Iterable[Note]:
        """Return notes on methods."""
        return ()


def words_of(analysis: Analysis, sheets: dict[str, ColumnData] | None = None) -> Words:
    """Return the parts of the kind of an analysis; imported runs over paths count as kind path."""
    kind = analysis.plan.kind if analysis.plan else "path" if analysis.path else ""
    table = kinds().get(kind)
    words = part(table).words if table else ""
    return (part(words) if words else Words)(analysis, {} if sheets is None else sheets)
