"""Cells that are repeated are read once, and mean the same as each by itself."""

import polars as pl
import pytest

from trialwise.readers.tables.numbers import parsed

TIMES = 20
COLUMNS = {
    "plain": (["1", "2.5", None, "n/a", " 1 "], [1.0, 2.5, None, None, 1.0]),
    "commas": (["1,5", "2,25", "-"], [1.5, 2.25, None]),
    "unit": (["3 ms", "4 ms"], [3.0, 4.0]),
    "wrong": (["1", "x", "inf"], [1.0, None, float("inf")]),
    "files": (["1.csv", "2.csv"], [None, None]),
    "words": (["reno", "cubic"], [None, None]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_repeated_cells_are_read_as_each_by_itself(name: str):
    cells, expected = COLUMNS[name]
    one, many = (parsed(pl.Series(cells * times, dtype=pl.String)) for times in (1, TIMES))
    assert one.values.to_list() == expected
    assert many.values.to_list() == expected * TIMES
    assert many.missing.to_list() == one.missing.to_list() * TIMES
    assert many.wrong.to_list() == one.wrong.to_list() * TIMES
    assert (many.unit, many.decimal, many.example) == (one.unit, one.decimal, one.example)


def test_a_cell_that_means_two_numbers_is_found_among_repeated_ones():
    assert parsed(pl.Series(["1,234", "2,345"] * TIMES)).open == "1,234"
    assert parsed(pl.Series(["1 s", "1 ms"] * TIMES)).units == ("s", "ms")
