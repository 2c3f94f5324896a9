"""A result before rendering: an answer, evidence, the method; blocks of text and tables of typed cells.

A document holds numbers, names and words apart. The renderers of `trialwise.report.render` turn it into terminal lines, HTML,
Markdown, LaTeX and JUnit; rounding, escaping, wrapping and "and N more" happen only there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from trialwise.report.numbers import ABSENT, Estimate, Number

Item = TypeVar("Item")
Standing = Literal["claim", "descriptive", "refusal", "remark", "warning"]
"""What a sentence is: true of further trials, a description of these, a refusal, something to know, or a warning."""
Outcome = Literal["good", "bad", "open", "plain"]
"""What an answer means for a gate: pass, fail, undecided, or neither good nor bad."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name given by a user or a file, set apart from the words around it."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """Something to type: a command, an option, a key of the experiment file."""

    text: str


Piece = str | Number | Estimate | Name | Code
Text = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judgement as text, with its outcome."""

    outcome: Outcome
    text: Text


Cell = Piece | Text | Verdict


@dataclass(frozen=True, slots=True)
class Column:
    """A column; numbers are right-aligned, and narrow media leave remarks out."""

    title: str
    is_numeric: bool = False
    is_remark: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of what follows."""

    text: Text


@dataclass(frozen=True, slots=True)
class Note:
    """A separate sentence; `is_aside` marks one that belongs to what is above it."""

    text: Text
    standing: Standing = "remark"
    is_aside: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """Sentences of one kind, of which at most `most` are shown unless all are requested."""

    lines: tuple[Text, ...]
    most: int | None = 30


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `key` is its name in files and links. Of more than `most` rows, the first are shown unless all are requested.

    `facts` are sentences below it that explain its columns.
    """

    key: str
    caption: Text
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    facts: tuple[Text, ...] = ()
    most: int | None = 30

    @property
    def without_remarks(self) -> Table:
        """Return the table without its columns of remarks."""
        kept = [place for place, column in enumerate(self.columns) if not column.is_remark]
        rows = tuple(tuple(row[place] for place in kept) for row in self.rows)
        return replace(self, columns=tuple(self.columns[place] for place in kept), rows=rows)


@dataclass(frozen=True, slots=True)
class Listing:
    """Lines to copy verbatim, such as those of an experiment file, or a picture in characters."""

    lines: tuple[str, ...]
    caption: Text = ()
    indent: int = 2


@dataclass(frozen=True, slots=True)
class Details:
    """Content that is folded where a medium can fold, unless it `is_open`; `summary` says in brief what it holds."""

    title: str
    blocks: tuple[Block, ...]
    summary: str = ""
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: `spec` is Vega-Lite, `caption` says what it shows, `alternative` is its text for people who cannot see it.

    `whole`: it takes the whole width of the page; `least` is the width in pixels below which it scrolls, 0 for none. `file` is its
    name in print without an ending, empty if it is not printed by itself.
    """

    key: str
    title: str
    caption: str
    alternative: str
    spec: dict[str, Any]
    whole: bool = False
    least: int = 0
    file: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures under a title, for media that draw."""

    title: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Attached:
    """A file inside a page: its name, its description, and its text."""

    name: str
    what: str
    text: str


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of a long document that can be linked to; `answer` is its conclusion.

    `place` is the HTML attribute that locates its numbers in their JSON document; empty if there is none.
    """

    key: str
    title: str
    blocks: tuple[Block, ...]
    answer: Verdict | None = None
    place: str = "data-path"


Block = Heading | Note | Items | Table | Listing | Details | Figures | Attached | Chapter


@dataclass(frozen=True, slots=True)
class Document:
    """A result: the answer in one sentence, the evidence for it, and last the method."""

    key: str
    answer: Verdict
    evidence: tuple[Block, ...] = ()
    method: tuple[Block, ...] = ()

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks, in reading order."""
        return (*self.evidence, *self.method)

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables, including folded ones."""
        return tuple(block for block in _unfolded(self.blocks) if isinstance(block, Table))

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures."""
        groups = (block for block in _unfolded(self.blocks) if isinstance(block, Figures))
        return tuple(figure for group in groups for figure in group.figures)

    @property
    def chapters(self) -> tuple[Chapter, ...]:
        """The chapters, in order."""
        return tuple(block for block in self.blocks if isinstance(block, Chapter))

    def as_chapter(self, title: str, place: str = "data-path") -> Chapter:
        """Return the document as a chapter of a longer one."""
        return Chapter(self.key, title, self.blocks, self.answer, place)


def _unfolded(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        if isinstance(block, Details | Chapter):
            yield from _unfolded(block.blocks)
        else:
            yield block


def table_of(
    key: str,
    caption: str,
    titles: Iterable[str],
    rows: Iterable[tuple[Cell, ...]],
    numeric: Collection[int] = (),
    remarks: Collection[int] = (),
    optional: Collection[int] = (),
) -> Table:
    """Make a table that shows every row; `numeric` and `remarks` are the indices of columns of these kinds.

    A column of remarks, or an `optional` one, is left out where it is empty.
    """
    members = list(rows)
    silent = {
        place for place in (*remarks, *optional) if all(plain(row[place]) in ("", ABSENT) for row in members)
    }
    columns = (
        Column(title, place in numeric, place in remarks)
        for place, title in enumerate(titles)
        if place not in silent
    )
    kept = (tuple(cell for place, cell in enumerate(row) if place not in silent) for row in members)
    return Table(key, (caption,) if caption else (), tuple(columns), tuple(kept), most=None)


def plain(piece: Cell) -> str:
    """Return a cell or a text as plain characters, without markup; foreign characters stay as they are."""
    if isinstance(piece, str):
        return piece
    if isinstance(piece, Number):
        return piece.with_unit
    if isinstance(piece, Verdict):
        return plain(piece.text)
    if isinstance(piece, tuple):
        return "".join(map(plain, piece))
    return piece.text


def joined(texts: Iterable[Cell], between: str = ", ") -> Text:
    """Join texts, with `between` between them."""
    found: list[Piece] = []
    for text in texts:
        found += [between] if found else []
        found += pieces(text)
    return tuple(found)


def pieces(cell: Cell) -> Text:
    """Return a cell as a text."""
    if isinstance(cell, Verdict):
        return cell.text
    return cell if isinstance(cell, tuple) else (cell,)


def shown_of(items: tuple[Item, ...], most: int | None, *, full: bool) -> tuple[tuple[Item, ...], int]:
    """Return the items shown, and the number of those that are not."""
    kept = items if full or most is None else items[:most]
    return kept, len(items) - len(kept)
