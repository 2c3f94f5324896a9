"""Packet captures (pcap and pcapng): when IP packets passed, how large they were, from whom and to whom."""

from __future__ import annotations

import ipaddress
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trialwise.errors import AnalysisError

Bytes = npt.NDArray[np.uint8]
_HEAD = 96
"""How much of each packet is looked at: link, network and port numbers."""
_AT_ONCE = 100_000
_PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""Magic numbers: byte order, and nanoseconds of a fraction's unit."""
_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_ETHERNET, _SLL, _SLL2, _NULL, _RAW = 1, 113, 276, 0, (12, 14, 101, 228, 229)
_VLAN = (0x8100, 0x88A8)
_LINKS = "Ethernet, raw IP, Linux cooked (SLL, SLL2), BSD loopback"


@dataclass(frozen=True, eq=False)
class Capture:
    """IP packets of a capture, one at each index.

    Attributes
    ----------
    time
        Nanoseconds since the epoch.
    size
        Bytes of the IP packet.
    source, destination
        Addresses, 16 bytes each; those of IPv4 as IPv6 maps them.
    source_port, destination_port
        Of TCP and UDP; 0 elsewhere.
    others
        How many packets of the capture were none of IP.
    """

    time: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    source: Bytes
    destination: Bytes
    source_port: npt.NDArray[np.int64]
    destination_port: npt.NDArray[np.int64]
    others: int

    def selected(self, host: str | None, port: int | None, direction: str | None) -> npt.NDArray[np.bool_]:
        """Which packets go to or come from a host and a port.

        Parameters
        ----------
        host, port
            An address and a port number, or None for any.
        direction
            "to" or "from" that host and port; None for both.

        Raises
        ------
        AnalysisError
            The host is no address.
        """
        ends = {"from": (self.source, self.source_port), "to": (self.destination, self.destination_port)}
        wanted = [direction] if direction else ["from", "to"]
        return np.logical_or.reduce([_at(*ends[way], host, port) for way in wanted])


def _at(
    addresses: Bytes, ports: npt.NDArray[np.int64], host: str | None, port: int | None
) -> npt.NDArray[np.bool_]:
    there = np.ones(ports.size, np.bool_) if port is None else ports == port
    return there if host is None else there & (addresses == _address(host)).all(axis=1)


def _address(host: str) -> Bytes:
    try:
        found = ipaddress.ip_address(host)
    except ValueError as error:
        raise AnalysisError(
            f"{host}: this is not an IP address", hint="write one like 10.0.0.1 or 2001:db8::1"
        ) from error
    packed = found.packed if found.version == 6 else b"\0" * 10 + b"\xff\xff" + found.packed
    return np.frombuffer(packed, np.uint8)


def read_capture(path: Path) -> Capture:
    """Read the IP packets of a pcap or pcapng file; a packet cut off at the end is left out.

    Raises
    ------
    AnalysisError
        The file cannot be read, is neither, or has a type of link that is not known.
    """
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # an empty file has nothing to map
        reason = error.strerror if isinstance(error, OSError) else "it is empty"
        raise AnalysisError(f"{path}: cannot be read: {reason}") from error
    with content:
        try:
            found = np.array(list(_packets(path, content)), np.int64).reshape(-1, 5)
        except (IndexError, OverflowError, struct.error) as error:
            hint = "record it again; `tcpdump -r FILE -w COPY` may save what is whole"
            raise AnalysisError(f"{path}: the capture is damaged", hint=hint) from error
        return _decoded(path, content, found)


def _packets(path: Path, content: mmap.mmap) -> Iterator[tuple[int, int, int, int, int]]:
    """Time in nanoseconds, type of link, place, captured and original length of each packet."""
    magic = bytes(content[:4])
    if magic in _PCAP:
        return _pcap(content, *_PCAP[magic])
    if magic == struct.pack("<I", _SECTION):
        return _pcapng(content)
    raise AnalysisError(f"{path}: this is neither pcap nor pcapng", hint="record with `tcpdump -w FILE`")


def _pcap(content: mmap.mmap, order: str, unit: int) -> Iterator[tuple[int, int, int, int, int]]:
    if len(content) < 24:
        return
    link = struct.unpack_from(f"{order}I", content, 20)[0] & 0x0FFFFFFF
    record = struct.Struct(f"{order}IIII")
    place, end = 24, len(content)
    while place + 16 <= end:
        seconds, fraction, kept, length = record.unpack_from(content, place)
        place += 16
        if place + kept > end:
            return
        yield seconds * 1_000_000_000 + fraction * unit, link, place, kept, length
        place += kept


@dataclass(slots=True)
class _Section:
    """The section of a pcapng file that is being read."""

    order: str
    links: list[int]
    ticks: list[int]


def _pcapng(content: mmap.mmap) -> Iterator[tuple[int, int, int, int, int]]:
    """Blocks as the pcapng specification has them (draft-ietf-opsawg-pcapng, section 4); simple packets have no time: left out."""
    section = _Section("<", [], [])
    place = 0
    while place + 12 <= len(content):
        if content[place : place + 4] == struct.pack("<I", _SECTION):
            section = _Section("<" if content[place + 8 : place + 12] == b"\x4d\x3c\x2b\x1a" else ">", [], [])
        kind, length = struct.unpack_from(f"{section.order}II", content, place)
        if length < 12 or place + length > len(content):
            return
        if kind == _INTERFACE:
            section.links.append(struct.unpack_from(f"{section.order}H", content, place + 8)[0])
            section.ticks.append(_ticks(content[place + 16 : place + length - 4], section.order))
        elif kind == _PACKET:
            yield _enhanced(content, place, length, section)
        place += length


