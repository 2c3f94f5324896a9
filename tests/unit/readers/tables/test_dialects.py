# pyright: basic
"""Tables in many dialects: what was written is what is read."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import math
import os
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from trialwise import foreign_files
from trialwise.errors import AnalysisError
from trialwise.readers.content import Content
from trialwise.readers.register import recognised_table
from trialwise.readers.tables import content
from trialwise.readers.tables.columns import numbers_of
from trialwise.readers.tables.dialect import Dialect
from trialwise.readers.tables.foreign import foreign
from trialwise.readers.tables.table import read_table
from trialwise.readers.tables.text import comment_mark
from trialwise.readers.tables.times import times_of

CASES = Path(__file__).parents[5] / "shared" / "cases"


@pytest.fixture
def write(tmp_path):
    def written(text, encoding="utf-8"):
        path = tmp_path / "table.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return path

    return written


def values(path, name="v", **dialect):
    return numbers_of(read_table(path, Dialect(**dialect), [name]), name).values.to_list()


# Round trips

NAMES = (
    st.text(st.sampled_from('abcxyz XYZ"éµ()/%_'), min_size=1, max_size=12)
    .map(str.strip)
    .filter(lambda name: name and comment_mark(name) is None)
)
CELLS = st.floats(-1e9, 1e9).map(lambda value: round(value, 4))


def spelled(value: float, decimal: str, thousands: str) -> str:
    whole, _, part = f"{abs(value):.4f}".partition(".")
    if thousands:
        first = len(whole) % 3 or 3
        whole = thousands.join([whole[:first], *(whole[at : at + 3] for at in range(first, len(whole), 3))])
    return f"{'-' if value < 0 else ''}{whole}{decimal}{part}"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(NAMES, min_size=1, max_size=4, unique_by=str.casefold),
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), min_size=2, max_size=8),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    decimal=st.sampled_from(["., ", ",.", ".", ",", ", ", ".'"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le-bom"]),
    line=st.sampled_from(["\n", "\r\n"]),
    blanks=st.booleans(),
    comments=st.booleans(),
)
def test_numbers_come_back_from_every_dialect(
    tmp_path, names, rows, delimiter, decimal, encoding, line, blanks, comments
):
    rows = [row[: len(names)] for row in rows]
    mark, thousands = decimal[0], decimal[1:2]
    assume(len(names) > 1 or delimiter == ",")
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=line)
    writer.writerow(names)
    for row in rows:
        cells = [spelled(value, mark, thousands) for value in row]
        writer.writerow([f" {cell} " if blanks and delimiter not in cell else cell for cell in cells])
    text = ("# a remark; with, marks|\n".replace("\n", line) if comments else "") + out.getvalue()
    raw = b"\xff\xfe" + text.encode("utf-16-le") if encoding == "utf-16-le-bom" else text.encode(encoding)
    path = tmp_path / "t.csv"
    path.write_bytes(raw)
    table = read_table(path, wanted=names)
    assert table.columns == names
    for place, name in enumerate(names):
        assert numbers_of(table, name).values.to_list() == [row[place] for row in rows]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=400))
def test_no_content_ends_in_anything_but_a_refusal(tmp_path, data):
    path = tmp_path / "t"
    for whole in (data, gzip.compress(data), b"PAR1" + data + b"PAR1", b"a,b\n" + data):
        path.write_bytes(whole)
        with contextlib.suppress(AnalysisError):
            table = read_table(path)
            for name in table.columns:
                table.is_numeric(name)
                numbers_of(table, name)
                times_of(table, name)


# Single dialects


@pytest.mark.parametrize(
    ("cells", "wanted"),
    [
        (["1,5", "2"], [1.5, 2]),
        (["1.234,5", "987,5"], [1234.5, 987.5]),
        (["1,234.5", "987.5"], [1234.5, 987.5]),
        (["1 234,5", "2"], [1234.5, 2]),
        (["1'234.5", "2"], [1234.5, 2]),
        (["1\u00a0234", "2"], [1234, 2]),
        (["1,234,567", "1"], [1234567, 1]),
        (["0,123", "1"], [0.123, 1]),
        (["1,5e3", "2,0"], [1500, 2]),
        (["9.21 Mbit/s", "9.3 Mbit/s"], [9.21, 9.3]),
        (["12%", "13%"], [12, 13]),
        (["12 ms", "NA"], [12, None]),
        (["-1,5", "+2,5"], [-1.5, 2.5]),
        ([".5", "1e-3"], [0.5, 1e-3]),
    ],
)
def test_spellings_of_numbers(write, cells, wanted):
    assert values(write("v;x\n" + "".join(f"{cell};1\n" for cell in cells))) == wanted


def test_a_comma_that_may_be_either_is_asked_for_unless_another_column_tells(write):
    path = write("v;x\n1,234;5\n2,345;6\n")
    with pytest.raises(AnalysisError, match=r"'1,234' in column 'v' may be 1234 or 1\.234") as raised:
        values(path)
    assert "--decimal . for 1234" in str(raised.value)
    assert values(path, decimal=",") == [1.234, 2.345]
    assert values(path, decimal=".") == [1234, 2345]
    assert values(write("v;x\n1,234;5,5\n2,345;6,25\n")) == [1.234, 2.345]


def test_hints_do_not_repeat_what_was_done(write):
    with pytest.raises(AnalysisError) as raised:
        values(write("v,w\n1,1\ntimeout,2\n3,3\n"))
    assert raised.value.hint == "where that says that a value is missing, add --missing timeout"
    assert values(write("v,w\n1,1\ntimeout,2\n3,3\n"), missing=("TIMEOUT",)) == [1, None, 3]
    with pytest.raises(AnalysisError) as raised:
        values(write("v,w\na,1\nb,2\nc,3\n"))
    assert raised.value.hint == "columns of numbers: w"


def test_a_header_like_data_is_none_and_that_is_said(write):
    table = read_table(write("0,10.5\n1,10.6\n"))
    assert (table.columns, table.frame.height) == (["column_1", "column_2"], 2)
    assert "line 1 holds data" in table.notes[0]
    path = write("0,10.5\n1,10.6\n")
    assert values(path, "10.5") == [10.6]
    (note,) = read_table(path, Dialect(), ["10.5"]).notes
    assert "line 1 looks like data and was taken for the header" in note
    assert "--no-header" in note
    assert not read_table(path, Dialect(header=True), ["10.5"]).notes
    assert read_table(write("0,10.5\n1,10.6\n"), Dialect(header=True)).columns == ["0", "10.5"]
    assert read_table(write("a,b\n1,2\n"), Dialect(header=False)).frame.height == 2


@pytest.mark.parametrize("mark", ["#", "% ", "%% ", "//", "// "])
def test_lines_that_begin_as_comments_are_none(write, mark):
    """Before the header, between rows, and where nobody said what the columns are for."""
    text = f"{mark}made by a, b; c\n\n{mark}twice\nscheme,rtt\na,5\n{mark}later\nb,6\n"
    assert read_table(write(text)).frame["rtt"].to_list() in ([5, 6], ["5", "6"])
    content = Content(Path("t.csv"), text.encode())
    reader = recognised_table(content)
    assert reader is not None
    assert [(row.treatment, row.value) for row in reader.reading(content).rows] == [
        ({"scheme": "a"}, 5),
        ({"scheme": "b"}, 6),
    ]


def test_names_that_begin_with_a_percent_sign_are_no_comment(write):
    assert read_table(write("%CPU,mem\n5,6\n7,8\n")).columns == ["%CPU", "mem"]


def test_headers_behind_the_mark_of_a_comment(write):
    assert read_table(write("# made by ping\n# t rtt\n0 1.5\n1 1.6\n")).columns == ["t", "rtt"]
    assert read_table(write("#t,rtt\n0,1.5\n")).columns == ["t", "rtt"]
    assert read_table(write("% x\nt,rtt\n0,1.5\n"), Dialect(comment="%")).columns == ["t", "rtt"]


def test_lines_are_those_of_the_file(write):
    path = write('# x\n\nt,"a\nb",v\n# y "\n0,"c\nd",1\n0,e,oops\n')
    with pytest.raises(AnalysisError, match="line 8: 'oops'"):
        values(path)
    with pytest.raises(AnalysisError, match="line 3 has 3 fields between commas, and the header 2"):
        read_table(write("a,b\n1,2\n1,2,3\n"))


def test_columns_of_one_name_are_refused_when_one_is_asked_for(write):
    path = write("t,rtt,rtt\n0,1,2\n")
    with pytest.raises(AnalysisError, match="several columns are called 'rtt'"):
        values(path, "rtt")
    assert values(path, "rtt (2)") == [2]
    assert values(path, "t") == [0]


def test_case_comes_before_spelling(write):
    with pytest.raises(AnalysisError, match="'DL_bitrate' is there"):
        values(write("UL_bitrate,dl_bitrates,DL_bitrate\n1,2,3\n"), "dl_bitrate")


def test_quotes_of_rfc_4180(write):
    path = write('"say ""hi""",v\n"x ""q""",1\n')
    assert read_table(path).columns == ['say "hi"', "v"]
    assert read_table(path).frame['say "hi"'].to_list() == ['x "q"']


