from __future__ import annotations

import io
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialwise.cli.console import message_console
from trialwise.cli.output import print_json
from trialwise.cli.text import echo, say_document, show_document, whole_words
from trialwise.exchange.csv_text import csv_text
from trialwise.report.document import Document, Verdict
from trialwise.report.html import page, script_json
from trialwise.report.render.markdown import markdown_text
from trialwise.visible import visible

_HOSTILE = "a\x1b]0;owned\x07\x1b[2J\x9b2J\u202eevil\u2066\u2028\x7f\ud800b"


def _acts(text: str) -> list[str]:
    """Characters that a terminal or a page acts on, by Unicode's own classes."""
    bidirectional = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    return [
        each
        for each in text
        if (unicodedata.category(each) in ("Cc", "Zl", "Zp", "Cs") and each != "\n")
        or unicodedata.bidirectional(each) in bidirectional
        or each in "\u200e\u200f\u061c"
    ]


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_visible_text_acts_on_nothing_and_stays_as_it_is(text: str) -> None:
    shown = visible(text)
    assert _acts(shown) == []
    assert visible(shown) == shown


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_letters_numbers_and_signs_of_all_scripts_stay(text: str) -> None:
    assert visible(text) == text


def test_each_way_to_a_reader_shows_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = Document("x", Verdict("plain", (_HOSTILE,)))
    say_document(hostile)
    show_document(message_console(), hostile)
    echo(_HOSTILE)
    message_console().print(_HOSTILE, markup=False)
    printed = "".join(capsys.readouterr())
    assert _acts(printed) == []
    assert printed.count("\\x1b[2J") == 4
    assert _acts(csv_text(["x"], [[_HOSTILE]])) == []
    assert _acts(markdown_text(_HOSTILE)) == []
    whole = page(Document("x", Verdict("plain", (_HOSTILE,))), {}, title=f"<b>{_HOSTILE}", lead=[_HOSTILE])
    written = whole.partition("<script>")[0]  # then come our scripts, which have tabs
    assert _acts(written) == []
    assert "<b>" not in written.partition("<style>")[0]


def test_json_keeps_its_meaning() -> None:
    text = io.StringIO()
    name = _HOSTILE.replace("\ud800", "")
    print_json({"name": name}, text)
    assert _acts(text.getvalue()) == []
    assert json.loads(text.getvalue()) == {"name": name}


def test_data_in_a_page_shows_what_would_end_an_expression() -> None:
    shown = json.loads(script_json({"level": "a\u2028b\\u2028\u202e😀"}))["level"]
    assert shown == "a\\u2028b\\u2028\\u202e😀"


def test_a_spreadsheet_finds_no_formula_and_keeps_numbers() -> None:
    rows = [["=HYPERLINK(1)", "@x", "+1", "-2.5", "-x", -3.5, None]]
    assert csv_text(["a"] * 7, rows).splitlines()[1] == "'=HYPERLINK(1),'@x,+1,-2.5,'-x,-3.5,"
    assert csv_text(["a"], [["-"]]) == "a\n-\n"


@pytest.mark.parametrize(
    "text", ["@user", "https://example.org", "www.example.org", "a | b", "<img src=x>", "*b*", "#12", "GH-12"]
)
def test_markdown_neither_mentions_nor_links_nor_marks_up(text: str) -> None:
    shown = markdown_text(text)
    assert text not in shown
    assert "<" not in shown


def test_a_shortened_line_holds_whole_words() -> None:
    assert whole_words("delay of cubic ± 0.12345 ms", 22) == "delay of cubic ± …"
    assert whole_words("short", 22) == "short"
