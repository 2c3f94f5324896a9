"""Render documents as HTML: a section for a page, with each number's place in the JSON document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from urllib.parse import quote

from markupsafe import Markup, escape

from trialwise.report.document import (
    Attached,
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
    Piece,
    Standing,
    Table,
    Text,
    Verdict,
    pieces,
    plain,
    shown_of,
)
from trialwise.report.numbers import ABSENT, Estimate, Number
from trialwise.visible import visible, visible_lines

_EMPTY = Markup("")
_ROOM = ((80, Markup(' class="words long"')), (12, Markup(' class="words"')))
"""Class of a page's cell with more characters than this."""
_TALL = 30
"""A table with more rows scrolls."""
_SHORT = 12
"""A table with at most this many rows is never broken on paper and stands beside others where there is room."""
_TALLEST = 640
"""A figure that is higher, in pixels, scrolls."""
_WORDS: dict[Standing, str] = {
    "claim": "holds",
    "descriptive": "descriptive only",
    "refusal": "no claim",
}
"""Sentences that form a list, each with a word for its standing."""


def html(document: Document, *, place: str = "data-path") -> Markup:
    """Write a document as a section; `place` is the attribute that locates a number in its JSON document."""
    page = _Page(place)
    body = page.answer(document.answer) + page.blocks(document.blocks)
    return Markup('<section id="{}">\n{}</section>\n').format(document.key, body)


class _Page:
    def __init__(self, place: str, said: set[str] | None = None) -> None:
        self.place = place
        self.said = set[str]() if said is None else said

    def again(self, text: str) -> str:
        """The class of a remark that stood on the page before word by word, which paper leaves out; empty the first time."""
        is_known = text in self.said
        self.said.add(text)
        return " again" if is_known else ""

    def answer(self, verdict: Verdict) -> Markup:
        return Markup('<p class="verdict {}">{}</p>\n').format(verdict.outcome, self.text(verdict.text))

    def text(self, cell: Cell) -> Markup:
        """Render a text or a cell; a verdict's class gives its outcome."""
        found = _EMPTY.join(html_text(piece, self.place) for piece in pieces(cell))
        return (
            Markup('<span class="{}">{}</span>').format(cell.outcome, found)
            if isinstance(cell, Verdict)
            else found
        )

    def blocks(self, blocks: Iterable[Block]) -> Markup:
        """Render blocks in sequence; consecutive sentences with a standing become a list."""
        parts = (
            self.sentences(run)
            if is_judged
            else _EMPTY.join(part for block in run for part in self.block(block))
            for is_judged, run in groupby(
                blocks, lambda block: isinstance(block, Note) and block.standing in _WORDS
            )
        )
        return _EMPTY.join(parts)

    def sentences(self, notes: Iterable[Block]) -> Markup:
        mark = Markup('<li class="{}"><span class="mark">{}</span>{}</li>\n')
        items = (
            mark.format(note.standing, _WORDS[note.standing], self.text(note.text))
            for note in notes
            if isinstance(note, Note)
        )
        return Markup('<ul class="claims">\n{}</ul>\n').format(_EMPTY.join(items))

    def block(self, block: Block) -> Iterator[Markup]:
        match block:
            case Heading(text):
                yield Markup("<h3>{}</h3>\n").format(self.text(text))
            case Note(text, standing):
                look = "warning" if standing == "warning" else "lead"
                again = self.again(plain(text)) if standing == "remark" else ""
                yield Markup('<p class="{}{}">{}</p>\n').format(look, again, self.text(text))
            case Items(lines, most):
                shown, left_out = shown_of(lines, most, full=False)
                items = [Markup("<li>{}</li>\n").format(self.text(line)) for line in shown]
                yield Markup("<ul>\n{}</ul>\n").format(_EMPTY.join(items) + _left_out("li", left_out))
            case Table():
                yield self.table(block)
            case Listing(lines, caption):
                yield self.caption("h4", caption)
                yield Markup('<pre tabindex="0">{}</pre>\n').format("\n".join(map(visible, lines)))
            case Details():
                yield self.details(block)
            case Figures():
                yield self.figures(block)
            case Attached():
                yield _attached(block)
            case Chapter():
                yield self.chapter(block)

    def details(self, folded: Details) -> Markup:
        summary = (
            Markup(" <small>– {}</small>").format(unbroken(visible(folded.summary)))
            if folded.summary
            else _EMPTY
        )
        return Markup("<details{}>\n<summary>{}{}</summary>\n{}</details>\n").format(
            Markup(" open") if folded.is_open else _EMPTY,
            unbroken(visible(folded.title)),
            summary,
            self.blocks(folded.blocks),
        )

    def chapter(self, chapter: Chapter) -> Markup:
        own = _Page(chapter.place, self.said)
        answer = own.answer(chapter.answer) if chapter.answer else _EMPTY
        frame = Markup('<section aria-labelledby="{0}">\n<h2 id="{0}">{1}</h2>\n{2}{3}</section>\n')
        return frame.format(chapter.key, visible(chapter.title), answer, own.blocks(chapter.blocks))

    def table(self, table: Table) -> Markup:
        shown, left_out = shown_of(table.rows, table.most, full=False)
        kinds = [Markup(' class="numeric"') if column.is_numeric else _EMPTY for column in table.columns]
        heads = [
            Markup('<th scope="col"{}>{}</th>').format(kind, visible(column.title))
            for kind, column in zip(kinds, table.columns, strict=True)
        ]
        rows = [[self.cell(cell, kind) for kind, cell in zip(kinds, row, strict=True)] for row in shown]
        body = _EMPTY.join(Markup("<tr>{}</tr>\n").format(_EMPTY.join(row)) for row in rows)
        frame = Markup('<p class="lead{}">{}</p>\n')
        facts = [frame.format(self.again(plain(text)), self.text(text)) for text in table.facts]
        if not shown:
            return self.caption("p", table.caption) + _EMPTY.join(facts)
        frame = Markup(
            '<div class="wide{}" tabindex="0" role="region" aria-label="{}">\n<table id="table-{}">\n{}'
            "<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table>\n</div>\n"
        )
        title = visible(plain(table.caption)) or visible(table.key)
        whole = frame.format(
            " tall-table" if len(shown) > _TALL else " short" if len(shown) <= _SHORT else "",
            title,
            visible(table.key),
            self.caption("caption", table.caption),
            _EMPTY.join(heads),
            body,
        )
        return whole + _left_out("p", left_out) + _EMPTY.join(facts)

    def figures(self, group: Figures) -> Markup:
        look = "figures single" if len(group.figures) == 1 else "figures"
        heading = Markup("<h3>{}</h3>\n").format(visible(group.title)) if group.title else _EMPTY
        drawn = _EMPTY.join(_figure(figure, self.again(figure.caption)) for figure in group.figures)
        return heading + Markup('<div class="{}">\n{}</div>\n').format(look, drawn)

    def cell(self, cell: Cell, kind: Markup) -> Markup:
        """Render a cell of a row; longer words and names keep room on narrow pages."""
        length = 0 if kind else len(plain(cell))
        room = next((words for least, words in _ROOM if length > least), kind)
        return Markup("<td{}>{}</td>").format(room, self.text(cell))

    def caption(self, tag: str, caption: Text) -> Markup:
        return Markup("<{0}>{1}</{0}>\n").format(tag, self.text(caption)) if caption else _EMPTY


