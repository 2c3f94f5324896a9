"""Rows out of lines, and the types that the first rows give their fields."""

from __future__ import annotations

import math
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialwise.errors import PlanError
from trialwise.measurement.adapters.fields import MisfitError, convert, field_names, infer
from trialwise.measurement.adapters.iperf3 import Iperf3Reader
from trialwise.measurement.adapters.lines import (
    CsvReader,
    JsonLinesReader,
    KeyValueReader,
    PatternReader,
    Reader,
)


def cells(reader: Reader, *lines: str) -> list[dict[str, object]]:
    return [dict(row.cells) for line in lines for row in reader.read(line)]


def test_csv_takes_its_heading_or_counts_columns_and_finds_the_delimiter():
    assert cells(CsvReader(), "time;load 1;name", '1;0,5;"a;b"', "time;load 1;name", "# a comment", "") == [
        {"time": "1", "load_1": "0,5", "name": "a;b"}
    ]
    assert cells(CsvReader(), "1,x") == [{"field1": "1", "field2": "x"}]
    assert cells(CsvReader(["a", "b"]), "x,y") == [{"a": "x", "b": "y"}]
    with pytest.raises(MisfitError, match="3 cells instead of 2"):
        cells(CsvReader(), "a,b", "1,2,3")


def test_json_lines_are_flattened_and_other_lines_are_none():
    assert cells(JsonLinesReader(), "started", '{"a": {"b": 1, "c": [1, 2]}, "d e": null}') == [
        {"a_b": 1, "a_c": [1, 2], "d_e": None}
    ]
    with pytest.raises(MisfitError, match="no JSON"):
        cells(JsonLinesReader(), '{"a": ')


def test_key_values_and_patterns():
    assert cells(KeyValueReader(), "GET size=12, who='a b' rtt.ms = 1.5 (x)", "nothing") == [
        {"size": "12", "who": "a b", "rtt_ms": "1.5"}
    ]
    assert cells(PatternReader(r"(?P<n>\d+) (?P<unit>k?B)?"), "7 kB", "none") == [{"n": "7", "unit": "kB"}]
    for wrong in ("(", r"(\d+)"):
        with pytest.raises(PlanError):
            PatternReader(wrong)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2"], "int64"),
        (["1", "2.5"], "double"),
        (["1", ""], "double"),
        (["nan", "1e-3"], "double"),
        (["1", "x"], "string"),
        (["9223372036854775808"], "double"),
        (["1_000"], "string"),
        (["١"], "string"),
        ([True, False], "bool"),
        ([True, 1], "string"),
        ([None], "string"),
    ],
)
def test_the_narrowest_type_that_holds_all_values(values, kind):
    assert infer([{"a": value} for value in values], {}) == {"a": kind}


def test_a_type_may_be_given_and_a_missing_number_is_nan():
    assert infer([{"a": "1"}, {"b": "2"}], {"a": "string"}) == {"a": "string", "b": "double"}
    assert math.isnan(convert("", "double"))
    with pytest.raises(MisfitError, match=r"'0\.5' is not a valid int64"):
        convert("0.5", "int64")
    with pytest.raises(MisfitError, match="nothing is not a valid int64"):
        convert(None, "int64")


@given(st.lists(st.one_of(st.text(), st.integers(), st.floats(), st.none(), st.booleans()), min_size=1))
def test_values_fit_the_type_that_they_gave(values):
    kind = infer([{"a": value} for value in values], {})["a"]
    for value in values:
        got = convert(value, kind)
        assert type(got) is {"int64": int, "double": float, "string": str, "bool": bool}[kind]


@given(st.lists(st.text()))
def test_names_of_fields_are_names_and_differ(names):
    found = field_names(names)
    assert len({name.lower() for name in found}) == len(names)
    assert all(name.isascii() and name.isidentifier() for name in found)


