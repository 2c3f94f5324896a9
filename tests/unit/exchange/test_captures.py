"""Captures: every type of link, byte order and resolution; addresses, ports and sizes; what is no capture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from captures import framed, ipv4, ipv6, pcap, pcapng
from trialwise.errors import AnalysisError
from trialwise.exchange import captures as module
from trialwise.exchange.captures import Capture, read_capture

START = 1_795_256_094_000_000_000
PACKETS = [
    ipv4("10.0.0.1", "10.0.0.2", 1472, (40_000, 5201)),
    ipv4("10.0.0.2", "10.0.0.1", 4, (5201, 40_000), words=7),
    ipv6("2001:db8::1", "2001:db8::2", 100, (7, 8)),
    ipv4("10.0.0.1", "10.0.0.3", 100, (9, 9), protocol=1),
    ipv4("10.0.0.1", "10.0.0.3", 100, (9, 9), offset=185),
]
SIZES = [1500, 40, 148, 128, 128]
PORTS = [(40_000, 5201), (5201, 40_000), (7, 8), (0, 0), (0, 0)]


def capture(tmp_path: Path, content: bytes) -> Capture:
    (tmp_path / "x.pcap").write_bytes(content)
    return read_capture(tmp_path / "x.pcap")


def frames(link: int, tags: int = 0) -> list[tuple[int, bytes]]:
    return [(START + 1_000_000 * place, framed(packet, link, tags)) for place, packet in enumerate(PACKETS)]


def assert_all(found: Capture) -> None:
    assert found.size.tolist() == SIZES
    assert list(zip(found.source_port.tolist(), found.destination_port.tolist(), strict=True)) == PORTS
    assert (found.time - START).tolist() == [1_000_000 * place for place in range(len(PACKETS))]
    assert found.selected("10.0.0.1", None, None).tolist() == [True, True, False, True, True]
    assert found.selected("2001:db8::2", None, "to").tolist() == [False, False, True, False, False]


@pytest.mark.parametrize(
    ("link", "tags"), [(1, 0), (1, 1), (1, 2), (0, 0), (12, 0), (101, 0), (113, 0), (276, 0)]
)
def test_types_of_link(tmp_path: Path, link: int, tags: int):
    assert_all(capture(tmp_path, pcap(frames(link, tags), link)))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nano", [False, True])
def test_pcap_in_both_orders_and_resolutions(tmp_path: Path, order: str, nano: bool):
    assert_all(capture(tmp_path, pcap(frames(1), 1, order=order, nano=nano)))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("resolution", [None, 6, 9])
def test_pcapng_in_both_orders_and_resolutions(tmp_path: Path, order: str, resolution: int | None):
    assert_all(capture(tmp_path, pcapng(frames(1), 1, order=order, resolution=resolution)))


def test_pcapng_with_powers_of_two_and_two_sections(tmp_path: Path):
    found = capture(
        tmp_path, pcapng(frames(1), 1, resolution=0x80 | 30) + pcapng(frames(101), 101, order=">")
    )
    assert found.size.tolist() == SIZES * 2
    assert np.abs(found.time[: len(SIZES)] - found.time[len(SIZES) :]).max() < 2


def test_packets_cut_short_keep_their_size(tmp_path: Path):
    assert_all(capture(tmp_path, pcap(frames(1), 1, snap=96)))


def test_hosts_ports_and_directions_select(tmp_path: Path):
    found = capture(tmp_path, pcap(frames(101), 101))
    assert found.selected(None, 5201, None).tolist() == [True, True, False, False, False]
    assert found.selected(None, 5201, "to").tolist() == [True, False, False, False, False]
    assert found.selected("10.0.0.2", 5201, "from").tolist() == [False, True, False, False, False]
    # Both must hold of the same end.
    assert found.selected("10.0.0.1", 5201, None).tolist() == [False] * 5
    with pytest.raises(AnalysisError, match="host: this is not an IP address"):
        found.selected("host", None, None)


def test_other_packets_are_counted(tmp_path: Path):
    arp = (START, b"\xff" * 12 + b"\x08\x06" + b"\x45" * 60)
    found = capture(tmp_path, pcap([arp, *frames(1)], 1))
    assert (found.others, found.size.tolist()) == (1, SIZES)


def test_super_frames_have_the_size_that_they_had(tmp_path: Path):
    packet = bytearray(ipv4("10.0.0.1", "10.0.0.2", 40_000))
    packet[2:4] = b"\0\0"
    assert capture(tmp_path, pcap([(START, framed(bytes(packet), 1))], 1)).size.tolist() == [40_028]


def test_what_is_cut_off_at_the_end_is_left_out(tmp_path: Path):
    for content in (pcap(frames(1), 1), pcapng(frames(1), 1)):
        assert capture(tmp_path, content[:-50]).size.tolist() == SIZES[:-1]
    assert capture(tmp_path, pcap([], 1)).size.tolist() == []
    assert capture(tmp_path, pcap([], 1)[:10]).size.tolist() == []


def test_captures_are_decoded_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for part in (1, 2, 4, 5):
        monkeypatch.setattr(module, "_AT_ONCE", part)
        assert_all(capture(tmp_path, pcap(frames(1), 1)))


def test_what_is_no_capture_is_refused(tmp_path: Path):
    with pytest.raises(AnalysisError, match=r"lost: cannot be read: No such file"):
        read_capture(tmp_path / "lost")
    with pytest.raises(AnalysisError, match=r"x\.pcap: cannot be read: it is empty"):
        capture(tmp_path, b"")
    with pytest.raises(AnalysisError, match="neither pcap nor pcapng"):
        capture(tmp_path, b"1\n2\n3\n")
    with pytest.raises(AnalysisError, match="the type of link 105 is not known"):
        capture(tmp_path, pcap(frames(101), 105))


def test_damaged_captures_are_refused(tmp_path: Path):
    whole = pcapng(frames(1), 1)
    interface = whole.index(b"\x01\0\0\0", 28)
    for damaged in (whole[:28] + whole[48 + 12 :], whole[:interface] + b"\x07" + whole[interface + 1 :]):
        with pytest.raises(AnalysisError, match="the capture is damaged"):
            capture(tmp_path, damaged)
