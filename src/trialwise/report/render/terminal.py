"""Render documents for a terminal or a pipe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from trialwise.report.document import (
    Attached,
    Block,
    Cell,
    Chapter,
    Details,
    Document,
    Figures,
    Heading,
    Items,
    Listing,
    Note,
    Outcome,
    Standing,
    Table,
    Text,
    Verdict,
    pieces,
    plain,
    shown_of,
)
from trialwise.report.numbers import Estimate, Number
from trialwise.report.render.grid import aligned, wrapped
from trialwise.visible import visible

Style = Literal["", "good", "bad", "open", "strong", "dim"]
_MARKS: dict[Outcome, str] = {"good": "✓", "bad": "✗", "open": "?", "plain": "·"}
_PLACES: dict[Outcome, str] = {"good": "\x01", "bad": "\x02", "open": "\x03"}
"""One character each, as long as lines are laid out; in foreign text these are escapes (`trialwise.visible`)."""
_OUTCOMES: dict[str, Outcome] = {place: outcome for outcome, place in _PLACES.items()}
_STANDINGS: dict[Standing, tuple[str, Style]] = {
    "claim": ("✓", "good"),
    "descriptive": ("~", "open"),
    "refusal": ("✗", "bad"),
    "remark": ("", ""),
    "warning": ("!", "open"),
}
_JOINT = "\u00a0"
"""Keeps a number and its unit together while lines are broken."""


@dataclass(frozen=True, slots=True)
class Span:
    """Characters of one style."""

    text: str
    style: Style = ""


StyledLine = tuple[Span, ...]


def terminal(
    document: Document, width: int | None, *, full: bool = False, rest: str = "all with --json"
) -> Iterator[StyledLine]:
    """Lay a document out in at most `width` columns; None is a pipe, which has no width and no styles.

    `rest` says where to find the lines that a block leaves out unless `full`.
    """
    page = _Page(width, rest, full=full)
    yield from page.answer(document.answer)
    yield from page.blocks(document.evidence)
    if document.method:
        yield ()
        yield from page.method(document.method)


@dataclass(frozen=True, slots=True)
class _Page:
    width: int | None
    rest: str
    full: bool

    def answer(self, verdict: Verdict) -> Iterator[StyledLine]:
        if self.width is None:
            yield (Span(self.lines(_written(verdict))[0], "strong"),)
            return
        mark = Span(_MARKS[verdict.outcome], "" if verdict.outcome == "plain" else verdict.outcome)
        first, *others = self.lines(_written(verdict), len(mark.text) + 1, 0)
        yield mark, Span(first[len(mark.text) :], "strong")
        yield from ((Span(line, "strong"),) for line in others)

    def blocks(self, blocks: Iterable[Block], before: Block | None = None) -> Iterator[StyledLine]:
        for block in blocks:
            if _is_apart(before, block):
                yield ()
            yield from self.block(block)
            before = block

    def method(self, blocks: Sequence[Block]) -> Iterator[StyledLine]:
        for before, block in zip((None, *blocks), blocks, strict=False):
            if before is not None and _is_apart(before, block):
                yield ()
            yield from self.block(block, "dim")

    def block(self, block: Block, style: Style = "") -> Iterator[StyledLine]:
        match block:
            case Heading(text):
                yield from ((Span(line, "strong"),) for line in self.lines(_written(text)))
            case Note():
                yield from self.note(block, style)
            case Items(lines, most):
                yield from self.items(lines, most, style)
            case Table():
                yield from self.table(block)
            case Listing(lines, caption, indent):
                yield from self.caption(caption)
                yield from ((Span((" " * indent + visible(line)).rstrip()),) for line in lines)
            case Details(title, blocks):
                yield (Span(visible(title), "strong"),)
                yield from self.blocks(blocks, Heading(()))
            case Chapter(_, title, blocks, answer):
                yield (Span(visible(title), "strong"),)
                yield from self.answer(answer) if answer else ()
                yield from self.blocks(blocks, Heading(()))
            case Figures() | Attached():
                pass

    def note(self, note: Note, style: Style) -> Iterator[StyledLine]:
        mark, tone = _STANDINGS[note.standing]
        indent = 2 if note.is_aside or mark else 0
        first, *others = self.lines(_written(note.text), indent, 0 if mark else 2)
        yield (Span(mark, tone), Span(first[len(mark) :], style)) if mark else (Span(first, style),)
        yield from ((Span(line, style),) for line in others)

    def items(self, lines: tuple[Text, ...], most: int | None, style: Style = "") -> Iterator[StyledLine]:
        shown, left_out = shown_of(lines, most, full=self.full)
        for text in shown:
            yield from ((Span(line, style),) for line in self.lines(_written(text), 2))
        yield from self.left_out(left_out)

    def table(self, table: Table) -> Iterator[StyledLine]:
        yield from self.caption(table.caption)
        shown, left_out = shown_of(table.rows, table.most, full=self.full)
        rows = [
            tuple(column.title for column in table.columns),
            *(tuple(map(_written, row)) for row in shown),
        ]
        numeric = [place for place, column in enumerate(table.columns) if column.is_numeric]
        grid = aligned(rows, numeric)
        if self.width is not None:
            grid = replace(grid, rows=(grid.rows[0], *map(_marked, shown, grid.rows[1:])))
        for line, is_heading in grid.lines(self.width) if shown else ():
            text = line.replace(_JOINT, " ")
            yield (Span(text, "strong"),) if is_heading else tuple(_spans(text))
        yield from self.left_out(left_out)
        yield from self.items(table.facts, None, "dim")

    def caption(self, caption: Text) -> Iterator[StyledLine]:
        if caption:
            yield from ((Span(line, "strong"),) for line in self.lines(_written(caption)))

    def left_out(self, count: int) -> Iterator[StyledLine]:
        if count:
            yield (Span(f"  … and {count} more ({self.rest})", "dim"),)

    def lines(self, text: str, indent: int = 0, hanging: int = 2) -> list[str]:
        whole = " " * indent + text
        broken = [whole] if self.width is None else wrapped(whole, self.width, hanging)
        return [line.replace(_JOINT, " ") for line in broken]


def _is_apart(before: Block | None, block: Block) -> bool:
    """Return True if an empty line separates a block from the one before; an aside directly follows the answer or a sentence."""
    if isinstance(before, Heading):
        return False
    beside = isinstance(block, Note | Items)
    return not (beside and isinstance(before, Note | Items)) and not (
        before is None and isinstance(block, Note) and block.is_aside
    )


def _marked(cells: Sequence[Cell], texts: Sequence[str]) -> tuple[str, ...]:
    """Put the place of a mark before each judgement in a row."""
    return tuple(
        f"{_PLACES[cell.outcome]}{_JOINT}{text}"
        if isinstance(cell, Verdict) and cell.outcome != "plain"
        else text
        for cell, text in zip(cells, texts, strict=True)
    )


def _spans(line: str) -> Iterator[Span]:
    """Replace the places of marks in a line by the marks in their styles."""
    for piece in filter(None, re.split(f"([{''.join(_OUTCOMES)}])", line)):
        if piece in _OUTCOMES and (outcome := _OUTCOMES[piece]) != "plain":
            yield Span(_MARKS[outcome], outcome)
        else:
            yield Span(piece)


def _written(cell: Cell) -> str:
    """Write a cell or text with foreign characters escaped; the parts of a number stay together."""
    return "".join(
        plain(piece).replace(" ", _JOINT) if isinstance(piece, Number) else _escaped(piece)
        for piece in pieces(cell)
    )


def _escaped(piece: Cell) -> str:
    return _bounds_together(piece) if isinstance(piece, Estimate) else visible(plain(piece))


def _bounds_together(found: Estimate) -> str:
    """Write an estimate that may break only before its bounds."""
    inside = f" ({found.inside})".replace(" ", _JOINT).replace(_JOINT, " ", 1) if found.inside else ""
    return found.before.replace(" ", _JOINT) + inside
