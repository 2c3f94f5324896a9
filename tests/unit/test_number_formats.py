"""Digits are made by the writer of numbers alone: what makes results, documents and messages has no format of floats of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "trialwise"
ROOMS = ("analysis", "report/documents", "report/render", "wording", "cli")
FLOAT = re.compile(r"[-+ #0,_<>^=\d]*(\.(\d+|\{\}))?[eEfFgG%]")
"""The specifications of Python's mini-language that write a float; those of dates have a % before a letter."""
FIELD = re.compile(r"\{[^{}:]*:([^{}]*)\}")


def specifications(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The format specifications of f-strings, of `format` with a specification, and of texts for `str.format`, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue) and isinstance(node.format_spec, ast.JoinedStr):
            parts = node.format_spec.values
            yield (
                node.lineno,
                "".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in parts),
            )
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "format" and len(node.args) == 2:
            yield node.lineno, ast.unparse(node.args[1]).strip("'\"")
        elif (
            isinstance(node, ast.Attribute) and node.attr == "format" and isinstance(node.value, ast.Constant)
        ):
            yield from ((node.lineno, spec) for spec in FIELD.findall(str(node.value.value)))


def of_floats(text: str) -> list[tuple[int, str]]:
    return [(line, spec) for line, spec in specifications(ast.parse(text)) if FLOAT.fullmatch(spec)]


@pytest.mark.parametrize("room", ROOMS)
def test_numbers_are_written_by_the_one_writer(room: str) -> None:
    files = sorted((SOURCE / room).rglob("*.py"))
    found = {str(file.relative_to(SOURCE)): of_floats(file.read_text()) for file in files}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "text",
    ['f"{x:g}"', 'f"{x:.3f}"', 'f"{x:+.{n}e}"', 'f"{x:,.0f}"', 'f"{x:.1%}"', 'format(x, ".2f")', '"{:.2f}".format(x)', 'f"{x:8.3f}"'],
)  # fmt: skip
def test_a_format_of_floats_is_seen(text: str) -> None:
    assert of_floats(text)


@pytest.mark.parametrize(
    "text", ['f"{x:,}"', 'f"{x:>8}"', 'f"{x:%Y-%m-%d}"', 'f"{x!r}"', 'f"{x:05d}"', '"{}".format(x)']
)
def test_other_formats_are_not(text: str) -> None:
    assert not of_floats(text)
