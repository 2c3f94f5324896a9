"""Generated Markdown is broken at the width of prose, and stays the same Markdown."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

PROSE = runpy.run_path(str(Path(__file__).resolve().parents[3] / "docs/prose.py"))
CODE = "`draw = { low = 1000, high = 1000000 }`"


@pytest.mark.parametrize("before", range(100, 122, 2))
@pytest.mark.parametrize(
    "piece", [CODE, "10000. Then", "- 3 and", "+ 1", "# of", "> 5", "| x", "1) first", "* b", "== c"]
)
def test_a_broken_paragraph_is_the_same_paragraph(before: int, piece: str):
    text = "word " * (before // 5) + "x" * (before % 5) + f"y {piece} after it, and more"
    lines = PROSE["wrapped"](text, "- ")
    assert max(map(len, lines)) <= 118 < len(text)
    tokens = [
        token for token in MarkdownIt("commonmark").enable("table").parse("\n".join(lines)) if token.content
    ]
    assert [token.content.replace("\n", " ") for token in tokens] == [text]


def test_code_stays_on_one_line():
    lines = PROSE["wrapped"]("word " * 20 + CODE, "  - ")
    assert lines[-1].strip() == CODE


def test_code_that_is_longer_than_a_line_is_broken():
    assert [len(line) > 118 for line in PROSE["wrapped"](f"`{'a ' * 100}b`", "- ")] == [False, False]
