"""Captures: every type of link, byte order and resolution; addresses, ports and sizes; what is no capture."""

from __future__ import annotations

import ipaddress
import struct
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
    assert (found.others, found.size.tolist()) == ({"ARP (0x0806)": 1}, SIZES)


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


def with_headers(headers: list[tuple[int, bytes]], transport: bytes, protocol: int = 17) -> bytes:
    """An IPv6 packet whose extension headers stand in this order: the number of each, and what follows its next-header field."""
    numbers = [*[number for number, _ in headers[1:]], protocol][: len(headers)]
    body = b"".join(bytes([following]) + rest for following, (_, rest) in zip(numbers, headers, strict=True))
    first = headers[0][0] if headers else protocol
    addresses = ipaddress.IPv6Address("2001:db8::1").packed + ipaddress.IPv6Address("2001:db8::2").packed
    head = struct.pack(">IHBB", 6 << 28, len(body + transport), first, 64)
    return head + addresses + body + transport


UDP = struct.pack(">HHHH", 40_000, 8001, 8 + 100, 0) + b"\xaa" * 100
HOP, ROUTING, DESTINATION, MOBILITY = (
    (number, b"\0" + b"\x01\x04" + b"\0" * 4) for number in (0, 43, 60, 135)
)
LONG = (60, b"\x02" + b"\0" * 22)
"""Of 24 bytes: the length counts 8 bytes beyond the first 8 (RFC 8200, 4.6)."""
AUTHENTICATION = (51, b"\x04" + b"\0" * 22)
"""Of 24 bytes: the length counts 4 bytes less 2 (RFC 4302, 2.2)."""


def fragment(offset: int, more: int, name: int = 7) -> tuple[int, bytes]:
    return 44, struct.pack(">BHI", 0, offset << 3 | more, name)


@pytest.mark.parametrize(
    "headers",
    [
        [], [HOP], [ROUTING], [HOP, DESTINATION, ROUTING], [LONG], [LONG, HOP], [AUTHENTICATION],
        [HOP, ROUTING, AUTHENTICATION, LONG], [MOBILITY], [fragment(0, 0)], [HOP, fragment(0, 1), DESTINATION],
    ],
)  # fmt: skip
@pytest.mark.parametrize("protocol", [6, 17, 33, 132, 136])
def test_extension_headers_are_walked_to_the_ports(tmp_path: Path, headers, protocol: int):
    packet = with_headers(headers, UDP, protocol)
    found = capture(tmp_path, pcap([(START, framed(packet, 1))], 1))
    assert (found.source_port.tolist(), found.destination_port.tolist()) == ([40_000], [8001])
    assert found.size.tolist() == [len(packet)]
    assert found.portless == {}


def test_what_has_no_ports_gets_none(tmp_path: Path):
    packets = [with_headers([HOP], UDP, 58), with_headers([], UDP, 59), with_headers([HOP], UDP, 50)]
    found = capture(tmp_path, pcap([(START, framed(packet, 1)) for packet in packets], 1))
    assert found.destination_port.tolist() == [0, 0, 0]
    assert found.portless == {}


def fragments_of(version: int, name: int, port: int, count: int = 3) -> list[bytes]:
    """A datagram in fragments: the first has the ports."""
    ports = struct.pack(">HHHH", 40_000, port, 0, 0)
    if version == 6:
        return [
            with_headers(
                [HOP, fragment(at * 10, at < count - 1, name)], (b"" if at else ports) + b"\x1f" * 80
            )
            for at in range(count)
        ]
    packets = [
        bytearray(ipv4("10.0.0.1", "10.0.0.2", 80, (40_000, port), offset=at * 10)) for at in range(count)
    ]
    for at, packet in enumerate(packets):
        packet[4:6] = struct.pack(">H", name)
        packet[6] |= 0x20 * (at < count - 1)
        if at:
            packet[20:28] = b"\x1f" * 8
    return [bytes(packet) for packet in packets]


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("part", [1, 4, 1000])
def test_later_fragments_have_the_ports_of_their_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, part: int
):
    """In any order, between those of others, and where a name comes again."""
    monkeypatch.setattr(module, "_AT_ONCE", part)
    one, two, again = (fragments_of(version, name, port) for name, port in ((5, 8001), (6, 8002), (5, 8003)))
    lost = fragments_of(version, 9, 8004)[1:]
    order = [one[1], two[0], one[0], two[2], one[2], two[1], lost[0], *again, lost[1]]
    wanted = [8001, 8002, 8001, 8002, 8001, 8002, 0, 8003, 8003, 8003, 0]
    found = capture(tmp_path, pcap([(START + at, framed(packet, 1)) for at, packet in enumerate(order)], 1))
    assert found.destination_port.tolist() == wanted
    assert found.source_port.tolist() == [40_000 if port else 0 for port in wanted]
    assert found.portless == {"fragments whose first is not in the capture": 2}


