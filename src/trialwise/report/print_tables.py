"""The pages of the printed report that hold tables, whose remarks stand below them as footnotes that rows name by number."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from matplotlib.figure import Figure

from trialwise.analysis.estimation.results import Estimation
from trialwise.analysis.results import Analysis
from trialwise.report.document import Column, Document, Note, Table, plain
from trialwise.report.estimation_tables import estimation_tables
from trialwise.report.numbers import ABSENT, counted
from trialwise.report.path_tables import path_paper_tables, path_tables
from trialwise.report.plan_tables import failure_table
from trialwise.report.points import labels
from trialwise.report.trial_tables import MOST_ROWS

_ROW, _TOP, _FOOT = 0.025, 0.95, 0.03
"""Height of a row, and where pages begin and end, as shares of a page."""
_LINE = 0.0155
"""Height of a line of a footnote."""
_ROWS = 28
_LONGEST = 60
_LETTERS, _MOST_LINES = 225, 6
"""Letters in a line of a footnote, and lines of one."""
_MOST_WARNINGS = 8


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A table, or the part of one that fits on a page: its rows with numbers of footnotes, and these, in lines."""

    table: Table
    footnotes: tuple[str, ...]

    @property
    def height(self) -> float:
        """Of caption, rows and footnotes, as a share of a page."""
        return _ROW * (len(self.table.rows) + 4) + _LINE * len(self.footnotes)


def table_pages(
    analysis: Analysis, size: tuple[float, float], stopping: Document | None = None
) -> Iterator[Figure]:
    """Tables one below the other on landscape pages, `stopping` among them; those that are longer than a page go on."""
    figure, height = Figure(figsize=size), _TOP
    for part in _sheets(analysis, stopping):
        if height - part.height < _FOOT and height < _TOP:
            yield figure
            figure, height = Figure(figsize=size), _TOP
        _draw(figure, part, height)
        height -= part.height + _ROW
    if height < _TOP:
        yield figure


def _sheets(analysis: Analysis, stopping: Document | None) -> Iterator[_Sheet]:
    for table in (
        *path_paper_tables(analysis),
        *(table for table in path_tables(analysis) if table.key == "emulator"),
    ):
        yield from _parts(table)
    if (found := analysis.estimation) is not None:
        for table in estimation_tables(found, labels(analysis)):
            yield from _parts(table, _of_all(found) if table.key == "estimates" else ())
    if stopping is not None:
        for table in stopping.tables:
            yield from _parts(table, _of_document(stopping))
    if (failures := failure_table(analysis, MOST_ROWS)) is not None:
        yield from _parts(failures.without_remarks)  # exit codes and names of logs are no sentences


def _of_document(found: Document) -> tuple[str, ...]:
    """What a document says beside its tables; of many warnings the first ones."""
    notes = [block for block in found.evidence if isinstance(block, Note)]
    warnings = [plain(note.text) for note in notes if note.standing == "warning"]
    hidden = len(warnings) - _MOST_WARNINGS
    more = (f"… and {counted(hidden, 'more warning')}",) if hidden > 0 else ()
    method = (plain(block.text) for block in found.method if isinstance(block, Note))
    lifts = (f"To know more: {plain(note.text)}" for note in notes if note.standing != "warning")
    return (plain(found.answer), *method, *warnings[:_MOST_WARNINGS], *more, *lifts)


def _of_all(found: Estimation) -> tuple[str, ...]:
    """What is said of all estimates, worst first."""
    return (*found.notes, *found.remarks)


def _parts(table: Table, of_all: tuple[str, ...] = ()) -> Iterator[_Sheet]:
    """As many rows as fit on a page with their footnotes, and so on."""
    rows = table.rows
    while rows:
        count = min(len(rows), _ROWS)
        part = _noted(dataclasses.replace(table, rows=rows[:count]), of_all)
        while part.height > _TOP - _FOOT and count > 1:
            count -= 1
            part = _noted(dataclasses.replace(table, rows=rows[:count]), of_all)
        yield part
        rows = rows[count:]


def _noted(table: Table, of_all: tuple[str, ...]) -> _Sheet:
    """The table with a last column of numbers for its remarks, each of which is said once; `of_all` holds of every row."""
    numbers: dict[str, int] = {}
    marks: list[str] = []
    for row in table.rows:
        own = [plain(row[place]) for place, column in enumerate(table.columns) if column.is_remark]
        said = [text for text in own if text and text != ABSENT]
        marks.append(", ".join(str(numbers.setdefault(text, len(numbers) + 1)) for text in said))
    lines = [line for text in of_all for line in _lines(text)]
    lines += [line for text, number in numbers.items() for line in _lines(f"{number}  {text}")]
    shown = table.without_remarks
    if numbers:
        rows = tuple((*row, mark) for row, mark in zip(shown.rows, marks, strict=True))
        shown = dataclasses.replace(shown, columns=(*shown.columns, Column("notes")), rows=rows)
    return _Sheet(shown, tuple(lines))


def _lines(text: str) -> list[str]:
    return textwrap.wrap(text, _LETTERS, max_lines=_MOST_LINES, placeholder=" …", subsequent_indent="    ")


def _draw(figure: Figure, part: _Sheet, top: float) -> None:
    table = part.table
    figure.text(0.04, top, "\n".join(textwrap.wrap(plain(table.caption), 170)), fontsize=8.5, va="top")
    texts = [[_cut(plain(cell)) for cell in row] for row in table.rows]
    heads = [column.title for column in table.columns]
    widths = [max(len(row[place]) for row in [heads, *texts]) + 2 for place in range(len(heads))]
    height = _ROW * (len(texts) + 1)
    begin = top - 2 * _ROW
    axes = figure.add_axes((0.04, begin - height, min(0.92, 0.0062 * sum(widths)), height))
    axes.axis("off")
    drawn = axes.table(
        cellText=texts,
        colLabels=heads,
        bbox=(0, 0, 1, 1),  # pyright: ignore[reportArgumentType] its stub wants a Bbox
        colWidths=[width / sum(widths) for width in widths],
        edges="horizontal",
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(min(7.0, 7.0 * 150 / max(sum(widths), 150)))
    for (_, column), cell in drawn.get_celld().items():
        cell.set_linewidth(0.3)
        cell.set_text_props(ha="right" if table.columns[column].is_numeric else "left")
    for place, line in enumerate(part.footnotes):
        figure.text(0.04, begin - height - _ROW / 2 - _LINE * place, line, fontsize=6.5, va="top")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
