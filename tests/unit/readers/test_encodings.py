"""A file says the same in UTF-16, which PowerShell writes, with line ends of Windows and old Macs, and after empty lines."""

from pathlib import Path

import pytest

from trialwise.readers.content import Content
from trialwise.readers.register import recognised, recognised_table

DATA = Path(__file__).parents[2] / "golden/formats/data"
FILES = [
    path for path in sorted(DATA.rglob("*")) if path.suffix in (".txt", ".csv", ".json", ".jsonl", ".xml")
]
TABLE = "scheme,rate (Mbit/s)\ncubic,9.25\nbbr,9.75\ncubic,9.50\nbbr,9.50\ncubic,9."
"""A table that was cut."""


def read(path, data):
    content = Content(path, data)
    reader = recognised(content) or recognised_table(content)
    assert reader is not None
    reading = reader.reading(content)
    rows = [(dict(row.treatment), row.metric, row.value, row.unit, row.reason) for row in reading.rows]
    return reader.name, rows, {note.code for note in reading.notes}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_file_says_the_same_in_each_encoding(path):
    text = path.read_text()
    known = read(path, text.encode())
    assert read(path, text.replace("\n", "\r\n").encode("utf-16")) == known
    assert read(path, text.replace("\n", "\r").encode()) == known
    assert read(path, b"\r\n\n" + text.encode()) == known
    assert read(path, text.encode() + b"\n\n") == known


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_table_in_utf_16_loses_its_cut_line_as_in_utf_8(encoding):
    data = TABLE.encode(encoding)
    known = read(Path("t.csv"), TABLE.encode())
    assert read(Path("t.csv"), data if encoding == "utf-16" else b"\xfe\xff" + data) == known
    assert [row[2] for row in known[1]] == [9.25, 9.75, 9.5, 9.5]
    assert "partial" in known[2]


def test_a_table_with_the_line_ends_of_old_macs_loses_its_cut_line_too():
    known = read(Path("t.csv"), TABLE.encode())
    assert read(Path("t.csv"), TABLE.replace("\n", "\r").encode()) == known
    assert "partial" in known[2]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("scheme,rate (Mbit/s)\ncubic,9.25\nbbr,9.75\n", [9.25e6, 9.75e6, 9.25e6, 9.75e6]),
        ("goos: linux\nBenchmarkA-2\t10\t5 ns/op\nok\n", [5, 5]),
    ],
)
def test_marks_within_files_that_were_joined_belong_to_no_name(text, values):
    """Each of the two had the mark of UTF-8 at its beginning."""
    _, rows, _ = read(Path("t"), 2 * text.encode("utf-8-sig"))
    assert [value * {"Mbit/s": 1e6}.get(unit, 1) for _, _, value, unit, _ in rows] == pytest.approx(values)
    assert not any("\ufeff" in name for row in rows for name in row[0])


@pytest.mark.parametrize("cut", ["2", "2026-11-25T03:0", "2026-11-25T03:00:00"])
def test_a_line_whose_time_was_cut_is_left_out(cut):
    told = "scheme,rate,start\na,1.5,2026-11-25T01:00:00Z\nb,1.6,2026-11-25T02:00:00Z\nb,1.7,"
    name, rows, codes = read(Path("t.csv"), (told + cut).encode())
    assert (name, [row[2] for row in rows]) == ("csv-long", [1.5, 1.6])
    assert "partial" in codes
    _, rows, codes = read(Path("t.csv"), f"{told}2026-11-25T03:00:00Z".encode())
    assert [row[2] for row in rows] == [1.5, 1.6, 1.7]
    assert "partial" not in codes


def test_many_empty_lines_before_one_that_was_cut_are_no_rows():
    told = "a\tb\tc\n1\t2.5\t3.5\n2\t2.5\t3.5" + "\r" * 300 + "\n3\t2"
    _, rows, codes = read(Path("t.tsv"), told.encode())
    assert len(rows) > 0
    assert "partial" in codes
