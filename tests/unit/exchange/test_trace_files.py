"""Trace files: read, refused, written; made from rates, opportunities and departures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialwise.errors import AnalysisError, StoreError
from trialwise.exchange import trace_files
from trialwise.exchange.trace_files import (
    parse_trace,
    read_trace,
    trace_from_departures,
    trace_from_opportunities,
    trace_from_rates,
    write_trace,
)

SHARED = Path(__file__).parents[4] / "shared" / "data" / "paths"


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ("", "x.trace: the trace is empty", "write one line for each packet"),
        ("1\n5\n3\n", "line 3 of the trace goes back in time (3 after 5)", "sort -n"),
        ("1\n-2\n", "line 2 of the trace is negative (`-2`)", "shift the trace"),
        ("1\ntwo\n", "line 2 of the trace is `two`, not a whole number", "write digits only"),
        ("1\n\n2\n", "line 2 of the trace is blank", "delete it"),
        ("0\n", "line 1, the last of the trace, is 0", None),
        ("99999999999\n", "line 1 of the trace is beyond 10000000000 ms", "milliseconds since the start?"),
    ],
)
def test_wrong_traces_are_named(tmp_path: Path, text: str, problem: str, hint: str | None):
    (tmp_path / "x.trace").write_text(text)
    with pytest.raises(AnalysisError) as refusal:
        read_trace(tmp_path / "x.trace")
    assert problem in refusal.value.message
    assert refusal.value.message.startswith(f"{tmp_path}/x.trace: ")
    assert hint is None or hint in str(refusal.value.hint)


def test_files_that_are_no_text_huge_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "x.trace"
    with pytest.raises(AnalysisError, match="cannot be read: No such file"):
        read_trace(path)
    path.write_bytes(b"1\n\xff\n")
    with pytest.raises(AnalysisError, match="line 2 of the trace is not text"):
        read_trace(path)
    monkeypatch.setattr(trace_files, "LARGEST", 2_000_000)
    with path.open("wb") as file:
        file.truncate(3_000_000)
    with pytest.raises(AnalysisError, match=r"is larger than 1\.907 MiB"):
        read_trace(path)


def test_a_trace_is_written_as_it_is_read(tmp_path: Path):
    trace = np.array([0, 3, 3, 90], np.uint64)
    write_trace(tmp_path / "a", trace)
    assert (tmp_path / "a").read_text() == "0\n3\n3\n90\n"
    assert read_trace(tmp_path / "a").tolist() == trace.tolist()
    with pytest.raises(StoreError, match="cannot be written"):
        write_trace(tmp_path / "none" / "a", trace)


@pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared with traces")
def test_published_traces_are_read_and_written_unchanged(tmp_path: Path):
    files = sorted(each for each in SHARED.iterdir() if each.name != "scenarios.json")
    assert len(files) >= 9
    for file in files:
        write_trace(tmp_path / "again", read_trace(file))
        assert (tmp_path / "again").read_text().split() == file.read_text().split(), file


def test_rates_become_opportunities_when_their_bits_are_there():
    assert trace_from_rates("12\n6\n6\n0\n24\n", "x").tolist() == [1, 3, 5, 5]
    assert trace_from_rates("0.1\n" * 240, "x").tolist() == [120, 240]
    with pytest.raises(AnalysisError, match="x: line 2 is `fast`, not a rate"):
        trace_from_rates("1\nfast\n", "x")
    with pytest.raises(AnalysisError, match="x: line 1 is `-1`"):
        trace_from_rates("-1\n", "x")
    with pytest.raises(AnalysisError, match="x: the rates together are less than 12 kbit"):
        trace_from_rates("11\n", "x")
    with pytest.raises(AnalysisError, match="x: the rates together"):
        trace_from_rates("", "x")


@given(st.lists(st.integers(0, 60), min_size=1, max_size=200))
def test_rates_against_adding_up_bit_by_bit(rates: list[int]):
    times, bits = [], 0
    for millisecond, rate in enumerate(rates, start=1):
        bits += 1000 * rate
        while bits >= 12_000:
            bits -= 12_000
            times.append(millisecond)
    text = "\n".join(map(str, rates))
    if times:
        assert trace_from_rates(text, "x").tolist() == times
    else:
        with pytest.raises(AnalysisError):
            trace_from_rates(text, "x")


def test_opportunities_count_from_the_start_of_the_trace():
    assert trace_from_opportunities(np.array([36, 37, 40]), 35, "x").tolist() == [1, 2, 5]
    assert trace_from_opportunities(np.array([30, 37]), 35, "x").tolist() == [2]
    with pytest.raises(AnalysisError, match="there is no opportunity"):
        trace_from_opportunities(np.array([], np.int64), 0, "x")


def test_departures_count_from_the_first():
    times = np.array([5_000_000, 7_000_000, 6_000_000, 9_000_001])
    sizes = np.array([1500, 1500, 750, 750])
    assert trace_from_departures(times, sizes, "x").tolist() == [2, 5]
    for count in (0, 1):
        with pytest.raises(AnalysisError, match=f"x: {count} packets? departed, too few"):
            trace_from_departures(times[:count], sizes[:count], "x")


def test_departures_of_a_full_link_give_its_trace_back():
    trace = parse_trace("3\n3\n9\n20\n", "x")
    times = np.concatenate([[0], trace.astype(np.int64)]) * 1_000_000
    found = trace_from_departures(times, np.full(times.size, 1500), "x")
    assert found.tolist() == trace.tolist()
