"""Packet captures made by hand: pcap and pcapng of given frames."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterable

Frame = tuple[int, bytes]
"""When, in nanoseconds, and the bytes."""


def ipv4(
    source: str,
    destination: str,
    payload: int,
    ports: tuple[int, int] = (1, 2),
    *,
    protocol: int = 17,
    words: int = 5,
    offset: int = 0,
) -> bytes:
    """An IPv4 packet of a header, 8 bytes of ports and `payload` more; `words` of header; a fragment's offset."""
    total = 4 * words + 8 + payload
    header = struct.pack(
        ">BBHHHBBH4s4s", 0x40 | words, 0, total, 0, offset, 64, protocol, 0,
        ipaddress.IPv4Address(source).packed, ipaddress.IPv4Address(destination).packed,
    )  # fmt: skip
    return (
        header + b"\0" * (4 * words - 20) + struct.pack(">HHHH", *ports, 8 + payload, 0) + b"\xaa" * payload
    )


def ipv6(source: str, destination: str, payload: int, ports: tuple[int, int] = (1, 2)) -> bytes:
    """An IPv6 packet with UDP."""
    addresses = ipaddress.IPv6Address(source).packed + ipaddress.IPv6Address(destination).packed
    header = struct.pack(">IHBB", 6 << 28, 8 + payload, 17, 64) + addresses
    return header + struct.pack(">HHHH", *ports, 8 + payload, 0) + b"\xaa" * payload


def framed(packet: bytes, link: int, tags: int = 0) -> bytes:
    """A packet with the header of its type of link; Ethernet frames may have VLAN tags, and are 60 bytes at least."""
    kind = struct.pack(">H", 0x0800 if packet[0] >> 4 == 4 else 0x86DD)
    if link == 1:
        return (b"\x02" * 12 + b"\x81\x00\x00\x05" * tags + kind + packet).ljust(60, b"\0")
    return {113: b"\0" * 14 + kind, 276: kind + b"\0" * 18, 0: struct.pack("<I", 2)}.get(link, b"") + packet


def pcap(
    frames: Iterable[Frame], link: int, *, order: str = "<", nano: bool = False, snap: int = 65535
) -> bytes:
    """A pcap file."""
    magic, unit = (0xA1B23C4D, 1) if nano else (0xA1B2C3D4, 1000)
    written = [struct.pack(f"{order}IHHIIII", magic, 2, 4, 0, 0, snap, link)]
    for time, frame in frames:
        kept = frame[:snap]
        seconds, rest = divmod(time, 10**9)
        written.append(struct.pack(f"{order}IIII", seconds, rest // unit, len(kept), len(frame)) + kept)
    return b"".join(written)


def pcapng(frames: Iterable[Frame], link: int, *, order: str = "<", resolution: int | None = 9) -> bytes:
    """A pcapng file of one section and interface, with a block that nobody knows."""

    def block(kind: int, body: bytes) -> bytes:
        body += b"\0" * (-len(body) % 4)
        length = struct.pack(f"{order}I", len(body) + 12)
        return struct.pack(f"{order}I", kind) + length + body + length

    options = b"" if resolution is None else struct.pack(f"{order}HHBxxxHH", 9, 1, resolution, 0, 0)
    ticks = 10**6 if resolution is None else 2 ** (resolution & 127) if resolution & 128 else 10**resolution
    written = [
        block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(1, struct.pack(f"{order}HHI", link, 0, 0) + options),
        block(0x0BAD, b"unknown"),
    ]
    for time, frame in frames:
        stamp = time * ticks // 10**9
        head = struct.pack(f"{order}IIIII", 0, stamp >> 32, stamp & 0xFFFFFFFF, len(frame), len(frame))
        written.append(block(6, head + frame))
    return b"".join(written)
