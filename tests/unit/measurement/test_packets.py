"""Packets: from the emulator's log, to Parquet and back."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from packet_logs import MADE, RECORD, flow_word, random_packets, write_log
from trialwise.errors import AnalysisError
from trialwise.measurement import packets as module
from trialwise.measurement.packets import (
    EVENTS,
    Packets,
    packet_log_start,
    read_packet_log,
    read_packets,
    write_packets,
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    records = np.array(
        [
            (30_000_000, 28_000_000, flow_word(40_000, 5001), 9, 1500, 0, 0),
            (31_000_000, 1_000_000, flow_word(40_000, 5001), 0, 1500, 5, 3 << 3),
            (32_500_000, 28_250_000, flow_word(40_000, 5001), 9, 52, 0, 1),
            (40_000_000, 5_000_000, flow_word(5002, 33), 0, 1000, 1, 0),
            (40_000_001, 1, flow_word(700, 600), 0, 60, 2, 0),
        ],
        RECORD,
    )
    return write_log(tmp_path / "packets.log", records, tail=b"\1" * 31)


def same(one: Packets, other: Packets) -> bool:
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name))
        and getattr(one, field.name).dtype == getattr(other, field.name).dtype
        for field in fields(Packets)
    )


def test_a_log_is_read_up_to_its_last_whole_record(log: Path):
    found = read_packet_log(log, {5001: 1, 5002: 2})
    assert found.time.tolist() == [0.03, 0.031, 0.0325, 0.04, 0.040000001]
    assert found.delay.tolist() == [0.028, 0.001, 0.02825, 0.005, 1e-9]
    assert found.arrival == pytest.approx([0.002, 0.03, 0.00425, 0.035, 0.04])
    assert found.direction.tolist() == [0, 0, 1, 0, 0]
    assert found.flow.tolist() == [1, 1, 1, 2, 0]
    assert found.size.tolist() == [1500, 1500, 52, 1000, 60]
    events = [EVENTS[int(number)] for number in found.event]
    assert events == ["delivered", "dropped:overflow", "delivered", "held", "dropped:loss"]
    assert packet_log_start(log) == MADE


def test_copies_and_fields_are_told_apart(tmp_path: Path):
    copy, word = 128, flow_word(40_000, 5001)
    events = [0, copy, copy + 1, copy + 2, copy + 8, 8]
    rows = [(1000 * place, 0, word, 0, 100, event, place % 4 << 1) for place, event in enumerate(events)]
    found = read_packet_log(write_log(tmp_path / "packets.log", np.array(rows, RECORD)))
    dropped = "duplicate:dropped"
    assert [EVENTS[int(number)] for number in found.event] == [
        "delivered", "duplicate", "duplicate:held", dropped, dropped, "dropped:filtered",
    ]  # fmt: skip
    assert (found.delivered.sum(), found.held.sum(), found.dropped.sum(), found.copies.sum()) == (1, 0, 1, 4)
    assert found.originals().event.tolist() == [0, 8]
    assert found.ecn.tolist() == [0, 1, 2, 3, 0, 1]
    write_packets(tmp_path / "packets.parquet", found)
    assert same(read_packets(tmp_path / "packets.parquet"), found)
    damaged = write_log(tmp_path / "damaged.log", np.array([(0, 0, word, 0, 100, copy + 9, 0)], RECORD))
    with pytest.raises(AnalysisError, match="unknown event"):
        read_packet_log(damaged)


def test_a_long_log_is_read_in_parts(log: Path, monkeypatch: pytest.MonkeyPatch):
    whole = read_packet_log(log, {5001: 1})
    for chunk in (1, 2, 5):
        monkeypatch.setattr(module, "_CHUNK", chunk)
        assert same(read_packet_log(log, {5001: 1}), whole)


def test_the_lower_port_decides(log: Path):
    assert read_packet_log(log, {5001: 1, 40_000: 7}).flow[0] == 1
    assert read_packet_log(log, {40_000: 7}).flow[0] == 7


def test_selecting_takes_all_conditions(log: Path):
    found = read_packet_log(log, {5001: 1, 5002: 2})
    assert found.of("uplink", 1).size.tolist() == [1500, 1500]
    assert found.of("downlink").size.tolist() == [52]
    assert found.of(start=0.031, stop=0.04).size.tolist() == [1500, 52]
    assert found.flows() == [0, 1, 2]
    assert (found.delivered.sum(), found.held.sum(), found.dropped.sum()) == (2, 1, 2)


@pytest.mark.parametrize("count", [0, 1, 500])
def test_parquet_gives_back_the_same_packets(tmp_path: Path, count: int):
    packets = random_packets(1, count)
    write_packets(tmp_path / "packets.parquet", packets)
    assert same(read_packets(tmp_path / "packets.parquet"), packets)
    assert [path.name for path in tmp_path.iterdir()] == ["packets.parquet"]


def test_parquet_speaks_words_and_seconds(tmp_path: Path, log: Path):
    write_packets(tmp_path / "packets.parquet", read_packet_log(log, {5001: 1}))
    rows = pl.read_parquet(tmp_path / "packets.parquet").to_dicts()
    assert rows[1] == {
        "time": 0.031, "direction": "uplink", "flow": 1, "size": 1500, "event": "dropped:overflow", "delay": 0.001,
        "ecn": "not-ECT",
    }  # fmt: skip
    assert rows[2]["direction"] == "downlink"


def test_files_that_are_no_packets_are_refused(tmp_path: Path):
    other = tmp_path / "other"
    with pytest.raises(AnalysisError, match="other: cannot be read: No such file"):
        read_packet_log(other)
    with pytest.raises(AnalysisError, match="cannot be read"):
        read_packets(other)
    other.write_bytes(b"x" * 100)
    with pytest.raises(AnalysisError, match="not a packet log of version 1"):
        read_packet_log(other)
    with pytest.raises(AnalysisError, match="columns time, direction"):
        read_packets(other)
    pl.DataFrame({"time": [1.0]}).write_parquet(other)
    with pytest.raises(AnalysisError, match="columns time, direction"):
        read_packets(other)


def test_columns_of_different_lengths_are_refused():
    packets = random_packets(1, 3)
    with pytest.raises(ValueError, match="differ in length"):
        Packets(packets.time[:2], *(getattr(packets, field.name) for field in fields(Packets)[1:]))


@pytest.mark.parametrize("place", [60, 400, 0.3, 0.5, 0.7, 0.9, -12, -40])
def test_a_parquet_file_with_damaged_bytes_is_refused_or_read_and_never_a_panic(tmp_path: Path, place: float):
    path = tmp_path / "packets.parquet"
    write_packets(path, random_packets(1, 5000))
    content = bytearray(path.read_bytes())
    start = int(place * len(content)) if isinstance(place, float) else place
    for shift in range(8):
        content[start + shift] ^= 0xA5
    path.write_bytes(content)
    said = [str(path)]
    try:
        assert np.isfinite(read_packets(path).time).all()
    except AnalysisError as error:
        said = error.message.splitlines()
    assert len(said) == 1
    assert str(path) in said[0]


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("time", float("nan"), "column time has a value that is not a time"),
        ("delay", 1e300, "column delay has a value that is not a time"),
        ("flow", None, "column flow lacks a value"),
        ("event", None, "column event lacks a value"),
        ("flow", 70_000, "cannot be read: "),
        ("size", -1, "cannot be read: "),
        ("event", "eaten", "cannot be read: "),
    ],
)
def test_values_that_no_packet_has_are_refused(tmp_path: Path, column: str, value: object, said: str):
    row = {"time": 1.0, "direction": "uplink", "flow": 1, "size": 100, "event": "delivered", "delay": 0.1}
    path = tmp_path / "other.parquet"
    pl.DataFrame([row, row | {column: value}], infer_schema_length=None).write_parquet(path)
    with pytest.raises(AnalysisError, match=said):
        read_packets(path)


def test_more_packets_than_bytes_can_hold_are_refused(tmp_path: Path):
    row = {"time": 1.0, "direction": "uplink", "flow": 1, "size": 100, "event": "delivered", "delay": 0.1}
    path = tmp_path / "bomb.parquet"
    pl.DataFrame([row]).select(pl.all().repeat_by(5_000_000).explode()).write_parquet(path)
    with pytest.raises(AnalysisError, match="says to hold 5000000 packets"):
        read_packets(path)