def _attached(file: Attached) -> Markup:
    link = Markup(
        '<p class="lead screen"><a download="{0}" href="data:text/csv;charset=utf-8,{1}">{0}</a>: {2}</p>\n'
    )
    return link.format(file.name, quote(file.text), file.what)


def _figure(figure: Figure, again: str) -> Markup:
    """Render the place where a script draws a figure, with its text alternative; `again` is the class of its caption."""
    title = unbroken(visible_lines(figure.title))
    height = figure.spec.get("height", 0)
    tall = Markup(" tall") if height > _TALLEST and not figure.least else _EMPTY
    least = Markup(' style="min-width: {}px"').format(figure.least) if figure.least else _EMPTY
    plot = Markup('<div class="plot{}"{} data-figure="{}" role="group" aria-label="{}"></div>\n').format(
        tall, least, visible(figure.key), visible_lines(figure.alternative)
    )
    if figure.least:
        broad = Markup('<div class="broad" tabindex="0" role="region" aria-label="{}">\n{}</div>\n')
        plot = broad.format(title, plot)
    look = Markup(' class="whole"') if figure.whole else _EMPTY
    caption = unbroken(visible_lines(figure.caption))
    known = Markup(' class="{}"').format(again.strip()) if again else _EMPTY
    return Markup("<figure{}>\n<h4>{}</h4>\n{}<figcaption{}>{}</figcaption>\n</figure>\n").format(
        look, title, plot, known, caption
    )


def _left_out(tag: str, count: int) -> Markup:
    return Markup("<{0}>… and {1} more</{0}>\n").format(tag, count) if count else _EMPTY


def html_text(piece: Piece, place: str = "data-path") -> Markup:
    """Render a piece of a text; numbers carry their place in the JSON document, their rounding and their scale."""
    match piece:
        case Number():
            return _with_unit(piece, place)
        case Estimate():
            return _estimate(piece, place)
        case Name(text) | Code(text):
            return Markup("<code>{}</code>").format(visible(text))
        case str():
            return _quoted(piece)


def _with_unit(number: Number, place: str) -> Markup:
    shown = _number(number, number.text, place)
    has_unit = number.unit and number.text != ABSENT
    return shown + Markup("&nbsp;{}").format(number.unit) if has_unit else shown


def _estimate(found: Estimate, place: str) -> Markup:
    value, low, high = found.texts
    unit = Markup("&nbsp;{}").format(found.value.unit) if found.value.unit and value != ABSENT else _EMPTY
    ends = [
        _number(number, text, place)
        for number, text in ((found.low, low), (found.high, high))
        if text != ABSENT
    ]
    words = "at most " if low == ABSENT else "at least " if high == ABSENT else ""
    inside = words + Markup(" to ").join(ends)
    bounds = Markup(" ({})").format(inside if ends else found.unbounded) if found.inside else _EMPTY
    return _number(found.value, value, place) + unit + bounds


def _number(number: Number, text: str, place: str) -> Markup:
    tag = Markup('<span class="number"{} data-rounding="{}"{}{}>{}</span>')
    known = Markup(' title="{}"').format(number.basis.text) if number.basis else _EMPTY
    power = Markup(' data-power="{}"').format(number.power) if number.power else _EMPTY
    pointer = Markup(' {}="{}"').format(place, number.pointer) if place and number.pointer else _EMPTY
    return tag.format(pointer, number.rounding, power, known, text)


def _quoted(text: str) -> Markup:
    """Render a text in which backticks mark code."""
    words, *parts = (escape(unbroken(part)) for part in visible_lines(text).split("`"))
    return words + _EMPTY.join(_code(parts))


def _code(parts: Iterable[Markup]) -> Iterator[Markup]:
    for place, part in enumerate(parts):
        yield Markup("<code>{}</code>").format(part) if place % 2 == 0 else part


def unbroken(text: str) -> str:
    """Keep percentages and counts from breaking across lines."""
    return text.replace(" %", "\u00a0%").replace("n = ", "n\u00a0=\u00a0")