TCP = """\
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-0.50   sec   620 MBytes  10.4 Gbits/sec    1   1.75 MBytes       (omitted)
[SUM]   0.00-0.50   sec  1.21 GBytes  20.8 Gbits/sec    2
- - - - - - - - - - - - - - - - - - - - - - - - -
[  5]   0.00-1.00   sec  1.11 GBytes  9.53 Gbits/sec                  receiver"""
UDP = """\
[ ID][Role] Interval           Transfer     Bitrate         Total Datagrams
[  5][TX-C]   0.00-1.00   sec  1.22 MBytes  1.25 MBytes/sec  39
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.50-1.00   sec   608 KBytes  9.96 Mbits/sec  0.092 ms  3/19 (15%)  """


def said(row) -> dict[str, object]:
    return {name: value for name, value in row.cells.items() if value is not None}


def test_iperf3s_text():
    reader = Iperf3Reader()
    interval, total, end = [row for line in TCP.splitlines() for row in reader.read(line)]
    assert said(interval) == {
        "stream": 5, "role": "", "start": 0.0, "seconds": 0.5, "bytes": 620 << 20, "bits_per_second": 10.4e9,
        "retransmits": 1.0, "congestion_window": 1.75 * (1 << 20), "omitted": True,
    }  # fmt: skip
    assert (total.suffix, total.cells["stream"], total.cells["retransmits"]) == ("_sum", -1, 2.0)
    assert (end.suffix, end.cells["role"], end.cells["retransmits"]) == ("_end", "receiver", None)


def test_iperf3s_text_of_datagrams():
    reader = Iperf3Reader()
    sent, got = [row for line in UDP.splitlines() for row in reader.read(line)]
    assert (sent.cells["packets"], sent.cells["retransmits"], sent.cells["role"]) == (39.0, None, "TX")
    assert sent.cells["bits_per_second"] == 8 * 1.25 * (1 << 20)
    assert (got.cells["jitter_ms"], got.cells["lost_packets"], got.cells["packets"]) == (0.092, 3.0, 19.0)


def test_iperf3s_stream_of_events():
    stream = (
        '{"event":"interval","data":{"streams":[{"socket":5,"start":0,"end":0.5,"seconds":0.5,"bytes":100,'
        '"bits_per_second":1600,"retransmits":2,"snd_cwnd":900,"rtt":1500,"omitted":false,"sender":true}],"sum":{}}}'
    )
    (row,) = Iperf3Reader().read(stream)
    assert said(row) == {
        "stream": 5, "role": "TX", "start": 0, "seconds": 0.5, "bytes": 100, "bits_per_second": 1600, "retransmits": 2,
        "congestion_window": 900, "rtt_ms": 1.5, "omitted": False,
    }  # fmt: skip
    with pytest.raises(MisfitError):
        Iperf3Reader().read('{"event":')


def test_iperf3s_document_gives_its_own_times():
    lines = """\
{
"start": {"timestamp": {"timesecs": 1000}},
"intervals": [{"streams": [{"socket": 5, "start": 0, "end": 0.5, "bytes": 1, "sender": false}], "sum": {}}],
"end": {"streams": [{"sender": {"socket": 5, "end": 0.5, "bytes": 1}}]}
}""".splitlines()
    reader = Iperf3Reader()
    rows = [row for line in ["iperf3 begins", *lines] for row in reader.read(line)]
    assert [(row.suffix, row.time, row.cells["role"]) for row in rows] == [
        ("", 1000.5, "RX"),
        ("_end", 1000.5, "sender"),
    ]


IPERF3 = st.sampled_from(
    [
        "{",
        "}",
        '{"event":"interval","data":[1]}',
        '"end": {"streams": [1]}',
        TCP.splitlines()[1].replace("620", "6.2.0"),
    ]
)


@given(st.one_of(st.text(), IPERF3))
def test_no_line_breaks_a_reader(line):
    for reader in (CsvReader(), JsonLinesReader(), KeyValueReader(), Iperf3Reader()):
        for each in ("{", line, line, "}"):
            with suppress(MisfitError):
                reader.read(each)


@pytest.mark.parametrize("word", ["a", "a.", "1a", "a ", "a=a", "a = "])
def test_a_line_of_any_length_is_read_or_passed_over_soon(word: str):
    begun = time.process_time()
    with suppress(MisfitError):
        KeyValueReader().read(word * (100_000 // len(word)))
    assert time.process_time() - begun < 5