def test_delimiters_of_spreadsheets(write):
    assert values(write("sep=;\na;v\n1;2,5\n")) == [2.5]
    assert values(write("a  v\n1    2\n10   3\n")) == [2, 3]
    assert values(write("a,v,\n1,2,\n1,3,,\n")) == [2, 3]
    assert values(write("a:v\n1:2\n"), delimiter=":") == [2]


def test_encodings(write):
    assert values(write("µ,v\n1,2\n", "utf-16")) == [2]
    assert values(write("µ,v\n1,2\n", "cp1252"), encoding="cp1252") == [2]
    with pytest.raises(AnalysisError, match="line 2 is not in utf-8") as raised:
        values(write("a,v\n\xe9,2\n", "latin-1"))
    assert "--encoding cp1252" in str(raised.value)
    for name in ("no-such", "zlib", "hex"):
        with pytest.raises(AnalysisError, match="unknown text encoding"):
            values(write("a,v\n1,2\n"), encoding=name)


# Bounds


def test_what_unpacks_to_more_than_the_bound_is_refused_early(write, monkeypatch):
    path = write(gzip.compress(b"v\n" + b"1\n" * 20_000_000))
    assert path.stat().st_size < 200_000
    monkeypatch.setattr(content, "MAX_UNPACKED", 1 << 20)
    with pytest.raises(AnalysisError, match="holds more than 1 MiB"):
        read_table(path)


