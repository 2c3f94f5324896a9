"""Lines of JSON as columns: what polars reads at once says the same as the documents, one after another."""

import json

import polars as pl
import pytest

from trialwise.readers.json_columns import _stand, frames, moments
from trialwise.readers.json_documents import documents_of
from trialwise.readers.parts import Part

SCHEMA = {"name": pl.String(), "data": pl.Struct({"value": pl.Float64, "unit": pl.String})}
GOOD = b'{"name":"a","data":{"value":1.5,"unit":"s"}}'


def row(document):
    part = Part(document)
    data = part["data"]
    return {"name": part["name"].text, "data": {"value": data["value"].number, "unit": data["unit"].text}}


def values(lines):
    data = b"\n".join(lines)
    documents = documents_of(data, data.decode)
    found = [each for frame in frames(documents.whole, SCHEMA, row) for each in frame["data"].to_list()]
    return [each and each["value"] for each in found], documents.rest


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b'{"name":"b","data":{"value":2,"unit":"s"}}', 2),
        (b'{"name":"b","data":{"value":1,"value":2}}', None),  # neither can be believed
        (b'{"name":"b","data":{"value":1,"valu\\u0065":2}}', None),
        (b'{"name":"b","data":{"value":1,"value" :2}}', None),
        (b'{"name":"b","data":{"value":"2"}}', None),
        (b'{"name":"b","data":{"value":true}}', None),
        (b'{"name":"b","data":{"value":null}}', None),
        (b'{"name":"b","data":{"value":[2]}}', None),
        (b'{"name":"b","data":[2]}', None),
        (b'{"name":"b","other":{"value":9},"data":{"value":2}}', 2),
        (b'{"name":"\\"value\\":9","data":{"value":2}}', 2),
        (b'{"name": "b", "data": {"value": 2}}', 2),
        (b'{"name":7,"data":{"value":2}}', 2),
    ],
)
def test_a_line_among_others_gives_what_its_document_gives(line, value):
    found, rest = values([GOOD, line, GOOD])
    assert (found, rest) == ([1.5, value, 1.5], "")


def test_a_last_line_that_was_cut_is_the_rest():
    cut = GOOD[:-9]
    assert values([GOOD, GOOD, cut]) == ([1.5, 1.5], cut.decode())


def test_lines_that_no_column_was_asked_of_are_rows_too():
    assert values([GOOD, b"{}", GOOD])[0] == [1.5, None, 1.5]


def test_blocks_of_lines_are_read_in_their_order(monkeypatch):
    monkeypatch.setattr("trialwise.readers.json_columns._BLOCK", 100)
    lines = [json.dumps({"data": {"value": at}}, separators=(",", ":")).encode() for at in range(50)]
    lines[30] = b'{"data": {"value": 30}}'
    assert values(lines)[0] == list(range(50))


def test_a_damaged_year_is_no_time():
    told = [
        "2026-11-25T00:45:36.001Z",
        "026-11-25T00:45:36.001Z",
        None,
        "2026-11-25T00:45:36.001000999+01:00",
    ]
    assert moments(pl.Series(told)) == [1795567536.001, None, None, 1795563936.001]
    assert moments(pl.Series(told[:1])) == [1795567536.001]


@pytest.mark.parametrize("name", ["a", "name", "a_time_", "contains", "longer_than_a_word"])
@pytest.mark.parametrize("part", [32, 1 << 19])
def test_keys_are_counted_by_what_their_values_begin_with(name, part, monkeypatch):
    monkeypatch.setattr("trialwise.readers.json_columns._PART", part)
    key = f'"{name}":'.encode()

    def stands(block: bytes, opening: bytes) -> int:
        return _stand(block, [("x", b""), (name, opening), ("xy", b"")])[name, opening]

    for value, opening, other in ((b"7", b"", b'"7"'), (b'"7"', b'"', b"7"), (b"{}", b"{", b"7")):
        block = b"\n".join(b"{" + key + value + b',"x' + key[1:] + b"1}" for _ in range(30))
        assert stands(block, opening) == 30
        assert stands(key + value, opening) == 1
        assert stands(block + b"\n{" + key + other + b"}\n" + block, opening) == -1
        assert stands(b'{"x":1}', opening) == 0
    assert stands(key, b"{") == -1
