"""Render documents as Markdown for forges; foreign text appears as it is, without markup, mentions or links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from markupsafe import escape

from trialwise.report.document import (
    Attached,
    Block,
    Cell,
    Chapter,
    Code,
    Details,
    Document,
    Figures,
    Heading,
    Items,
    Listing,
    Note,
    Outcome,
    Piece,
    Table,
    Text,
    Verdict,
    pieces,
    plain,
    shown_of,
)
from trialwise.visible import visible

_MARKUP = re.compile(r"([\\`*_{}\[\]|#~!])")
_LIVE = re.compile(r"@|://|www(?=\.)|#(?=\d)|GH-(?=\d)", re.IGNORECASE)
"""What forges act on even in escaped text: mentions, links, references to issues (which notify their followers)."""
_BEGINS_LIST = re.compile(r"^(\d*)([-+.)])")
_ZERO_WIDTH_SPACE = "\u200b"
_MARKS: dict[Outcome, str] = {"good": "✅ ", "bad": "❌ ", "open": "❔ ", "plain": ""}


def markdown(document: Document, *, full: bool = False) -> str:
    """Write a document for a pull request: the answer, the evidence, and the method folded away."""
    lines = [f"### {_MARKS[document.answer.outcome]}{_inline(document.answer)}"]
    lines += _blocks(document.evidence, full=full)
    if document.method:
        lines += _blocks([Details("Method", document.method)], full=full)
    return "\n".join(lines) + "\n"


def _blocks(blocks: Iterable[Block], *, full: bool) -> Iterator[str]:
    before: Block | None = None
    for block in blocks:
        if isinstance(block, Figures | Attached):
            continue
        if not (isinstance(block, Note | Items) and isinstance(before, Note | Items)):
            yield ""
        yield from _block(block, full=full)
        before = block


def _block(block: Block, *, full: bool) -> Iterator[str]:
    match block:
        case Heading(text):
            yield f"#### {_inline(text)}"
        case Note(text):
            yield _item(text)
        case Items(lines, most):
            shown, left_out = shown_of(lines, most, full=full)
            yield from map(_item, shown)
            yield from _left_out(left_out)
        case Table():
            yield from _table(block, full=full)
        case Listing(lines, caption):
            yield from _caption(caption)
            yield from _fenced([visible(line) for line in lines])
        case Chapter(_, title, blocks, answer):
            yield f"### {markdown_text(title)}"
            yield from ("", _inline(answer)) if answer else ()
            yield from _blocks(blocks, full=full)
        case Figures() | Attached():
            pass
        case Details(title, blocks):
            yield f"<details><summary>{escape(visible(title))}</summary>"
            yield from _blocks(blocks, full=full)
            yield from ("", "</details>")


def _table(table: Table, *, full: bool) -> Iterator[str]:
    yield from _caption(table.caption)
    shown, left_out = shown_of(table.rows, table.most, full=full)
    if not shown:
        yield from map(_item, table.facts)
        return
    yield _row(column.title for column in table.columns)
    yield f"|{'|'.join('---:' if column.is_numeric else '---' for column in table.columns)}|"
    yield from (_row(row) for row in shown)
    if left_out or table.facts:
        yield ""
    yield from _left_out(left_out)
    yield from map(_item, table.facts)


def _caption(caption: Text) -> Iterator[str]:
    if written := _inline(caption).strip():
        yield from (f"**{written}**", "")


def _fenced(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines verbatim, within a fence that none of them ends."""
    fence = "`" * max([3, *(len(run) + 1 for line in lines for run in re.findall("`+", line))])
    yield from (f"{fence}text", *lines, fence)


def _item(text: Text) -> str:
    """Write a list item that cannot begin a nested list."""
    return f"- {_BEGINS_LIST.sub(_escaped_end, _inline(text).strip())}"


def _escaped_end(found: re.Match[str]) -> str:
    return f"{found[1]}\\{found[2]}"


def _left_out(count: int) -> Iterator[str]:
    if count:
        yield f"- … and {count} more"


def _row(cells: Iterable[Cell]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(cell: Cell) -> str:
    if isinstance(cell, Verdict) and cell.outcome == "bad":
        return f"**{_inline(cell)}**"
    return _inline(cell)


def _inline(cell: Cell) -> str:
    """Render a text or cell; adjacent words are escaped together, since markup can also arise where two of them meet."""
    return "".join(
        "".join(markdown_code(plain(piece)) for piece in run)
        if is_code
        else markdown_text("".join(map(plain, run)))
        for is_code, run in groupby(pieces(cell), _is_code)
    )


def _is_code(piece: Piece) -> bool:
    return isinstance(piece, Code) and bool(piece.text) and not {"`", "|"} & set(piece.text)


def markdown_text(text: str) -> str:
    """Return a text that Markdown shows as it is, even in a table cell, without mentions, links and references."""
    shown = _LIVE.sub(lambda found: found[0][:1] + _ZERO_WIDTH_SPACE + found[0][1:], visible(text))
    return _MARKUP.sub(r"\\\1", shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def markdown_code(text: str) -> str:
    """Return a text as inline code."""
    return f"`{visible(text).replace('`', chr(39))}`"
