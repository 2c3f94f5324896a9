"""Parts of documents about experiments over paths: planes, flows, packets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise.analysis.path.results import PathAnalysis
from trialwise.experiment.traits import assumed
from trialwise.numbers import counted
from trialwise.report.beside import Words
from trialwise.report.document import Block, Chapter, Figures, Note, Table
from trialwise.report.figures.path_harm import harm_figures
from trialwise.report.figures.paths import MAX_PLANES, PathBoard, course_figures, plane_figures
from trialwise.report.notes import Note as MethodNote
from trialwise.report.notes import path_notes
from trialwise.report.path_sentences import harm_lead, invalid_sentences, path_lead
from trialwise.report.path_tables import harm_tables, path_overview, path_paper_tables, path_tables


class PathWords(Words):
    """Planes, flows and packets."""

    @property
    def _path(self) -> PathAnalysis:
        return assumed(self.analysis.path, PathAnalysis)

    @property
    def _board(self) -> PathBoard:
        return PathBoard(self.analysis, self._path, self.sheets)

    def answer(self) -> str:
        """Say who harms whom, if flows ran alone and beside others."""
        return harm_lead(self._path.harm) if self._path.harm else ""

    def overview(self, *, full: bool) -> Iterator[Block]:
        """Yield what ran and the medians of each treatment; in full, the results of every flow."""
        lines = (path_lead(self._path), *invalid_sentences(self.analysis), *self._path.notes)
        yield from (Note((line,), is_aside=True) for line in lines)
        beside = [table for table in self.tables() if table.key in ("emulator", "paths")]
        brief = [
            *harm_tables(self._path),
            path_overview(self._path),
            *(table for table in self.tables() if table.key == "shares"),
        ]
        tables = [*self.paper_tables(), *beside] if full else brief
        yield from (table.without_remarks for table in tables if table.rows)

    def chapters(self) -> Iterator[Chapter]:
        """Yield the matrix of harm, if there is one, and the planes."""
        path = self._path
        planes = tuple(plane_figures(self._board))
        left_out = sum(bool(plane.trials) for plane in path.planes) - MAX_PLANES
        more = f"{counted(left_out, 'further plane is', 'further planes are')} not drawn; the numbers stand in the tables"
        notes = (*path.notes, *([more] if left_out > 0 else []))
        blocks: tuple[Block, ...] = (
            Note((path_lead(path),)),
            *(Note((sentence,), "warning") for sentence in invalid_sentences(self.analysis)),
            *(Note((f"{note}.",)) for note in notes),
            *([Figures("", planes)] if planes else ()),
        )
        if path.harm is not None:
            matrices = tuple(harm_figures(path.harm, self.sheets))
            yield Chapter("harm", "Who harms whom", (Figures("", matrices),))
        yield Chapter("plane", "Throughput and delay", blocks)

    def figures(self) -> Iterator[Figures]:
        """Yield trials over time and delays."""
        yield Figures("Packets", tuple(course_figures(self._board)))

    def tables(self) -> Sequence[Table]:
        """Return the results of flows, the regions of the plane, the emulator and the paths."""
        return path_tables(self.analysis)

    def paper_tables(self) -> Sequence[Table]:
        """Return the results of flows, one table for each quantity, and the regions of the plane."""
        return path_paper_tables(self.analysis)

    def notes(self) -> Sequence[MethodNote]:
        """Return the notes on the plane and on packets."""
        return path_notes(self._path)
