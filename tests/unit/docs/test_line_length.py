"""Markdown fits a terminal and a review: no line of it is over 120 characters, in prose, code and tables alike."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LONGEST = 120
RECORDED = "tests/golden/"
"""What programs printed."""


def sources() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return [name for name in listed.stdout.splitlines() if not name.startswith(RECORDED)]


def long_lines(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if len(line) > LONGEST)


def test_no_line_is_too_long():
    names = sources()
    if not names:
        pytest.skip("not a clone, which lists its files")
    found = {name: list(long_lines((ROOT / name).read_text())) for name in names if (ROOT / name).is_file()}
    assert {name: lines for name, lines in found.items() if lines} == {}
    assert len(names) > 100


def test_a_long_line_is_found_wherever_it_stands():
    long = "word " * 30
    assert len(list(long_lines(f"{long}\n\n```\n{long}\n```\n\n| {long} |\n"))) == 3
