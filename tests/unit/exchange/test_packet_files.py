"""Files of packets: told apart, read, converted; their metrics and the JSON forms."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from packet_logs import MADE, RECORD, flow_word, random_packets, write_log
from trialwise.errors import AnalysisError
from trialwise.exchange.captures import read_capture
from trialwise.exchange.mahimahi_log import read_mahimahi_log
from trialwise.exchange.packet_files import PacketFile, kind_of, read_packet_file, write_packet_file
from trialwise.exchange.path_json import packets_document, packets_schema, trace_document, trace_schema
from trialwise.measurement import path_metrics
from trialwise.measurement.opportunities import summary
from trialwise.measurement.packets import read_packets
from trialwise.measurement.path_statistics import Capacity, PathStatistics, capacity_of, flow_metrics


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"TWPACKET", "packet log"),
        (b"TWSEEN\0\0", "packets of an end"),
        (b"PAR1....", "parquet"),
        (b"# mahimahi mm-link (Uplink) [x] > y\n1 # 1504\n", "mm-link log"),
        (b"1 # 1504\n", "mm-link log"),
        (b"604 d 1 1504\n", "mm-link log"),
        (b"# init timestamp: 1.000\n1.000 + 88 1\n", "merged log"),
        (b"# 'mm-tunnelserver' 'x' ingress: 12.001\n1.000 - 1 - 88\n", "tunnel log"),
        (b"# 'mm-tunnelclient' 'x' egress: 12.001\n", "tunnel log"),
    ],
)
def test_files_are_told_apart(tmp_path: Path, content: bytes, kind: str):
    (tmp_path / "x").write_bytes(content)
    assert kind_of(tmp_path / "x") == kind


@pytest.mark.parametrize("content", [b"", b"1\n2\n", b"# a page\n", b"\xff\xfe\x00", b"time,value\n1,2\n"])
def test_other_files_are_refused(tmp_path: Path, content: bytes):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(AnalysisError, match="this is not a packet file"):
        kind_of(tmp_path / "x")


def test_every_kind_is_read(tmp_path: Path):
    log = write_log(
        tmp_path / "log", np.array([(29_000_000, 28_000_000, flow_word(9, 5), 0, 1500, 0, 1)], RECORD)
    )
    found = read_packet_file(log, flow_of_port={5: 3})
    assert (found.kind, found.start, found.opportunities) == ("packet log", MADE / 1e6, None)
    assert (found.packets.flow.tolist(), found.packets.direction.tolist()) == ([3], [1])

    (tmp_path / "mm").write_text(
        "# mahimahi mm-link (Downlink) [x] > y\n# base timestamp: 4\n5 # 1504\n6 + 1504\n"
    )
    found = read_packet_file(tmp_path / "mm")
    assert (found.base, found.packets.direction.tolist()) == (4, [1])
    assert read_packet_file(tmp_path / "mm", direction="uplink").packets.direction.tolist() == [0]

    (tmp_path / "in").write_text("# x ingress: 10.000\n30.000 - 1 - 88\n")
    (tmp_path / "out").write_text("# x egress: 10.000\n2.000 - 1 - 88\n")
    with pytest.raises(AnalysisError, match="what one end of a tunnel saw"):
        read_packet_file(tmp_path / "in")
    found = read_packet_file(tmp_path / "in", egress=tmp_path / "out", direction="downlink")
    assert found.packets.delay == pytest.approx([0.028])
    assert found.packets.direction.tolist() == [1]
    with pytest.raises(AnalysisError, match="cannot be read"):
        read_packet_file(tmp_path / "lost")


def test_every_format_is_written(tmp_path: Path):
    packets = random_packets(4, 300)
    slots = np.arange(1, 12_000)
    file = PacketFile("packet log", packets, slots, 1_000_000.0)
    for form in ("parquet", "csv", "mahimahi", "pantheon"):
        write_packet_file(tmp_path / form, file, form, direction="downlink")
    assert len(read_packets(tmp_path / "parquet")) == 300
    lines = (tmp_path / "csv").read_text().splitlines()
    assert (lines[0], len(lines)) == ("time,direction,flow,size,event,delay", 301)
    link = read_mahimahi_log(tmp_path / "mahimahi")
    assert (link.direction, link.init_timestamp) == ("downlink", 1_000_000)
    assert link.opportunities.tolist() == slots.tolist()
    merged = read_packet_file(tmp_path / "pantheon")
    numbered = packets.where((packets.flow > 0) & (packets.direction == 1))
    assert (merged.kind, len(merged.packets)) == ("merged log", len(numbered))
    assert merged.opportunities is not None
    assert merged.opportunities.tolist() == slots.tolist()


def test_metrics_come_for_directions_and_numbered_flows():
    packets = random_packets(5, 800, flows=2)
    found = flow_metrics(packets, 1.0, 9.0, capacities={"uplink": Capacity(12, 11)}, propagation=28)
    names = [(one.direction, one.flow) for one in found]
    assert names == [(way, flow) for way in ("uplink", "downlink") for flow in (None, 1, 2)]
    total, first = found[0], found[1]
    inside = packets.of("uplink", start=1.0, stop=9.0)
    assert total.throughput == path_metrics.throughput(inside, 1.0, 9.0)
    assert total.loss == path_metrics.loss(inside)
    assert total.utilisation == pytest.approx(100 * total.throughput / 12)
    assert total.pantheon_utilization == pytest.approx(100 * total.pantheon_throughput / 11)
    assert total.queueing_p95 == pytest.approx(total.delay_p95 - 28)
    assert np.isnan([found[3].utilisation, first.utilisation]).all()
    assert first.delivered == int(inside.of(flow=1).delivered.sum())
    assert flow_metrics(packets, 100.0, 101.0) == ()


def test_capacity_of_opportunities():
    found = capacity_of(np.arange(1, 10_001), 0, 5)
    assert found.scheduled == pytest.approx(12, rel=1e-3)
    assert found.pantheon == pytest.approx(12, rel=1e-3)
    assert capacity_of(np.array([1000, 2000]), 0, 10).scheduled == pytest.approx(2 * 12e-3 / 10)


def test_the_documents_keep_to_their_schemas():
    metrics = flow_metrics(random_packets(6), 0.0, 10.0)
    statistics = PathStatistics("x", "parquet", 0.0, 10.0, float("nan"), {"uplink": Capacity(1, 2)}, metrics)
    document = json.loads(json.dumps(packets_document(statistics), allow_nan=False))
    assert document["propagation"] is None
    Draft202012Validator(packets_schema()).validate(document)
    trace = trace_document("x", summary(np.array([1, 7], np.uint64)))
    Draft202012Validator(trace_schema()).validate(json.loads(json.dumps(trace)))


BEGINNINGS = st.sampled_from(
    [
        b"", b"# mahimahi mm-link\n", b"1 # 1504\n", b"# init timestamp: 1\n", b"# x ingress: 1\n", b"PAR1", b"# init timestamp:",
        b"TWPACKET\x01\x00\x00\x00\x20\x00\x00\x00", b"TWSEEN\0\0\x01\x00\x00\x00\x20" + bytes(51),
        b"\xd4\xc3\xb2\xa1" + b"\x01" * 20, b"\x0a\x0d\x0d\x0a\x0c\x00\x00\x00",
    ]
)  # fmt: skip
PIECES = st.one_of(
    st.binary(max_size=80),
    st.text("0123456789 +-d#.\n", max_size=80).map(str.encode),
)


@given(BEGINNINGS, PIECES)
def test_no_bytes_do_anything_but_be_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, beginning: bytes, piece: bytes
):
    path = tmp_path_factory.mktemp("any") / "file"
    path.write_bytes(beginning + piece)
    for reader in (lambda: read_packet_file(path, egress=path), lambda: read_capture(path)):
        with contextlib.suppress(AnalysisError):
            reader()
