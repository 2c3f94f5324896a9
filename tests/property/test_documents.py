"""Random documents with hostile names through every renderer: no number is cut, nothing acts on a terminal or a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from trialwise.report.document import (
    Block,
    Code,
    Column,
    Details,
    Document,
    Heading,
    Items,
    Listing,
    Name,
    Note,
    Table,
    Text,
    Verdict,
    pieces,
    plain,
)
from trialwise.report.numbers import Estimate, Number, estimate
from trialwise.report.render.html import html
from trialwise.report.render.junit import junit
from trialwise.report.render.latex import _SPECIAL, escaped, latex
from trialwise.report.render.markdown import markdown, markdown_text
from trialwise.report.render.terminal import terminal
from trialwise.report.render.typst import pdf, typst_data
from trialwise.visible import cell_width, visible, visible_lines

HOSTILE = [
    "\x1b[31m", "\x9b2J", "\x00", "\r", "\n", "\t", "\u202e", "\u2066", "\u200f", "\u2028", "<script>alert(1)</script>", '"><b>',
    "&amp;",     "@user", "#12", "![x](http://e.org/x.png)", "**", "`", "|", "```", "\\", "$x$", "%", "_", "^", "~", "{", "}",
    "=1+1", "+", "-",
    "@sum",     "\ud800", "名前", "e\u0301", "\\input{x}", "]]>", "www.x.org", "a" * 60, "</pre>", "</details>", "{0}", "{}", "",
]  # fmt: skip
_ANY = st.text(st.characters(exclude_characters="\u00a0"), max_size=8)
"""Without the space that holds words together, which a terminal shows as any space."""
_HOSTILE_TEXT = st.lists(st.sampled_from(HOSTILE) | _ANY, max_size=4).map("".join)
_OURS = st.sampled_from(["Head is worse: ", "not shown", "n = 12", ", by more than 3 %", "B − A"])
_VALUES = st.none() | st.floats(-1e12, 1e12) | st.floats(-10, 10)
_KINDS = st.sampled_from(["number", "given", "count", "p_value", "duration"])


@st.composite
def _numbers(draw: st.DrawFn) -> Number:
    kind = draw(_KINDS)
    value = draw(_VALUES)
    if value is not None and kind != "number":
        value = abs(value) % 1 if kind == "p_value" else abs(value)
    unit = draw(st.sampled_from(["", "ms", "%", "Mbit/s"]))
    return Number(value, "/a/0", unit, kind=kind, sign=draw(st.booleans()))


@st.composite
def _estimates(draw: st.DrawFn):
    low, value, high = sorted(draw(st.tuples(*[st.floats(-1e7, 1e7)] * 3)))
    ends = draw(st.sampled_from([(low, high), (None, high), (low, None), (None, None)]))
    return estimate(value, *ends, unit=draw(st.sampled_from(["", "%"])), sign=draw(st.booleans()))


_NAMES = st.builds(Name, _HOSTILE_TEXT)
_PIECES = st.one_of(_OURS, _HOSTILE_TEXT, _NAMES, st.builds(Code, _HOSTILE_TEXT), _numbers(), _estimates())
_TEXTS = st.lists(_PIECES, min_size=1, max_size=5).map(tuple)
_VERDICTS = st.builds(Verdict, st.sampled_from(["good", "bad", "open", "plain"]), _TEXTS)


@st.composite
def _tables(draw: st.DrawFn) -> Table:
    columns = (Column("name"), *draw(st.lists(st.builds(Column, _OURS, st.booleans()), max_size=6)))
    cells = st.one_of(_PIECES, _TEXTS, _VERDICTS)
    rows = draw(st.lists(st.tuples(_NAMES, *[cells] * (len(columns) - 1)), max_size=5))
    return Table(
        draw(_HOSTILE_TEXT),
        draw(_TEXTS),
        columns,
        tuple(rows),
        draw(st.lists(_TEXTS, max_size=2).map(tuple)),
        most=3,
    )


_BLOCKS: st.SearchStrategy[Block] = st.one_of(
    st.builds(Heading, _TEXTS),
    st.builds(Note, _TEXTS, st.sampled_from(["claim", "descriptive", "refusal", "remark"]), st.booleans()),
    st.builds(Items, st.lists(_TEXTS, max_size=5).map(tuple), st.sampled_from([None, 2])),
    _tables(),
    st.builds(Listing, st.lists(_HOSTILE_TEXT, max_size=3).map(tuple), _TEXTS),
)
_ANY_BLOCKS = st.lists(
    st.one_of(_BLOCKS, st.builds(Details, _HOSTILE_TEXT, st.lists(_BLOCKS, max_size=2).map(tuple))),
    max_size=4,
).map(tuple)
_DOCUMENTS = st.builds(Document, st.just("ab"), _VERDICTS, _ANY_BLOCKS, _ANY_BLOCKS)
_WIDTHS = st.one_of(st.none(), st.integers(8, 250))


def numbers_of(document: Document) -> list[str]:
    """The digits of every number that is to be read somewhere, as the one writer has them."""
    cells = [*document.answer.text]
    for table in document.tables:
        cells += [
            piece
            for row in table.rows
            for cell in row
            for piece in (cell if isinstance(cell, tuple) else (cell,))
        ]
    return [plain(cell) for cell in cells if isinstance(cell, Number)]


def printed(document: Document, width: int | None) -> str:
    return "\n".join("".join(span.text for span in line) for line in terminal(document, width, full=True))


@settings(max_examples=60)
@given(_DOCUMENTS, _WIDTHS)
def test_no_number_is_cut_in_a_terminal(document: Document, width: int | None) -> None:
    unbroken = printed(document, width)
    for number in numbers_of(document):
        assert number in unbroken


@settings(max_examples=60)
@given(_DOCUMENTS, _WIDTHS, st.booleans())
def test_nothing_acts_on_a_terminal(document: Document, width: int | None, full: bool) -> None:
    lines = list(terminal(document, width, full=full))
    for line in lines:
        text = "".join(span.text for span in line)
        assert text == visible_lines(text)
        assert "\n" not in text
        assert "\t" not in text


def held_together(document: Document) -> set[str]:
    """What is not broken over lines though it has spaces: numbers with their units, and bounds."""
    found: set[str] = set()
    for text in texts_of(document.blocks, document.answer.text):
        for piece in text:
            if isinstance(piece, Number):
                found.add(piece.with_unit)
            elif isinstance(piece, Estimate):
                found |= {piece.before, f"({piece.inside})"}
    return found


def texts_of(blocks: tuple[Block, ...], first: Text = ()) -> Iterator[Text]:
    yield first
    for block in blocks:
        match block:
            case Heading(text) | Note(text):
                yield text
            case Items(lines):
                yield from lines
            case Table():
                yield from (
                    block.caption,
                    *block.facts,
                    *(pieces(cell) for row in block.rows for cell in row),
                )
            case Listing(_, caption):
                yield caption
            case Details(_, inner):
                yield from texts_of(inner)


@settings(max_examples=60)
@given(_DOCUMENTS, st.integers(8, 250))
def test_a_line_of_a_terminal_is_too_long_only_where_it_cannot_break(document: Document, width: int) -> None:
    copied = {visible(line) for line in listed(document.blocks)}
    held = sorted(held_together(document), key=len, reverse=True)
    for line in printed(document, width).splitlines():
        if cell_width(line) > width and line.strip() not in {each.strip() for each in copied}:
            rest = re.sub(r"^[\s✓✗~?·]*", "", line)
            for text in held:
                rest = rest.replace(text, "#" * len(text))
            assert " " not in rest


def listed(blocks: tuple[Block, ...]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Listing):
            yield from block.lines
        elif isinstance(block, Details):
            yield from listed(block.blocks)


@settings(max_examples=60)
@given(_DOCUMENTS)
def test_the_first_line_is_the_answer(document: Document) -> None:
    first = "".join(span.text for span in next(iter(terminal(document, None))))
    assert first.startswith(
        visible_lines(plain(document.answer.text[0]))[:5].replace("\t", "\\x09").replace("\n", "\\x0a")
    )


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.open.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@settings(max_examples=60)
@given(_DOCUMENTS)
def test_html_holds_the_tags_of_the_renderer_alone(document: Document) -> None:
    text = str(html(document))
    found = _Tags()
    found.feed(text)
    found.close()
    assert found.tags <= {
        "section", "div", "p", "span", "code", "h3", "h4", "ul", "li", "pre", "details", "summary",
        "table", "caption", "thead", "tbody", "tr", "th", "td",
    }  # fmt: skip
    assert found.attributes <= {
        "id",
        "class",
        "tabindex",
        "role",
        "aria-label",
        "scope",
        "data-path",
        "data-rounding",
        "data-power",
        "title",
    }
    assert found.open == []
    assert visible_lines(text) == text


GITHUB = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
SHOWN = {
    "heading", "bullet_list", "list_item", "paragraph", "inline", "table", "thead", "tbody", "tr", "th", "td", "fence", "html_block",
    "text", "text_special", "code_inline", "strong", "html_inline",
}  # fmt: skip


@settings(max_examples=60)
@given(_DOCUMENTS)
def test_markdown_holds_no_markup_of_names(document: Document) -> None:
    written = markdown(document, full=True)
    assert visible_lines(written) == written
    tokens = [each for token in GITHUB.parse(written) for each in (token, *(token.children or ()))]
    assert {token.type.removesuffix("_open").removesuffix("_close") for token in tokens} <= SHOWN
    assert max((token.level for token in tokens if token.type == "bullet_list_open"), default=0) == 0
    for token in tokens:
        if token.type in ("html_block", "html_inline"):
            assert set(re.findall(r"<[^>]*>", token.content)) <= {
                "<details>",
                "<summary>",
                "</summary>",
                "</details>",
            }
        if token.type == "text":
            assert not re.search(r"@\w|://|#\d", token.content)


@settings(max_examples=60)
@given(_DOCUMENTS)
def test_markdown_shows_every_text(document: Document) -> None:
    tokens = [
        each
        for token in GITHUB.parse(markdown(document, full=True))
        for each in (token, *(token.children or ()))
    ]
    shown = "".join(
        token.content for token in tokens if token.type in ("text", "text_special", "code_inline", "fence")
    )
    squeezed = re.sub(r"[\s\u200b]", "", shown)
    for text in texts_of(document.blocks, document.answer.text):
        for piece in text:
            assert re.sub(r"[\s\u200b]", "", visible(plain(piece))).replace("`", "'") in squeezed.replace(
                "`", "'"
            )


@settings(max_examples=60)
@given(st.lists(_tables(), min_size=1, max_size=3))
def test_a_row_of_markdown_has_a_cell_for_each_column(tables: list[Table]) -> None:
    text = markdown(Document("ab", Verdict("plain", ("x",)), tuple(tables)), full=True)
    lines = iter(line for line in text.splitlines() if line.startswith("|"))
    for table in tables:
        for _ in range(2 + len(table.rows) if table.rows else 0):
            assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", next(lines))) == len(table.columns) + 1


_SYMBOLS = "".join(_SPECIAL)


@settings(max_examples=60)
@given(_DOCUMENTS)
@example(Document("ab", Verdict("good", (Name(_SYMBOLS),)), (Note((_SYMBOLS,)),)))
def test_latex_holds_no_command_of_names(document: Document) -> None:
    commands = {
        "begin", "end", "caption", "label", "toprule", "midrule", "bottomrule", "texttt", "ensuremath", "times", "par", "surd",
        "ldots", "newcommand", "mu", "delta", "Delta", "eta", "omega", "infty", "bullet", "circ", "pm", "cdot", "rightarrow",
        *(f"text{name}" for name in ("backslash", "asciitilde", "asciicircum", "less", "greater", "bar", "quotedbl", "asciigrave")),
    }  # fmt: skip
    for text in latex(document).values():
        assert visible_lines(text) == text
        assert set(re.findall(r"(?<!\\)(?:\\\\)*\\([A-Za-z]+)", text)) <= commands
        assert not re.search(r"(?<!\\)[%#]", text)
        assert not re.search(r"[<>|\"]", re.sub(r"\\ensuremath\{[^}]*\}", "", text))
        assert not re.search(r"(?<!\\)(?:\\\\)*\^(?!\{|2|\\circ)", text)


@settings(max_examples=60)
@given(_DOCUMENTS)
def test_junit_is_xml_whatever_the_names(document: Document) -> None:
    root = ET.fromstring(junit(document, datetime(2026, 11, 26, tzinfo=UTC)))  # noqa: S314 our own
    cases = root.findall(".//testcase")
    judged = sum(
        any(isinstance(cell, Verdict) for cell in row) for table in document.tables for row in table.rows
    )
    assert len(cases) == (judged or 1)


@settings(max_examples=60)
@given(st.tuples(*[st.floats(-1e8, 1e8)] * 3).map(sorted), st.booleans())
def test_bounds_never_move_inward_and_keep_their_side_of_0(ends: list[float], sign: bool) -> None:
    low, value, high = ends
    _, down, up = estimate(value, low, high, sign=sign).texts
    slack = Decimal("1e-11")  # twelve digits of a float are read
    assert Decimal(down) <= Decimal(low) + abs(Decimal(low)) * slack
    assert Decimal(up) >= Decimal(high) - abs(Decimal(high)) * slack
    assert (Decimal(down) > 0) == (low > 0)
    assert (Decimal(up) < 0) == (high < 0)


def test_an_estimate_has_the_digits_that_its_width_leaves() -> None:
    assert estimate(16.31, 0.2534, 34.61, "%", sign=True).text == "+16 % (+0.2 to +35)"
    assert estimate(12.3456, 12.1, 12.6, "ms").text == "12.35 ms (12.10 to 12.60)"
    assert estimate(81157.3, 80521.2, 81793.4).text == "81157 (80521 to 81794)"
    assert estimate(-0.0412, -0.0432, -0.0391, sign=True).text == "-0.0412 (-0.0432 to -0.0391)"
    assert estimate(3.0, None, None, "ms").text == "3 ms (no bounds)"
    assert estimate(3.0, 1.0, None).text == "3.0 (at least 1.0)"
    assert estimate(None, None, None).text == "–"


def test_escapes_agree_with_those_of_text_alone() -> None:
    assert escaped("a_b") == r"a\_b"
    assert markdown_text("a_b") == r"a\_b"


def test_nothing_comes_alive_where_two_pieces_meet() -> None:
    """`#` before a number is a reference to an issue, and `@` before a name somebody who is told."""
    answer = ("#", Number(7.0), " GH-", Number(1.0), " http:", "//", Name("x.org"), " @", Name("somebody"))
    written = markdown(Document("ab", Verdict("plain", answer)))
    assert not re.search(r"#7|GH-1|://|@s", written.replace("\\", ""))
    assert "somebody" in written


def strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from strings(part)
    elif isinstance(value, str):
        yield value


@settings(max_examples=40)
@given(_DOCUMENTS)
def test_paper_has_every_number_and_sets_foreign_text_as_text(document: Document) -> None:
    """What typst would take for markup reaches it as strings of its data; a document of any names is set."""
    data = typst_data(document, {}, "a title")
    texts = list(strings(data))
    assert all(text == visible_lines(text) for text in texts)
    shown = "\n".join("".join(run[1] for run in runs) for runs in rows_of(data))
    for table in document.tables:
        for row in table.rows:
            for cell in row:
                assert visible_lines(plain(cell)) in shown
    assert pdf(document, {}, "a title").startswith(b"%PDF")


def rows_of(data: dict) -> Iterator[list]:
    """The cells of all tables, each as runs."""
    for block in data["blocks"]:
        if block["kind"] == "table":
            for row in block["rows"]:
                yield from row
