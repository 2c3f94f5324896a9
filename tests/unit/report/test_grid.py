from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialwise.report.render.grid import aligned
from trialwise.visible import cell_width, visible

_NAMES = st.text(min_size=1, max_size=40)
_NUMBERS = st.floats(allow_nan=False, allow_infinity=False).map(lambda value: f"{value:.6g}")
_TABLES = st.integers(1, 9).flatmap(
    lambda columns: st.lists(st.tuples(_NAMES, *[_NUMBERS] * columns), min_size=1, max_size=6).map(
        lambda rows: [("name", *(f"series {number}" for number in range(columns))), *rows]
    )
)


@given(_TABLES, st.integers(8, 250))
def test_every_number_is_whole_at_every_width(rows: list[tuple[str, ...]], width: int) -> None:
    made = aligned(rows, range(1, len(rows[0])))
    text = "\n".join(line for line, _ in made.lines(width))
    wanted = sorted(cell for row in rows[1:] for cell in row[1:])
    words = re.split(r"[\s]+", text)
    for number in wanted:
        assert words.count(number) >= wanted.count(number)


@given(_TABLES, st.integers(40, 250))
def test_lines_fit_into_the_width_where_a_name_and_a_number_do(
    rows: list[tuple[str, ...]], width: int
) -> None:
    made = aligned(rows, range(1, len(rows[0])))
    if any(any(map(str.isdigit, visible(row[0]))) for row in rows):
        return  # a word with digits is never folded
    assert all(cell_width(line) <= width for line, _ in made.lines(width))


@given(_TABLES, st.one_of(st.none(), st.integers(8, 250)))
def test_no_character_acts_on_the_terminal(rows: list[tuple[str, ...]], width: int | None) -> None:
    text = "".join(line for line, _ in aligned(rows).lines(width))
    assert text == visible(text)


def test_a_table_that_fits_is_one_table() -> None:
    rows = [("scheme", "n", "score"), ("cubic", "6", "131.2")]
    assert [line for line, _ in aligned(rows, {1, 2}).lines(None)] == [
        "  scheme  n  score",
        "  cubic   6  131.2",
    ]


def test_a_wide_table_becomes_several_with_the_names_in_each() -> None:
    rows = [("scheme", *"abcdef"), ("cubic", *["1234567"] * 6)]
    lines = [line for line, _ in aligned(rows, range(1, 7)).lines(40)]
    assert lines == [
        "  scheme        a        b        c",
        "  cubic   1234567  1234567  1234567",
        "",
        "  scheme        d        e        f",
        "  cubic   1234567  1234567  1234567",
    ]


def test_in_the_narrowest_terminal_every_cell_has_its_line() -> None:
    rows = [("scheme", "delay"), ("pcc_experimental", "131.2")]
    assert [line for line, _ in aligned(rows, {1}).lines(18)] == ["  pcc_experimental", "    delay: 131.2"]


def test_wide_characters_count_as_terminals_draw_them() -> None:
    rows = [("名前", "n"), ("a", "1")]
    assert [line for line, _ in aligned(rows, {1}).lines(None)] == ["  名前  n", "  a     1"]


LEVELS = [
    ("level", "base", "at", "verdict", "change", "difference"),
    ("flavour=b", "a", "load=x", "different", "+87 % (+72 to +104)", "+9.0 (+7.9 to +10.1)"),
    ("flavour=b", "a", "load=y", "different", "-50.6 % (-55.5 to -45.7)", "-10.2 (-11.3 to -9.1)"),
    ("load=y", "x", "flavour=a", "different", "+94 % (+79 to +110)", "+9.71 (+8.81 to +10.60)"),
]


@pytest.mark.parametrize("width", [40, 60, 80])
def test_each_of_several_tables_has_the_columns_that_tell_its_rows_apart(width: int) -> None:
    lines = [line for line, _ in aligned(LEVELS, {4, 5}).lines(width)]
    named = [line for line in lines if "flavour=b" in line]
    if "" in lines:
        assert len(set(named)) == len(named) == 2 * (lines.count("") + 1)
        assert all("load=x" in line or "load=y" in line for line in named)
    else:
        assert sum("at: load=" in line for line in lines) == 2, "a line for each cell"
