"""Render documents on paper: typst makes a PDF from data, so that foreign text is never markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from itertools import groupby
from typing import Any

from trialwise.report.document import (
    Block,
    Cell,
    Chapter,
    Code,
    Details,
    Document,
    Figure,
    Figures,
    Heading,
    Items,
    Listing,
    Name,
    Note,
    Table,
    pieces,
    plain,
    shown_of,
)
from trialwise.report.figures.paint import svg, typeset
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.theme import NARROW
from trialwise.report.numbers import ABSENT, counted
from trialwise.visible import visible, visible_lines

Data = dict[str, Any]
_WIDE = 2 * NARROW + 28
"""Pixels of a figure as wide as a page, which otherwise holds two figures side by side."""
_MAX_ROWS, _MAX_WARNINGS = 200, 8


def pdf(document: Document, sheets: Mapping[str, ColumnData], title: str) -> bytes:
    """Typeset a document on A4 pages; the same document gives the same bytes."""
    source = resources.files("trialwise.report").joinpath("templates", "report.typ").read_text("utf-8")
    return typeset(source, typst_data(document, sheets, title))


def typst_data(document: Document, sheets: Mapping[str, ColumnData], title: str) -> Data:
    """Return the document in the form that `templates/report.typ` reads."""
    return {
        "title": visible(title),
        "answer": _runs(document.answer),
        "blocks": list(_blocks(document.blocks, sheets)),
    }


def _blocks(blocks: Iterable[Block], sheets: Mapping[str, ColumnData]) -> Iterator[Data]:
    """Yield blocks in sequence, but only the first of many consecutive warnings."""
    for is_warning, run in groupby(blocks, _is_warning):
        members = list(run)
        for block in members[:_MAX_WARNINGS] if is_warning else members:
            yield from _block(block, sheets)
        if is_warning and len(members) > _MAX_WARNINGS:
            more = f"… and {counted(len(members) - _MAX_WARNINGS, 'more warning')}"
            yield {"kind": "note", "standing": "warning", "text": [["text", more]]}


def _is_warning(block: Block) -> bool:
    return isinstance(block, Note) and block.standing == "warning"


def _block(block: Block, sheets: Mapping[str, ColumnData]) -> Iterator[Data]:
    match block:
        case Heading(text):
            yield {"kind": "heading", "level": 2, "text": _runs(text)}
        case Note(text, standing):
            yield {"kind": "note", "standing": standing, "text": _runs(text)}
        case Items(lines, most):
            shown, hidden = shown_of(lines, most, full=False)
            yield {"kind": "items", "lines": [_runs(line) for line in shown], "more": hidden}
        case Table():
            yield _table(block)
        case Listing(lines):
            yield {"kind": "listing", "text": "\n".join(map(visible, lines))}
        case Details(title, inner):
            yield {"kind": "heading", "level": 3, "text": [["text", visible(title)]]}
            yield from _blocks(inner, sheets)
        case Figures():
            yield from _figures(block, sheets)
        case Chapter():
            yield {"kind": "heading", "level": 1, "text": [["text", visible(block.title)]]}
            if block.answer:
                yield {"kind": "note", "standing": "answer", "text": _runs(block.answer)}
            yield from _blocks(block.blocks, sheets)
        case _:  # a file inside a page cannot be printed
            pass


def _runs(cell: Cell) -> list[list[str]]:
    """Split a text into runs of one style each."""
    return [
        ["code" if isinstance(piece, Name | Code) else "text", visible_lines(plain(piece))]
        for piece in pieces(cell)
    ]


# Tables


def _table(table: Table) -> Data:
    """Return a table whose remarks become numbered footnotes below it, each printed once."""
    rows, hidden = shown_of(table.rows, _MAX_ROWS, full=False)
    remarked = [place for place, column in enumerate(table.columns) if column.is_remark]
    numbers: dict[str, int] = {}
    marks = [
        ", ".join(
            str(numbers.setdefault(text, len(numbers) + 1))
            for text in (plain(row[place]) for place in remarked)
            if text not in ("", ABSENT)
        )
        for row in rows
    ]
    kept = [place for place in range(len(table.columns)) if place not in remarked]
    shown = [[_runs(row[place]) for place in kept] for row in rows]
    heads = [visible(table.columns[place].title) for place in kept]
    if numbers:
        heads.append("notes")
        shown = [[*row, [["text", mark]]] for row, mark in zip(shown, marks, strict=True)]
    return {
        "kind": "table",
        "caption": _runs(table.caption),
        "heads": heads,
        "numeric": [table.columns[place].is_numeric for place in kept] + [False] * bool(numbers),
        "rows": shown,
        "more": hidden,
        "notes": [f"{number}  {visible_lines(text)}" for text, number in numbers.items()],
        "facts": [_runs(text) for text in table.facts],
    }


# Figures


def _figures(group: Figures, sheets: Mapping[str, ColumnData]) -> Iterator[Data]:
    if group.title:
        yield {"kind": "heading", "level": 2, "text": [["text", visible_lines(group.title)]]}
    drawn = [_figure(list(members), sheets) for _, members in groupby(group.figures, _file)]
    for is_wide, members in groupby(drawn, lambda one: one["wide"]):
        yield {"kind": "figures", "wide": is_wide, "figures": list(members)}


def _file(figure: Figure) -> str:
    return figure.file or figure.key


def _figure(members: list[Figure], sheets: Mapping[str, ColumnData]) -> Data:
    """Return a figure, or the stacked figures of one file."""
    first = members[0]
    return {
        "wide": first.whole,
        "svg": svg(members, sheets, _WIDE if first.whole else NARROW),
        "title": visible_lines(first.title),
        "caption": visible_lines(first.caption),
        "alternative": visible_lines(first.alternative),
    }
