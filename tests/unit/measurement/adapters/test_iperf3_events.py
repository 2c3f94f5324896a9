"""What iperf3 3.18 (Debian 13) printed with ``--json-stream``, as rows; recorded on loopback, unchanged.

``-t 1 -i 0.5`` with ``-O 1`` (tcp), ``--bidir`` (bidir), ``-u -b 5M -R`` (udp), and without a server (err).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trialwise.measurement.adapters.iperf3 import Iperf3Reader
from trialwise.measurement.adapters.lines import Row

RECORDED = Path(__file__).parent / "iperf3"


def read(name: str) -> list[Row]:
    reader = Iperf3Reader()
    return [
        row for line in (RECORDED / f"{name}.jsonl").read_text().splitlines() for row in reader.read(line)
    ]


def of(rows: list[Row], suffix: str, *names: str) -> list[tuple[object, ...]]:
    return [tuple(row.cells[name] for name in names) for row in rows if row.suffix == suffix]


def test_intervals_that_were_to_be_omitted_are_marked():
    rows = read("tcp")
    assert [row.suffix for row in rows] == [""] * 4 + ["_end"] * 2
    assert of(
        rows, "", "stream", "role", "bytes", "retransmits", "congestion_window", "rtt_ms", "omitted"
    ) == [
        (5, "TX", 528482304, 2, 916762, 0.09, True),
        (5, "TX", 275513344, 4, 916762, 0.086, True),
        (5, "TX", 248905728, 9, 1047728, 0.152, False),
        (5, "TX", 249823232, 5, 916762, 0.078, False),
    ]
    assert of(rows, "_end", "role", "seconds", "bytes", "retransmits", "rtt_ms") == [
        ("sender", 1.001657, 498728960, 14, 0.101),
        ("receiver", 1.001657, 504889344, None, None),
    ]


def test_both_directions_have_their_sums():
    rows = read("bidir")
    assert of(rows, "", "stream", "role") == [(5, "TX"), (7, "RX")] * 2
    assert of(rows, "_sum", "stream", "role", "bytes") == [
        (-1, "TX", 232783872), (-1, "RX", 217972736), (-1, "TX", 292814848), (-1, "RX", 275382272),
    ]  # fmt: skip
    assert of(rows, "_end_sum", "role", "bytes", "retransmits") == [
        ("sender", 525598720, 13), ("receiver", 523108352, None),
        ("reverse_sender", 498466816, 12), ("reverse_receiver", 493355008, None),
    ]  # fmt: skip


def test_datagrams_have_one_total_for_both_ends():
    rows = read("udp")
    assert of(rows, "", "role", "packets", "lost_packets", "jitter_ms", "retransmits") == [
        ("RX", 10, 0, 0.006568731640742044, None), ("RX", 10, 0, 0.010203592407078485, None),
    ]  # fmt: skip
    assert of(rows, "_end", "role", "packets", "lost_packets") == [("udp", 20, 0)]


@pytest.mark.parametrize("name", ["tcp", "bidir", "udp"])
def test_no_number_that_it_prints_of_a_stream_is_lost(name: str):
    events = [json.loads(line) for line in (RECORDED / f"{name}.jsonl").read_text().splitlines()]
    printed = [
        stream["bits_per_second"]
        for event in events
        if event["event"] == "interval"
        for stream in event["data"]["streams"]
    ]
    assert [rate for (rate,) in of(read(name), "", "bits_per_second")] == printed


def test_an_error_is_no_row():
    assert read("err") == []