def test_files_beyond_the_bound_are_not_read(tmp_path):
    path = tmp_path / "sparse.csv"
    with path.open("wb") as file:
        file.truncate(content.MAX_BYTES + 1)
    with pytest.raises(AnalysisError, match="is larger than 1024 MiB"):
        read_table(path)


def test_devices_folders_and_urls_are_refused(tmp_path):
    for path, words in (
        (Path("/dev/zero"), "is a device"),
        (tmp_path, "is a folder"),
        (Path("https://example.org/x.csv"), "https://example.org/x.csv: URLs are not read"),
    ):
        with pytest.raises(AnalysisError, match=words):
            read_table(path)


def test_pipes_are_read_within_bounds(tmp_path, monkeypatch):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    monkeypatch.setattr(foreign_files, "PATIENCE", 0.2)
    with pytest.raises(AnalysisError, match="nothing came out of this pipe"):
        read_table(path)
    monkeypatch.setattr(foreign_files, "PATIENCE", 5.0)
    writer = threading.Thread(target=path.write_text, args=("v\n1\n2\n",))
    writer.start()
    assert values(path) == [1, 2]
    writer.join()
    reading, writing = os.pipe()
    os.write(writing, b"v\n1\n")
    os.close(writing)
    assert values(Path(f"/dev/fd/{reading}")) == [1]
    os.close(reading)
    monkeypatch.setattr(content, "MAX_BYTES", 1000)

    def endless():
        with path.open("wb", buffering=0) as file, contextlib.suppress(BrokenPipeError):
            for _ in itertools.repeat(None):
                file.write(b"1\n" * 4096)

    writer = threading.Thread(target=endless)
    writer.start()
    with pytest.raises(AnalysisError, match="is larger than"):
        read_table(path)
    writer.join()


