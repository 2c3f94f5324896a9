"""Captures by real tools, against what tshark reads from them (`captures/make_captures.sh`)."""

from __future__ import annotations

import ipaddress
import json
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trialwise.errors import AnalysisError
from trialwise.exchange.capture_points import read_one_point, read_two_points
from trialwise.exchange.captures import Capture, read_capture
from trialwise.exchange.packet_files import read_packet_file

FOLDER = Path(__file__).parent / "captures"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text())
A, B = FOLDER / "end-a.pcap", FOLDER / "end-b.pcap"
_BLOCKS_WITHOUT_PACKETS = {"sections.pcapng": 24}
"""Which tshark counts as frames."""


def written(address: np.ndarray) -> str:
    found = ipaddress.IPv6Address(address.tobytes())
    return str(found.ipv4_mapped or found)


def rows(found: Capture) -> list[list[object]]:
    columns = (
        found.time.tolist(), found.size.tolist(), map(written, found.source), map(written, found.destination),
        found.source_port.tolist(), found.destination_port.tolist(),
    )  # fmt: skip
    return [list(row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("name", EXPECTED)
def test_packets_are_those_that_tshark_reads(name: str):
    found, expected = read_capture(FOLDER / name), EXPECTED[name]
    assert len(rows(found)) == len(expected["packets"])
    for own, wanted in zip(rows(found), expected["packets"], strict=True):
        # Where tshark sees no ports, later fragments have those of the first here.
        assert own[: 4 if wanted[4:] == [0, 0] else 6] == wanted[: 4 if wanted[4:] == [0, 0] else 6]
    assert sum(found.others.values()) == expected["others"] - _BLOCKS_WITHOUT_PACKETS.get(name, 0)
    assert not found.is_cut_off


def test_every_fragment_of_what_was_sent_has_its_ports():
    for name in (
        "ethernet.pcap",
        "cooked.pcap",
        "cooked2.pcap",
        "ppp.pcap",
        "pppoe-tagged.pcap",
        "null-big.pcap",
    ):
        found = read_capture(FOLDER / name)
        ports = (40_001, 40_003)
        sent = np.isin(found.source_port, ports)
        long = found.parts.protocol == 17
        assert (sent | np.isin(found.destination_port, ports) | (found.source_port < 10))[long].all()
        assert not found.portless


def test_a_capture_says_what_it_missed():
    assert read_capture(FOLDER / "sections.pcapng").dropped == 2 * (4 + 3)
    assert read_capture(FOLDER / "several.pcapng").dropped == 0
    assert read_capture(FOLDER / "ethernet.pcap").dropped is None


def test_packets_without_a_time_are_counted(tmp_path: Path):
    """Simple packet blocks (draft-ietf-opsawg-pcapng, 4.4)."""
    content = (FOLDER / "several.pcapng").read_bytes()
    simple = b"\x03\0\0\0\x14\0\0\0\x04\0\0\0abcd\x14\0\0\0"
    (tmp_path / "x.pcapng").write_bytes(content + simple * 3)
    found = read_capture(tmp_path / "x.pcapng")
    assert found.others["packets without a time (simple packet blocks)"] == 3
    assert found.time.size == len(EXPECTED["several.pcapng"]["packets"])


FLOWS = {5201: 1, 5202: 2}


def test_two_ends_are_joined_through_address_translation():
    found = read_two_points(A, B, None, FLOWS)
    lost = json.loads((FOLDER / "lost.json").read_text())["lost"]
    uplink, downlink = found.packets.of("uplink"), found.packets.of("downlink")
    here, there = EXPECTED["end-a.pcap"]["packets"], EXPECTED["end-b.pcap"]["packets"]
    assert len(uplink) == sum(row[2] == "10.1.0.2" for row in here)
    assert int(uplink.delivered.sum()) == sum(row[3] == "10.2.0.2" for row in there)
    # What the router counted when it dropped them.
    assert (int(uplink.dropped.sum()), int(uplink.held.sum())) == (lost, 0)
    assert lost > 0
    assert set(uplink.flow[uplink.dropped].tolist()) == {1}
    assert len(downlink) == sum(row[2] == "10.2.0.2" for row in there)
    assert downlink.delivered.all()
    assert found.joined is not None
    assert not found.joined.are_alike


@pytest.mark.parametrize("name", ["end-b.pcap", "end-b-shifted.pcap"])
def test_delays_are_right_within_the_bound_that_is_said(name: str):
    """One clock stamped both, in one case with 7.25 s added to the second: delays are differences of the stamps."""
    found = read_two_points(A, FOLDER / name, "10.1.0.2", FLOWS)
    assert found.joined is not None
    bound = found.joined.clocks.bound
    delays = found.packets.of("uplink").delay[found.packets.of("uplink").delivered]
    truth = true_delays()
    assert delays.size == truth.size
    assert np.abs(np.sort(delays) - np.sort(truth)).max() <= bound + 1e-6


def true_delays() -> np.ndarray:
    """Delays of the packets to B, matched by the bytes behind the header of IP but for ports and checksum."""

    def packets(path: Path, side: slice, address: str) -> dict[bytes, list[int]]:
        content, place, found = path.read_bytes(), 24, dict[bytes, list[int]]()
        while place < len(content):
            seconds, nanoseconds, kept, _ = struct.unpack_from("<IIII", content, place)
            ip = content[place + 30 : place + 16 + kept]
            if ip[side] == ipaddress.IPv4Address(address).packed:
                of_tcp = ip[9] == 6
                name = ip[24:36] + ip[40:] if of_tcp else ip[28:]
                found.setdefault(name, []).append(seconds * 10**9 + nanoseconds)
            place += 16 + kept
        return found

    sent, came = packets(A, slice(12, 16), "10.1.0.2"), packets(B, slice(16, 20), "10.2.0.2")
    pairs = [(sent[name][0], times[0]) for name, times in came.items() if len(times) == len(sent[name]) == 1]
    return np.array([(b - a) / 1e9 for a, b in pairs])


def test_one_point_says_neither_delay_nor_loss():
    found = read_packet_file(A, flow_of_port=FLOWS)
    assert (found.kind, found.has_delays, found.has_losses) == ("capture", False, False)
    sizes = [row[1] for row in EXPECTED["end-a.pcap"]["packets"] if row[2] == "10.1.0.2"]
    assert found.packets.of("uplink").size.tolist() == sizes
    turned = read_one_point(A, "10.2.0.2", FLOWS)
    assert turned.packets.of("downlink").size.tolist() == sizes


def test_what_is_no_pair_is_refused(tmp_path: Path):
    with pytest.raises(AnalysisError, match=r"no packet that .* sent in .* is in"):
        read_two_points(A, FOLDER / "ethernet.pcap", None, {})
    with pytest.raises(AnalysisError, match=r"are in .*end-a\.pcap before they are in .*end-b\.pcap"):
        read_two_points(B, A, None, {})
    with pytest.raises(AnalysisError, match=r"holds no packet of 192\.0\.2\.9") as raised:
        read_two_points(A, B, "192.0.2.9", {})
    assert "10.1.0.2" in (raised.value.hint or "")
    log = tmp_path / "x.log"
    log.write_text("# init timestamp: 1.0\n1.0 + 100 1\n")
    with pytest.raises(AnalysisError, match=r"is a capture and .* a merged log"):
        read_packet_file(A, other=log)
    (tmp_path / "e.pcap").write_bytes(A.read_bytes()[:24])
    with pytest.raises(AnalysisError, match="holds no packets of IP"):
        read_one_point(tmp_path / "e.pcap", None, {})


@pytest.mark.skipif(shutil.which("editcap") is None, reason="needs editcap, as make_captures.sh does")
@pytest.mark.parametrize("snap", [68, 70, 90])
def test_captures_that_are_cut_differently_are_joined_by_what_both_have(tmp_path: Path, snap: int):
    subprocess.run(["editcap", "-s", str(snap), B, tmp_path / "b.pcap"], check=True)
    found = read_two_points(A, tmp_path / "b.pcap", None, FLOWS)
    assert int(found.packets.of("uplink").delivered.sum()) == sum(
        row[3] == "10.2.0.2" for row in EXPECTED["end-b.pcap"]["packets"]
    )


@pytest.mark.skipif(shutil.which("editcap") is None, reason="needs editcap, as make_captures.sh does")
def test_captures_without_whole_headers_are_not_joined(tmp_path: Path):
    subprocess.run(["editcap", "-s", "60", B, tmp_path / "b.pcap"], check=True)
    with pytest.raises(AnalysisError, match=r"b\.pcap: \d+ packets are cut off within their headers"):
        read_two_points(A, tmp_path / "b.pcap", None, FLOWS)


def in_pieces(content: bytes, most: int) -> tuple[bytes, int]:
    """A capture of a host whose interface takes segments apart: `most` of a connection in one piece; also how many there were."""
    place, written, pieces, number = 24, [content[:24]], list[bytes](), 0

    def flush() -> None:
        nonlocal number
        if not pieces:
            return
        first = bytearray(pieces[0])
        lengths = [int.from_bytes(each[32:34]) for each in pieces]
        total = lengths[0] + sum(length - 52 for length in lengths[1:])
        first[32:34] = total.to_bytes(2)
        first[12:16] = struct.pack("<I", total + 14)
        written.append(bytes(first))
        number += len(pieces) if len(pieces) > 1 else 0
        pieces.clear()

    while place < len(content):
        kept = struct.unpack_from("<I", content, place + 8)[0]
        each = content[place : place + 16 + kept]
        place += 16 + kept
        length = int.from_bytes(each[32:34])
        is_data = each[39] == 6 and each[52:54] == struct.pack(">H", 5202) and length > 52
        if is_data and pieces:
            before = pieces[-1]
            follows = (
                int.from_bytes(each[54:58])
                == int.from_bytes(before[54:58]) + int.from_bytes(before[32:34]) - 52
            )
            is_full = int.from_bytes(before[32:34]) == 1500
            alike = each[58:62] == before[58:62] and each[66:82] == before[66:82] and len(pieces) < most
            if not (follows and is_full and alike):
                flush()
        elif pieces:
            flush()
        if is_data:
            pieces.append(each)
        else:
            written.append(each)
    flush()
    return b"".join(written), number


@pytest.mark.parametrize("at_both", [False, True])
def test_large_segments_are_taken_apart_as_the_path_has_them(tmp_path: Path, at_both: bool):
    """TSO at the sender, and GRO at the receiver, which puts together other ones."""
    content, number = in_pieces(A.read_bytes(), 7)
    (tmp_path / "a.pcap").write_bytes(content)
    assert number > 50
    other = B
    if at_both:
        other = tmp_path / "b.pcap"
        other.write_bytes(in_pieces(B.read_bytes(), 3)[0])
    found, wanted = (
        read_two_points(tmp_path / "a.pcap", other, None, FLOWS),
        read_two_points(A, B, None, FLOWS),
    )
    own, whole = found.packets.of("uplink"), wanted.packets.of("uplink")
    assert own.delivered.sum() == whole.delivered.sum()
    assert sorted(own.size.tolist()) == sorted(whole.size.tolist())
    assert found.joined is not None
    assert found.joined.uplink.merged >= number - 1


def cut_and_flipped(content: bytes, rng: np.random.Generator) -> bytes:
    damaged = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        damaged[int(rng.integers(len(damaged)))] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


@pytest.mark.parametrize("name", ["raw4.pcap", "sections.pcapng"])
def test_a_capture_cut_at_any_byte_keeps_what_is_whole(tmp_path: Path, name: str):
    """What is read of it is a beginning of what was there, and what is missing is said."""
    content, path = (FOLDER / name).read_bytes(), tmp_path / "x"
    whole = rows(read_capture(FOLDER / name))
    step = max(1, len(content) // 1500)
    number = 0
    for end in (1, 3):
        path.write_bytes(content[:end])
        with pytest.raises(AnalysisError, match="neither pcap nor pcapng"):
            read_capture(path)
    for end in range(12, len(content), step):
        path.write_bytes(content[:end])
        own = rows(read_capture(path))
        assert [row[:4] for row in own] == [row[:4] for row in whole[: len(own)]]
        assert number <= len(own)
        number = len(own)
    assert number >= len(whole) - 1


@pytest.mark.parametrize("name", ["big-endian.pcap", "sections.pcapng", "pppoe-tagged.pcap"])
def test_flipped_bits_are_read_or_refused(tmp_path: Path, name: str):
    content, path = (FOLDER / name).read_bytes(), tmp_path / "x"
    rng = np.random.default_rng(5)
    for _ in range(300):
        path.write_bytes(cut_and_flipped(content, rng))
        try:
            found = read_packet_file(path)
        except AnalysisError:
            continue
        assert len(found.packets) <= len(EXPECTED[name]["packets"])


def test_the_script_names_every_capture():
    script = (FOLDER / "make_captures.sh").read_text() + (FOLDER / "made_by_scapy.py").read_text()
    for name in os.listdir(FOLDER):  # noqa: PTH208 names alone
        if name.endswith((".pcap", ".pcapng")):
            assert name in script