def _enhanced(content: mmap.mmap, place: int, size: int, section: _Section) -> tuple[int, int, int, int, int]:
    words: tuple[int, ...] = struct.unpack_from(f"{section.order}IIIII", content, place + 8)
    interface, high, low, kept, length = words
    time = (high << 32 | low) * 1_000_000_000 // section.ticks[interface]
    return time, section.links[interface], place + 28, min(kept, size - 32), length


def _ticks(options: bytes, order: str) -> int:
    """Ticks of an interface's clock in a second: option if_tsresol, else microseconds."""
    place = 0
    while place + 4 <= len(options):
        code, length = struct.unpack_from(f"{order}HH", options, place)
        if code == 9 and length == 1:
            value = options[place + 4]
            return 2 ** (value & 0x7F) if value & 0x80 else 10**value
        place += 4 + (length + 3) // 4 * 4
    return 1_000_000


def _decoded(path: Path, content: mmap.mmap, found: npt.NDArray[np.int64]) -> Capture:
    unknown = set(found[:, 1].tolist()) - {_ETHERNET, _SLL, _SLL2, _NULL, *_RAW}
    if unknown:
        raise AnalysisError(f"{path}: the type of link {min(unknown)} is not known", hint=f"known: {_LINKS}")
    every = np.frombuffer(content, np.uint8)
    parts = [
        _part(every, found[first : first + _AT_ONCE]) for first in range(0, max(1, len(found)), _AT_ONCE)
    ]
    names = [field.name for field in fields(Capture)][:-1]
    columns = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
    return Capture(*columns, others=sum(part.others for part in parts))


def _part(every: Bytes, found: npt.NDArray[np.int64]) -> Capture:
    time, link, place, kept, length = found.T
    heads = every[np.minimum(place[:, None] + np.arange(_HEAD), every.size - 1)]
    heads[np.arange(_HEAD) >= kept[:, None]] = 0
    start, is_network = _network(heads, link)
    packets = _shifted(heads, start)
    version = packets[:, 0] >> 4
    is_ip = is_network & np.isin(version, (4, 6)) & (kept - start >= np.where(version == 4, 20, 40))
    return _described(packets[is_ip], time[is_ip], (length - start)[is_ip], int((~is_ip).sum()))


def _word(heads: Bytes, place: npt.NDArray[np.int64] | int) -> npt.NDArray[np.int64]:
    """The 16 bits at a place of each packet."""
    places = np.broadcast_to(np.asarray(place), heads.shape[:1])[:, None]
    high, low = (np.take_along_axis(heads, places + shift, axis=1)[:, 0].astype(np.int64) for shift in (0, 1))
    return high << 8 | low


def _network(
    heads: Bytes, link: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Where the network header begins, and whether it is one of IP as far as the link says."""
    kind = np.full(link.size, 12)
    for _ in range(2):  # at most two tags, IEEE 802.1Q and 802.1ad
        kind += 4 * np.isin(_word(heads, kind), _VLAN)
    kind = np.select([link == _SLL, link == _SLL2], [14, 0], kind)
    start = np.select(
        [link == _SLL, link == _SLL2, link == _NULL, np.isin(link, _RAW)], [16, 20, 4, 0], kind + 2
    )
    says_nothing = np.isin(link, (_NULL, *_RAW))
    return start, says_nothing | np.isin(_word(heads, kind), (0x0800, 0x86DD))


def _shifted(heads: Bytes, start: npt.NDArray[np.int64]) -> Bytes:
    """Each packet from its network header on."""
    wide = np.pad(heads, ((0, 0), (0, _HEAD)))
    return wide[np.arange(heads.shape[0])[:, None], start[:, None] + np.arange(_HEAD)]


def _described(
    packets: Bytes, time: npt.NDArray[np.int64], wire: npt.NDArray[np.int64], others: int
) -> Capture:
    four = packets[:, 0] >> 4 == 4
    said = np.where(four, _word(packets, 2), _word(packets, 4) + 40)
    # A super-frame of the sender's own machine says 0, or less than it is.
    size = np.where((said <= 40) & ~four | (said == 0), wire, said)
    header = np.where(four, 4 * (packets[:, 0] & 15).astype(np.int64), 40)
    protocol = np.where(four, packets[:, 9], packets[:, 6])
    later = four & (_word(packets, 6) & 0x1FFF > 0)
    ports = np.isin(protocol, (6, 17)) & ~later
    return Capture(
        time=time,
        size=size,
        source=_addresses(packets, four, 12, 8),
        destination=_addresses(packets, four, 16, 24),
        source_port=np.where(ports, _word(packets, header), 0),
        destination_port=np.where(ports, _word(packets, header + 2), 0),
        others=others,
    )


def _addresses(packets: Bytes, four: npt.NDArray[np.bool_], place_four: int, place_six: int) -> Bytes:
    mapped = np.zeros((packets.shape[0], 16), np.uint8)
    mapped[:, 10:12] = 0xFF
    mapped[:, 12:] = packets[:, place_four : place_four + 4]
    return np.where(four[:, None], mapped, packets[:, place_six : place_six + 16])
