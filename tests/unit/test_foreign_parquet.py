"""How many values a Parquet file says to hold: known numbers, lists, and footers that were changed by chance."""

from __future__ import annotations

import contextlib
import io

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trialwise.foreign_parquet import values_of


def packed(frame: pl.DataFrame, group: int | None = None) -> bytes:
    file = io.BytesIO()
    frame.write_parquet(file, row_group_size=group, statistics="full")
    return file.getvalue()


LISTS = pl.DataFrame(
    {
        "source": ["a", "b", "c", "d"],
        "value": [[1.0] * 5, [], None, [2.0, None, 3.0]],
        "number": [1, 2, None, 4],
    }
)


@pytest.mark.parametrize(
    ("frame", "group", "values"),
    [
        (pl.DataFrame({"value": [1.0, None, 3.0]}), None, 3),
        (pl.DataFrame({"value": []}, schema={"value": pl.Float64}), None, 0),
        (pl.DataFrame({"flag": [True, False] * 500}), 100, 1000),
        (LISTS, None, 10),  # five, three, and one for the empty list and for the missing one each
        (LISTS, 1, 10),
        (pl.DataFrame({f"c{n}": list(range(n)) + [0] * (40 - n) for n in range(40)}), None, 40),
    ],
)
def test_values_are_counted_with_the_elements_of_lists(frame: pl.DataFrame, group: int | None, values: int):
    assert values_of(io.BytesIO(packed(frame, group))) == values


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"x,y\n1,2\n", b"PAR1\xff\xff\xff\xffPAR1", b"\0" * 8 + b"PAR1"]
)
def test_other_files_are_refused(content: bytes):
    with pytest.raises(ValueError, match=r"footer|Parquet"):
        values_of(io.BytesIO(content))


@settings(max_examples=300, deadline=None)
@given(changes=st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), min_size=1, max_size=8))
def test_a_changed_footer_is_read_or_refused(changes: list[tuple[int, int]]):
    content = bytearray(packed(LISTS))
    for place, byte in changes:
        content[-1 - place % len(content)] = byte
    with contextlib.suppress(ValueError):
        assert values_of(io.BytesIO(bytes(content))) < 1 << 70
