"""The claims and tables of an analysis for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from trialwise.analysis.results import Analysis
from trialwise.report.claim_writing import claims
from trialwise.report.claims import Claim
from trialwise.report.document import Name
from trialwise.report.estimation_section import duration_lines
from trialwise.report.estimation_text import estimate_blocks
from trialwise.report.numbers import Number
from trialwise.report.overview import MOST_SERIES, overview_tables, reasons
from trialwise.report.path_sentences import invalid_sentences, path_lead
from trialwise.report.path_tables import path_overview, path_paper_tables, path_tables
from trialwise.report.plan_tables import failure_table, trials_text
from trialwise.report.points import labels
from trialwise.report.tables import Cell, Table, result_tables
from trialwise.report.terminal_table import aligned
from trialwise.report.units import standing_alone
from trialwise.visible import visible

_MARKS = {
    "claim": ("✓", "green"),
    "descriptive": ("~", "yellow"),
    "refusal": ("✗", "red"),
    "remark": ("·", "dim"),
}
_MOST = 12
"""More sentences than this give way to an overview."""
_MOST_FAILURES = 12
"""Attempts without a result that the overview lists."""


def text_report(
    analysis: Analysis, *, full: bool = False, width: int | None = None
) -> Iterator[RenderableType]:
    """What `trialwise analyze` prints, part by part: an overview, or with `full` every sentence and table.

    `width` is that of the terminal, None for a pipe, which has none.
    """
    methods = "the paper's methods" if analysis.method == "paper" else "default methods"
    yield Text(f"{analysis.name}: {trials_text(analysis)}, {methods}", style="bold")
    yield from _path(analysis, full=full, width=width)
    yield from _estimation(analysis, full=full, width=width)
    sentences = claims(analysis)
    if full or len(sentences) <= _MOST:
        yield from _sentences(sentences, width)
    if full or len(analysis.series) > MOST_SERIES:
        yield from _tables(analysis, width)
    else:
        yield from _overview(analysis, explained=len(sentences) <= _MOST, width=width)
    if not full and len(sentences) > _MOST:
        yield from _sentences(tuple(claim for claim in sentences if claim.standing == "remark"), width)
    failures = failure_table(analysis, None if full else _MOST_FAILURES)
    if failures is not None:
        yield from _with_caption(failures.without_remarks, width)
    if not full:
        yield Text("\nall sentences and tables: --full, or `trialwise report`", style="dim")


def _path(analysis: Analysis, *, full: bool, width: int | None) -> Iterator[RenderableType]:
    """What an experiment over paths has beside its metrics."""
    path = analysis.path
    if path is None:
        return
    yield Text(path_lead(path), style="dim")
    for sentence in (*invalid_sentences(analysis), *path.notes):
        yield Text(sentence, style="yellow")
    beside = [table for table in path_tables(analysis) if table.key in ("emulator", "paths")]
    tables = [*path_paper_tables(analysis), *beside] if full else [path_overview(path)]
    for table in tables:
        if table.rows:
            yield from _with_caption(table.without_remarks, width)


def _estimation(analysis: Analysis, *, full: bool, width: int | None) -> Iterator[RenderableType]:
    """What is estimated from simulated trials, each number by its estimand."""
    found = analysis.estimation
    if found is None:
        return
    names = labels(analysis)
    yield Text("\nEstimates", style="bold")
    for table, remarks in estimate_blocks(found, names):
        yield from _with_caption(table, width)
        yield from (Text(f"  {visible(remark)}", style="dim") for remark in remarks)
    for note in found.notes:
        yield Text(note, style="yellow")
    for remark in found.remarks:
        yield Text(remark, style="dim")
    if full:
        for line in duration_lines(found.durations, names):
            yield Text(line, style="dim")


def _tables(analysis: Analysis, width: int | None) -> Iterator[RenderableType]:
    for table in result_tables(analysis):
        yield from _with_caption(table.without_remarks, width)


def _overview(analysis: Analysis, *, explained: bool, width: int | None) -> Iterator[RenderableType]:
    """One table for each objective; the reasons are left out where the sentences have `explained` them."""
    tables = overview_tables(analysis)
    for table in tables:
        yield from _with_caption(table, width)
    if explained:
        return
    marked = any(str(cell).startswith("~") for table in tables for row in table.rows for cell in row)
    if marked:
        yield Text(
            "~ descriptive only: shown, but it says nothing about further trials, because a test failed"
        )
    for reason in reasons(analysis):
        yield Text(f"  {reason}", style="dim")


def _sentences(shown: tuple[Claim, ...], width: int | None) -> Iterator[RenderableType]:
    topic: tuple[str | None, str] = ("", "")
    for claim in shown:
        here = (claim.metric, claim.topic)
        if here != topic:
            topic = here
            yield Text()
            yield Text(_heading(claim), style="bold")
        yield _sentence(claim, width)
    if any(claim.standing in ("descriptive", "refusal") for claim in shown):
        yield Text()
        yield Text("✓ holds   ~ descriptive only   ✗ no claim   · note", style="dim")


def _heading(claim: Claim) -> str:
    if claim.metric is None:
        return "the course of the experiment"
    return f"{claim.metric}: {claim.topic}" if claim.topic else claim.metric


def _sentence(claim: Claim, width: int | None) -> RenderableType:
    """A sentence with its mark, which hangs in the margin of a terminal."""
    mark, style = _MARKS[claim.standing]
    sentence = Text.assemble(*_piece(claim))
    if width is None:
        return Text.assemble((mark, style), " ", sentence)
    grid = RichTable.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=1)
    grid.add_column(overflow="fold")
    grid.add_row(Text(mark, style=style), sentence)
    return grid


def _piece(claim: Claim) -> Iterator[str | tuple[str, str]]:
    for piece in claim.pieces:
        if isinstance(piece, Number):
            yield standing_alone(piece).with_unit, "bold"
        elif isinstance(piece, Name):
            yield visible(piece.text), "cyan"
        else:
            yield visible(piece)


def _with_caption(table: Table, width: int | None) -> Iterator[RenderableType]:
    yield Text()
    yield Text(visible(table.caption), style="bold")
    yield Text()
    rows = [table.columns, *([_cell(cell) for cell in row] for row in table.rows)]
    for line, is_heading in aligned(rows, table.numeric, 1, has_rule=True).lines(width):
        yield Text(line, style="bold" if is_heading else "")


def _cell(cell: Cell) -> str:
    return cell.text if isinstance(cell, Number | Name) else cell
