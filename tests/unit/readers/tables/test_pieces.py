"""A text is read piece by piece as it is in one piece."""

import io

import polars as pl
import pytest

from trialwise.readers.tables import pieces
from trialwise.readers.tables.pieces import count_lines, in_pieces

HEAD = "# about\nwho,value,text\n"
ROWS = [
    f"{'ab'[row % 2]},{'' if row == 7 else row / 8},{'' if row % 5 == 0 else 'x' * row}\n"
    for row in range(20)
]
EXPECTED = pl.DataFrame(
    {
        "who": ["ab"[row % 2] for row in range(20)],
        "value": [None if row == 7 else row / 8 for row in range(20)],
        "text": [None if row % 5 == 0 else "x" * row for row in range(20)],
    },
    schema={"who": pl.Categorical(), "value": pl.Float64(), "text": pl.String()},
)


def read(part: bytes, lines: int) -> pl.DataFrame:
    return pl.read_csv(
        io.BytesIO(part), has_header=False, skip_lines=lines, comment_prefix="#", schema=EXPECTED.schema
    )


@pytest.mark.parametrize("size", [30, 64, 100_000])
def test_a_table_is_the_same_however_it_is_divided(monkeypatch, size):
    monkeypatch.setattr(pieces, "_PIECE", size)
    seen = list[int]()

    def counted(part: bytes, lines: int) -> pl.DataFrame:
        seen.append(len(part))
        return read(part, lines)

    found = in_pieces((HEAD + "".join(ROWS)).encode(), 2, counted)
    assert found.equals(EXPECTED)
    assert found.schema == EXPECTED.schema
    assert all(column.n_chunks() == 1 for column in found)
    assert (len(seen) == 1) == (size == 100_000)


def test_quoted_cells_that_go_over_lines_are_not_divided(monkeypatch):
    monkeypatch.setattr(pieces, "_PIECE", 8)
    data = b'a,1,"one\ntwo"\nb,2,three\n'
    assert in_pieces(data, 0, read)["text"].to_list() == ["one\ntwo", "three"]


def test_lines_are_counted(monkeypatch):
    monkeypatch.setattr(pieces, "_PART", 7)
    assert count_lines(b"") == 0
    assert count_lines(b"one\ntwo\n\nthree\n") == 4
