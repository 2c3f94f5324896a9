"""Prose in Markdown fits a terminal and a review: no line of it is over 120 characters."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LONGEST = 120
APART = ("CHANGELOG.md", "tests/golden/")
"""What is written at a release, and what programs recorded."""


def sources() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return [name for name in listed.stdout.splitlines() if not name.startswith(APART)]


def long_prose(text: str) -> Iterator[str]:
    """Yield the lines that are too long, without code and tables."""
    fence = ""
    for line in text.splitlines():
        start = line.strip()
        if start.startswith(fence or ("```", "~~~")):
            fence = "" if fence else start[:3]
        elif not fence and not start.startswith("|") and len(line) > LONGEST:
            yield line


def test_prose_is_wrapped():
    names = sources()
    if not names:
        pytest.skip("not a clone, which lists its files")
    found = {name: list(long_prose((ROOT / name).read_text())) for name in names if (ROOT / name).is_file()}
    assert {name: lines for name, lines in found.items() if lines} == {}
    assert len(names) > 100


def test_a_long_line_is_found_outside_of_code_and_tables():
    long = "word " * 30
    assert list(long_prose(f"{long}\n\n```\n{long}\n```\n\n| {long} |\n")) == [long]
