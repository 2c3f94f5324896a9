"""Documents of commands: each number stands in the JSON document of the same command where it says, with that value."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from json_pointer import resolve
from made_documents import MADE, STATES, Made, ab
from trialwise.report.document import (
    Block,
    Details,
    Document,
    Heading,
    Items,
    Listing,
    Note,
    Table,
    Text,
    pieces,
    plain,
)
from trialwise.report.numbers import Estimate, Number
from trialwise.report.render.terminal import terminal
from trialwise.visible import cell_width


@pytest.fixture(scope="module", params=MADE)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    return MADE[request.param](tmp_path_factory.mktemp(request.param))


def texts(blocks: Sequence[Block]) -> Iterator[Text]:
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
                yield from texts(inner)


def numbers(document: Document) -> Iterator[Number]:
    for text in (document.answer.text, *texts(document.blocks)):
        for piece in text:
            if isinstance(piece, Number):
                yield piece
            elif isinstance(piece, Estimate):
                yield from (piece.value, piece.low, piece.high)


def test_each_number_stands_in_the_json_document(made: Made) -> None:
    assert len(named(made)) >= 4


def named(made: Made) -> list[Number]:
    """The numbers with a place in the JSON document, where they are."""
    document, found = made
    kept = json.loads(json.dumps(found))
    placed = [number for number in numbers(document) if number.pointer]
    for number in placed:
        value = resolve(kept, number.pointer)
        shown = None if number.value is not None and math.isnan(number.value) else number.value
        assert value == shown or (value is not None and value == pytest.approx(shown, rel=1e-9)), (
            number.pointer
        )
    return placed


@pytest.mark.parametrize("name", STATES)
def test_a_state_has_its_numbers_where_it_says_and_fits(name: str, tmp_path: Path) -> None:
    made = STATES[name](tmp_path)
    assert named(made) or name in ("status", "run", "path"), "those have counts and durations alone"
    for width in (80, 120, None):
        assert_fits(made[0], width)


def test_the_answer_is_one_sentence_and_the_method_is_there(made: Made) -> None:
    document, _ = made
    answer = plain(document.answer)
    assert answer.endswith(".")
    assert "\n" not in answer
    assert document.method


@pytest.mark.parametrize("width", [80, 120, None])
def test_no_line_is_wider_than_the_terminal(made: Made, width: int | None) -> None:
    assert_fits(made[0], width)


def assert_fits(document: Document, width: int | None) -> None:
    lines = ["".join(span.text for span in line) for line in terminal(document, width)]
    assert lines[0].removeprefix("· ")[2:10] in plain(document.answer)
    assert all(cell_width(line) <= (width or 1000) for line in lines)
    assert not any(before == after == "" for before, after in pairwise(lines))


def test_a_gate_that_fails_names_the_change_with_its_interval(tmp_path: Path) -> None:
    document, _ = ab(tmp_path)
    assert document.answer.outcome == "bad"
    assert plain(document.answer).startswith("Head is worse: time +")
    assert " % (+" in plain(document.answer)