def test_a_port_that_was_cut_off_is_said(tmp_path: Path):
    for headers, snap in (([LONG] * 5, 14 + 40 + 120 + 2), ([LONG] * 5, 14 + 40 + 96), ([LONG] * 40, 65535)):
        packet = with_headers(headers, UDP)
        found = capture(tmp_path, pcap([(START, framed(packet, 1))], 1, snap=snap))
        assert (found.size.tolist(), found.destination_port.tolist()) == ([len(packet)], [0])
        assert found.portless == {"packets cut off before their ports": 1}


def tagged(*types: int) -> bytes:
    """The header of an Ethernet frame with tags of these types."""
    return b"\x02" * 12 + b"".join(struct.pack(">HH", one, 5) for one in types)


PPP_FOUR, PPP_SIX = b"\0\x21", b"\0\x57"
SESSION = b"\x11\0\0\x07\0\x64"
LABELS = b"\0\0\x10\x40" + b"\0\0\x20\x40"
BOTTOM = b"\0\0\x31\x40"
TYPES = {4: b"\x08\0", 6: b"\x86\xdd"}


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize(
    ("link", "head"),
    [
        (1, lambda version: tagged(0x8100) + TYPES[version]),
        (1, lambda version: tagged(0x9100, 0x8100) + TYPES[version]),
        (1, lambda version: tagged(0x88A8, 0x8100, 0x8100) + TYPES[version]),
        (1, lambda version: tagged(0x9200) + TYPES[version]),
        (1, lambda version: tagged() + b"\x88\x64" + SESSION + (PPP_FOUR if version == 4 else PPP_SIX)),
        (1, lambda version: tagged(0x8100) + b"\x88\x64" + SESSION + (PPP_FOUR if version == 4 else PPP_SIX)),
        (1, lambda _: tagged() + b"\x88\x47" + LABELS + BOTTOM),
        (51, lambda version: SESSION + (PPP_FOUR if version == 4 else PPP_SIX)),
        (9, lambda version: PPP_FOUR if version == 4 else PPP_SIX),
        (9, lambda version: b"\xff\x03" + (PPP_FOUR if version == 4 else PPP_SIX)),
        (113, lambda version: b"\0" * 14 + TYPES[version]),
        (113, lambda version: b"\0" * 14 + b"\x81\0\0\x05" + TYPES[version]),
        (276, lambda version: TYPES[version] + b"\0" * 18),
        (276, lambda version: b"\x91\0" + b"\0" * 18 + b"\0\x05" + TYPES[version]),
        (0, lambda _: b"\x02\0\0\0"),
        (108, lambda _: b"\0\0\0\x02"),
        (101, lambda _: b""),
    ],
)
def test_headers_of_links_and_tags_before_the_network(tmp_path: Path, version: int, link: int, head):
    packet = ipv4("10.0.0.1", "10.0.0.2", 100, (40_000, 8001)) if version == 4 else with_headers([HOP], UDP)
    found = capture(tmp_path, pcap([(START, head(version) + packet)], link))
    assert (found.size.tolist(), found.destination_port.tolist()) == ([len(packet)], [8001])
    assert found.others == {}


def test_what_is_not_counted_is_named(tmp_path: Path):
    frames = [
        b"\xff" * 12 + b"\x08\x06" + b"\0" * 60,
        b"\xff" * 12 + b"\x08\x06" + b"\0" * 60,
        b"\xff" * 12 + b"\x88\xcc" + b"\0" * 60,
        b"\xff" * 12 + b"\x12\x34" + b"\0" * 60,
        b"\xff" * 12 + b"\0\x40" + b"\0" * 60,
        b"\xff" * 12 + b"\x08\0" + b"\x41" + b"\0" * 60,
    ]
    found = capture(tmp_path, pcap([(START, frame) for frame in frames], 1))
    assert found.others == {
        "ARP (0x0806)": 2,
        "LLDP (0x88cc)": 1,
        "type (0x1234)": 1,
        "802.3 frames without a type": 1,
        "damaged or cut off": 1,
    }


def test_an_interface_of_another_kind_is_counted_beside_others(tmp_path: Path):
    content = pcapng(frames(1), 1) + pcapng(frames(1), 147)
    found = capture(tmp_path, content)
    assert found.size.tolist() == SIZES
    assert found.others == {"link type 147": len(SIZES)}
