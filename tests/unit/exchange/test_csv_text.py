"""A table is written as the rows of it are, whichever cells have to be escaped."""

import polars as pl
import pytest

from trialwise.exchange import csv_text as writing

TEXTS = ["=x", "-1", "-", "p\x1b[0m", None, "é", "a,b", 'q"', "", "x\ny", "\u202eabc", "@x"]
NUMBERS = [1.0, None, 1e-7, 1e16, float("inf"), -0.0, 3.0, 100.0, 5.5, 1e22, 2.0, 0.1]


@pytest.mark.parametrize("rows", [1, 5, 1000])
def test_a_table_is_written_as_its_rows_are(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_PART", rows)
    table = pl.DataFrame({"=text": TEXTS, "number": NUMBERS, "is": [True, None, False] * 4, "of": range(12)})
    writing.write_table(tmp_path / "x.csv", table)
    assert (tmp_path / "x.csv").read_bytes().decode() == writing.csv_text(table.columns, table.iter_rows())


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_that_counts_as_plain_is_written_as_it_is(text, tmp_path):
    writing.write_table(tmp_path / "x.csv", pl.DataFrame({"a": [text, "b"]}))
    assert (tmp_path / "x.csv").read_bytes().decode() == writing.csv_text(["a"], [[text], ["b"]])
