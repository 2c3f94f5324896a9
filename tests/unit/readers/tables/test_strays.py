"""Rows of a table that are none are left out: empty lines, and headers where `cat` put files together; inf is no number."""

from pathlib import Path

import pytest

from trialwise.readers.content import Content
from trialwise.readers.register import recognised_table
from trialwise.readers.tables.columns import numbers_of
from trialwise.readers.tables.table import read_table


def looked_at(text):
    content = Content(Path("t.csv"), text.encode())
    return recognised_table(content).reading(content)


@pytest.mark.parametrize("line", ["", ",", " , "])
def test_an_empty_line_is_no_trial(line, tmp_path):
    text = f"scheme,rate\na,1.5\na,\n{line}\nb,3.5\n{line}\n"
    assert [(row.treatment["scheme"], row.value) for row in looked_at(text).rows] == [
        ("a", 1.5),
        ("a", None),
        ("b", 3.5),
    ]
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert numbers_of(read_table(path, wanted=["rate"]), "rate").values.to_list() == [1.5, None, 3.5]


def test_an_empty_line_of_a_single_column_is_a_missing_value(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("rate\n1.5\n\n3.5\n")
    assert numbers_of(read_table(path, wanted=["rate"]), "rate").values.to_list() == [1.5, None, 3.5]


def test_a_header_that_stands_again_is_left_out_and_said(tmp_path):
    text = "run,scheme,rate\n1,a,1.5\nrun,scheme,rate\n1,b,2.5\n2,b,3.5\nrun,scheme,rate\n1,rate,4.5\n"
    said = "line 3 and 1 later line repeat the header, and are left out"
    reading = looked_at(text)
    assert [(row.treatment["scheme"], row.value) for row in reading.rows] == [
        ("a", 1.5),
        ("b", 2.5),
        ("b", 3.5),
        ("rate", 4.5),
    ]
    assert said in [note.text for note in reading.notes]
    path = tmp_path / "t.csv"
    path.write_text(text)
    table = read_table(path, wanted=["rate"])
    assert said in table.notes
    assert numbers_of(table, "rate").values.to_list() == [1.5, 2.5, 3.5, 4.5]


@pytest.mark.parametrize("words", [("inf", "-Infinity"), ("1e400", "-9E999"), ("1" * 310, "inf")])
def test_infinite_values_are_missing_and_counted(words):
    """Doubles end at 1.8e308 (IEEE 754): a larger number is infinite."""
    one, other = words
    reading = looked_at(f"scheme,rate\na,1.5\na,{one}\na,2.5\nb,{other}\nb,3.5\nb,4.5\n")
    assert [row.value for row in reading.rows] == [1.5, None, 2.5, None, 3.5, 4.5]
    assert "2 values are no finite numbers and count as missing" in [note.text for note in reading.notes]
    assert "missing_values" not in {note.code for note in reading.notes}


@pytest.mark.parametrize(
    ("name", "notes", "said"),
    [
        ("note", ["ok", "", "", "bad"], "note differs in every row that has one"),
        ("Comment", ["ok", "ok", "ok", "bad"], "Comment holds remarks"),
        ("picture", ["1.csv", "2.csv", "3.csv", "4.csv"], "picture differs in every row"),
        ("seen", ["", "n1", "", ""], "seen differs in every row that has one"),
    ],
)
def test_remarks_are_no_factor(name, notes, said):
    """Each scheme has two trials."""
    lines = [
        f"{scheme},{rate},{note}"
        for (scheme, rate), note in zip(("a1", "a2", "b3", "b4"), notes, strict=True)
    ]
    reading = looked_at("\n".join([f"scheme,rate,{name}", *lines]))
    assert [dict(row.treatment) for row in reading.rows] == [{"scheme": scheme} for scheme in "aabb"]
    assert f"{said}, and is taken for no factor" in [note.text for note in reading.notes]


def test_a_factor_of_which_cells_are_missing_is_one():
    reading = looked_at("scheme,qdisc,rate\na,fq,1\na,,2\nb,fq,3\nb,,4\nb,,5\n")
    assert {name for row in reading.rows for name in row.treatment} == {"scheme", "qdisc"}