def test_a_damaged_parquet_file_is_an_error_and_not_a_panic(tmp_path, capfd):
    path = tmp_path / "whole.parquet"
    pl.DataFrame({"value": [place % 7 for place in range(2000)]}).write_parquet(path)
    whole = path.read_bytes()
    for at in range(4, len(whole) - 8, 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        with contextlib.suppress(AnalysisError):
            numbers_of(read_table(path), "value")
    assert "panicked" not in capfd.readouterr().err


def test_parquet_that_claims_billions_of_cells_is_refused(tmp_path):
    path = tmp_path / "large.parquet"
    pl.DataFrame({"value": pl.repeat(1, 210_000_000, eager=True, dtype=pl.Int8)}).write_parquet(path)
    with pytest.raises(AnalysisError, match="210,000,000 cells"):
        read_table(path)


# What is no table


@pytest.mark.parametrize(
    ("head", "what"),
    [
        (b'{"results": [{"command": "true"}]}', "what hyperfine writes"),
        (b'[{"jmhVersion": "1.37", "benchmark": "b", "primaryMetric": {}}]', "what JMH writes"),
        (b'{"format": "trialwise.x"}', "JSON of Trialwise"),
        (b"[" * 100_000, "cut off or no whole JSON"),
        (b'<?xml version="1.0"?><testsuites/>', "what JUnit writes"),
        (b"<!DOCTYPE html><html>", "a page of HTML"),
        (b"\x93NUMPY\x01\x00", "an array of NumPy"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"PK\x03\x04...", "a zip archive or a spreadsheet"),
        (b"Running 2s test @ http://h/\n  1 threads", "what wrk writes"),
        (b"goos: linux\nBenchmarkFib-8  \t 100\t 3.5 ns/op\n", "what go test -bench writes"),
    ],
)
def test_what_a_file_is_that_is_no_table(head, what):
    found = foreign(head)
    assert found is not None
    assert what in found.what


@pytest.mark.parametrize("text", [b"[a],b\n1,2\n", b"time,v\n1,2\n", b"a\n1\n"])
def test_tables_are_tables(text):
    assert foreign(text) is None


@pytest.mark.skipif(not CASES.exists(), reason="needs ../shared")
def test_no_result_of_another_tool_reaches_the_csv_reader():
    for path in sorted((CASES / "comparing" / "formats").rglob("*")):
        if path.is_file() and path.suffix not in (".csv", ".tsv"):
            with pytest.raises(AnalysisError, match="no table") as raised:
                read_table(path)
            assert raised.value.hint


@pytest.mark.skipif(not CASES.exists(), reason="needs ../shared")
@pytest.mark.parametrize(
    ("name", "column", "first"),
    [
        ("tables/breitband.csv", "Download (Mbit/s)", 95.29),
        ("tables/pipe.csv", "rate", 1234.5),
        ("tables/e_comment.csv", "rtt", 10.96),
        ("tables/e_u16.csv", "rtt", 10.96),
        ("tables/e_ws.csv", "rtt", 10.96),
        ("tables/blanks.csv", "time", 1.19),
        ("tables/header-quote.csv", "v", 1),
        ("comparing/formats/excel_semicolon_decimalcomma.csv", "cubic", 9.21),
        ("comparing/formats/units_in_cells.csv", "tput", 9.21),
    ],
)
def test_files_of_strangers(name, column, first):
    assert math.isclose(values(CASES / name, column)[0], first)


@pytest.mark.parametrize("cell", ["0x10", "0X1F", "0b1", "0o17", "12ab3f4"])
def test_codes_are_no_numbers_with_units(tmp_path: Path, cell: str):
    path = tmp_path / "t.csv"
    path.write_text(f"s,v\na,{cell}\nb,{cell}\n")
    with pytest.raises(AnalysisError, match="is not a finite number"):
        numbers_of(read_table(path), "v")


@pytest.mark.parametrize(
    ("cell", "unit"), [("3 m/s2", "m/s2"), ("0 B", "B"), ("0b", "b"), ("4 m^2", "m^2"), ("5k", "k")]
)
def test_units_with_exponents_are_units(tmp_path: Path, cell: str, unit: str):
    path = tmp_path / "t.csv"
    path.write_text(f"s,v\na,{cell}\nb,{cell}\n")
    assert numbers_of(read_table(path), "v").unit == unit


@pytest.mark.parametrize(
    "cells",
    [
        [2**60 + n % 3 for n in range(20)],
        [2**53 - 1000 + n % 3 for n in range(20)],
        [-(2**62) + n for n in range(20)],
        [f"1000000000.{n % 3:07}" for n in range(1, 20)],
    ],
)
def test_values_that_doubles_hardly_tell_apart_are_refused(tmp_path: Path, cells: list[int | str]):
    path = tmp_path / "t.csv"
    path.write_text("s,v\n" + "".join(f"a,{cell}\n" for cell in cells))
    exact = sum(map(Fraction, cells)) / len(cells)
    spread = max(map(Fraction, cells)) - min(map(Fraction, cells))
    assert (
        abs(Fraction(float(np.mean([float(cell) for cell in cells]))) - exact) > spread / 1000
    )  # what refusing spares people
    with pytest.raises(AnalysisError, match="differ only in digits"):
        numbers_of(read_table(path), "v")


@pytest.mark.parametrize(
    "cells", [[2**60] * 3, [1740787200000000000, 1740787201000000000], [2**40, 2**40 + 1], [0.1, 0.1], [5]]
)
def test_digits_that_doubles_hold_are_kept(tmp_path: Path, cells: list[float]):
    path = tmp_path / "t.csv"
    path.write_text("s,v\n" + "".join(f"a,{cell}\n" for cell in cells))
    assert numbers_of(read_table(path), "v").values.to_list() == [float(cell) for cell in cells]


@pytest.mark.parametrize("gap", [" ", "\u00a0", "\u202f", "'", "’"])
def test_thousands_that_gaps_set_apart_are_said(tmp_path, gap):
    (tmp_path / "t.csv").write_text(f"v;w\n1{gap}234{gap}567;1\n12{gap}345;2\n", encoding="utf-8")
    found = numbers_of(read_table(tmp_path / "t.csv"), "v")
    assert found.values.to_list() == [1_234_567.0, 12_345.0]
    assert f"v has thousands set apart, as 1{gap}234{gap}567" in found.notes


def test_columns_that_were_made_beside_those_of_the_file_are_not_named(tmp_path):
    (tmp_path / "t.csv").write_text("v,w\nx1,1\nx2,2\n")
    table = read_table(tmp_path / "t.csv")
    made = table.of(table.frame.with_columns(pl.lit(1).alias("\0trial")))
    assert made.columns == ["v", "w"]
    with pytest.raises(AnalysisError) as refused:
        numbers_of(made, "v")
    assert refused.value.hint == "columns of numbers: w"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("rows", [["a,1", "b,2,3", "c,4,5"], ["a,1", "b,2"], ["a,1,2,", "b,3"]])
def test_cells_that_the_first_row_lacks_are_missing(tmp_path: Path, delimiter: str, rows: list[str]) -> None:
    text = "".join(f"{line}\n" for line in ["scheme,delay,loss", *rows]).replace(",", delimiter)
    (tmp_path / "t.csv").write_text(text)
    frame = read_table(tmp_path / "t.csv").frame
    expected = [[*row.split(","), None][:3] for row in rows]
    assert [list(row) for row in frame.select("scheme", "delay", "loss").cast(pl.String).rows()] == expected
