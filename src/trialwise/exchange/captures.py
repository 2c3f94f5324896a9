"""Read packet captures (pcap and pcapng): the time, size, source and destination of IP packets."""

from __future__ import annotations

import ipaddress
import mmap
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trialwise.arrays import Mask
from trialwise.errors import AnalysisError
from trialwise.exchange.capture_records import DamagedError, Rest, is_capture, records
from trialwise.exchange.packet_identity import OF_OTHERS, Parts, joined_parts, parts_of
from trialwise.foreign_files import open_foreign

Bytes = npt.NDArray[np.uint8]
Addresses = npt.NDArray[np.uint8]
"""Of 16 bytes each."""
Numbers = npt.NDArray[np.int64]
_HEAD = 256
"""Bytes examined of each packet: link, network, extension headers and port numbers."""
_ROOM = 64
"""Bytes of these reserved for headers of the link."""
_AT_ONCE = 25_000
_MAX_PACKETS = 100_000_000
_ETHERNET, _PPP_ETHER, _SLL, _SLL2, _NULL, _LOOP = 1, 51, 113, 276, 0, 108
_PPP = (9, 50)
_RAW = (12, 14, 101, 228, 229)
_TYPED: dict[int, tuple[int, int]] = {
    _ETHERNET: (12, 14),
    _SLL: (14, 16),
    _SLL2: (0, 20),
    _PPP_ETHER: (-1, 0),
}
"""By link type: the offset of the type of the payload (EtherType) in a frame, and the offset of the payload."""
_UNTYPED = {_NULL: 4, _LOOP: 4, **dict.fromkeys(_RAW, 0)}
"""The offset of the payload for link types that say nothing beyond the version of IP."""
_LINKS = "Ethernet, raw IP, Linux cooked (SLL, SLL2), BSD loopback, PPP, PPPoE"
_IP = (0x0800, 0x86DD)
_VLAN = (0x8100, 0x88A8, 0x9100, 0x9200)
"""IEEE 802.1Q and 802.1ad, and the values that switches used for stacked tags before it."""
_PPPOE, _MPLS = 0x8864, (0x8847, 0x8848)
_PPP_IP = (0x0021, 0x0057)
_MAX_LABELS = 8
_PORTS = (6, 17, 33, 132, 136)
"""TCP, UDP, DCCP, SCTP and UDP-Lite: the ports are the first four bytes of each."""
_EXTENSIONS = (0, 43, 60, 135, 139, 140)
"""Hop-by-hop, routing, destination, mobility, HIP, Shim6: a length in units of 8 bytes without the first (RFC 8200, 4; RFC 7045)."""
_FRAGMENT, _AUTHENTICATION = 44, 51
_ETHERTYPES = {
    0x0806: "ARP",
    0x8863: "PPPoE discovery",
    0x88CC: "LLDP",
    0x888E: "EAPOL",
    0x8808: "pause frames",
}


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
        Addresses, 16 bytes each; IPv4 addresses as IPv6 maps them.
    source_port, destination_port
        Of TCP, UDP, UDP-Lite, SCTP and DCCP; 0 elsewhere. Later fragments have those of their first (RFC 791, 3.2; RFC 8200, 4.5).
    others
        Counts of packets that are not IP, by what they are.
    portless
        Counts of IP packets that should have ports but have none here, by reason.
    parts
        What the packets are known by (`packet_identity`).
    is_cut_off
        Whether the file ends in the middle of a record.
    dropped
        Packets that the capture missed, by its own statistics; None if it has none.
    """

    time: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    source: Bytes
    destination: Bytes
    source_port: npt.NDArray[np.int64]
    destination_port: npt.NDArray[np.int64]
    others: Mapping[str, int]
    portless: Mapping[str, int]
    parts: Parts
    is_cut_off: bool = False
    dropped: int | None = None

    def selected(self, host: str | None, port: int | None, direction: str | None) -> npt.NDArray[np.bool_]:
        """Select the packets that go to or come from a host and a port.

        Parameters
        ----------
        host, port
            An address and a port number, or None for any.
        direction
            "to" or "from" that host and port; None for both.

        Raises
        ------
        AnalysisError
            The host is not an address.
        """
        ends = {"from": (self.source, self.source_port), "to": (self.destination, self.destination_port)}
        wanted = [direction] if direction else ["from", "to"]
        return np.logical_or.reduce([_at(*ends[way], host, port) for way in wanted])


def _at(
    addresses: Bytes, ports: npt.NDArray[np.int64], host: str | None, port: int | None
) -> npt.NDArray[np.bool_]:
    there = np.ones(ports.size, np.bool_) if port is None else ports == port
    return there if host is None else there & (addresses == address_of(host)).all(axis=1)


def address_of(host: str) -> Addresses:
    """Return an address as 16 bytes.

    Raises
    ------
    AnalysisError
        It is not an address.
    """
    try:
        found = ipaddress.ip_address(host)
    except ValueError as error:
        raise AnalysisError(
            f"{host}: this is not an IP address", hint="write one like 10.0.0.1 or 2001:db8::1"
        ) from error
    packed = found.packed if found.version == 6 else b"\0" * 10 + b"\xff\xff" + found.packed
    return np.frombuffer(packed, np.uint8)


def read_capture(path: Path, payload: int = OF_OTHERS) -> Capture:
    """Read the IP packets of a pcap or pcapng file; a truncated last packet is ignored.

    Parameters
    ----------
    path
        The file.
    payload
        Bytes of the payload that identities are made of at most.

    Raises
    ------
    AnalysisError
        The file cannot be read, is neither, or has an unknown link type.
    """
    with open_foreign(path) as file:
        try:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # an empty file cannot be mapped
            reason = error.strerror if isinstance(error, OSError) else "it is empty"
            raise AnalysisError(f"{path}: cannot be read: {reason}") from error
    with content:
        if not is_capture(content[:4]):
            raise AnalysisError(
                f"{path}: this is neither pcap nor pcapng", hint="record with `tcpdump -w FILE`"
            )
        rest = Rest()
        try:
            packets = islice(records(content, rest), _MAX_PACKETS + 1)
            found = np.fromiter(packets, np.dtype((np.int64, 5))).astype(np.int64, copy=False)
        except (DamagedError, IndexError, OverflowError, struct.error) as error:
            where = f" at byte {error}" if isinstance(error, DamagedError) else ""
            hint = "record it again; `tcpdump -r FILE -w COPY` may save what is whole"
            raise AnalysisError(f"{path}: the capture is damaged{where}", hint=hint) from error
        if len(found) > _MAX_PACKETS:
            hint = "cut it: `editcap -c 10000000 FILE PART`"
            raise AnalysisError(f"{path}: holds more than {_MAX_PACKETS} packets", hint=hint)
        return _decoded(path, content, found, rest, payload)


@dataclass(frozen=True, eq=False)
class _Part:
    """IP packets, one at each index, and counts of everything else.

    `names` identify their datagrams (both addresses, protocol, identification), which the fragments of a datagram share. `later`
    marks fragments other than the first.
    """

    time: Numbers
    size: Numbers
    source: Bytes
    destination: Bytes
    source_port: Numbers
    destination_port: Numbers
    names: Bytes
    later: Mask
    cut: Mask
    parts: Parts
    others: Counter[str]


def _decoded(path: Path, content: mmap.mmap, found: Numbers, rest: Rest, payload: int) -> Capture:
    links = set(found[:, 1].tolist())
    if links and not links & {*_TYPED, *_UNTYPED, *_PPP}:
        raise AnalysisError(f"{path}: the type of link {min(links)} is not known", hint=f"known: {_LINKS}")
    every = np.frombuffer(content, np.uint8)
    parts = [
        _part(every, found[first : first + _AT_ONCE], payload)
        for first in range(0, max(1, len(found)), _AT_ONCE)
    ]

    def joined(name: str) -> npt.NDArray[np.generic]:
        return np.concatenate([getattr(part, name) for part in parts])

    whole = _Part(
        *(joined(field.name) for field in fields(_Part)[:-2]),  # pyright: ignore[reportArgumentType]
        parts=joined_parts([part.parts for part in parts]),
        others=Counter({_TIMELESS: rest.timeless} if rest.timeless else {}),
    )
    ports, lost = _with_ports_of_first(whole)
    portless = {
        "fragments whose first is not in the capture": lost,
        "packets cut off before their ports": int(whole.cut.sum()),
    }
    return Capture(
        time=whole.time,
        size=whole.size,
        source=whole.source,
        destination=whole.destination,
        source_port=ports[0],
        destination_port=ports[1],
        others=dict(sum((part.others for part in parts), whole.others).most_common()),
        portless={what: number for what, number in portless.items() if number},
        parts=whole.parts,
        is_cut_off=rest.is_cut_off,
        dropped=rest.dropped,
    )


_TIMELESS = "packets without a time (simple packet blocks)"


def _part(every: Bytes, found: Numbers, payload: int) -> _Part:
    time, link, place, kept, length = found.T
    heads = every[np.minimum(place[:, None] + np.arange(_HEAD), every.size - 1)]
    heads[np.arange(_HEAD) >= kept[:, None]] = 0
    start, kind = _network(heads, link)
    packets = _shifted(heads, start)
    version = packets[:, 0] >> 4
    is_network = np.isin(kind, (_ANY_IP, *_IP))
    whole = np.isin(version, (4, 6)) & (kept - start >= np.where(version == 4, 20, 40))
    is_ip = is_network & whole & ((version == 6) | (packets[:, 0] & 15 >= 5))
    damaged = Counter({"damaged or cut off": int((is_network & ~is_ip).sum())})
    strange = Counter(_type_names(kind[~is_network], link[~is_network]))
    described = packets[is_ip], time[is_ip], (length - start)[is_ip], (kept - start)[is_ip]
    return _described(*described, +(damaged + strange), payload)


_ANY_IP = -1
"""The payload type of frames whose link says no more than that it is IP."""
_UNKNOWN_LINK = -2


def _type_names(kinds: Numbers, links: Numbers) -> Iterator[str]:
    for kind, link in zip(kinds.tolist(), links.tolist(), strict=True):
        if kind == _UNKNOWN_LINK:
            yield f"link type {link}"
        elif kind < 0x0600 and link == _ETHERNET:
            yield "802.3 frames without a type"
        else:
            yield f"{_ETHERTYPES.get(kind, 'type')} (0x{kind:04x})"


def _byte(heads: Bytes, place: Numbers | int) -> Numbers:
    """Return the byte at an offset of each packet; 0 beyond the examined part."""
    places = np.broadcast_to(np.asarray(place), heads.shape[:1])
    inside = np.clip(places, 0, heads.shape[1] - 1)
    found = np.take_along_axis(heads, inside[:, None], axis=1)[:, 0].astype(np.int64)
    return np.where(places == inside, found, 0)


def _word(heads: Bytes, place: Numbers | int) -> Numbers:
    """Return the 16 bits at an offset of each packet."""
    return _byte(heads, place) << 8 | _byte(heads, np.asarray(place) + 1)


def _network(heads: Bytes, link: Numbers) -> tuple[Numbers, Numbers]:
    """Return the offset of the network header, and its type."""
    start, kind = np.zeros(link.size, np.int64), np.full(link.size, _UNKNOWN_LINK)
    for number, (place, behind) in _TYPED.items():
        of_link = link == number
        kind = np.where(of_link, _PPPOE if place < 0 else _word(heads, max(place, 0)), kind)
        start = np.where(of_link, behind, start)
    for number, behind in _UNTYPED.items():
        kind, start = np.where(link == number, _ANY_IP, kind), np.where(link == number, behind, start)
    for _ in range(_MAX_LABELS):  # tags may be stacked
        tagged = np.isin(kind, _VLAN)
        kind, start = np.where(tagged, _word(heads, start + 2), kind), start + 4 * tagged
    pppoe = kind == _PPPOE
    in_hdlc = np.isin(link, _PPP)
    framed = in_hdlc & (_word(heads, 0) == 0xFF03)  # address and control, RFC 1662, 3.1
    in_ppp = pppoe | in_hdlc
    start = start + 6 * pppoe + 2 * framed
    protocol = _word(heads, start)
    kind = np.where(in_ppp, np.where(np.isin(protocol, _PPP_IP), _ANY_IP, protocol), kind)
    start = start + 2 * in_ppp
    labelled = np.isin(kind, _MPLS)
    for _ in range(_MAX_LABELS):  # until the bottom of the stack, RFC 3032, 2.1
        bottom = _byte(heads, start + 2) & 1 == 1
        kind, start = np.where(labelled & bottom, _ANY_IP, kind), start + 4 * labelled
        labelled &= ~bottom
    return np.minimum(start, _ROOM), kind


def _shifted(heads: Bytes, start: Numbers) -> Bytes:
    """Return each packet from its network header on."""
    wide = np.pad(heads, ((0, 0), (0, _HEAD)))
    return wide[np.arange(heads.shape[0])[:, None], start[:, None] + np.arange(_HEAD)]


def _described(
    packets: Bytes, time: Numbers, wire: Numbers, kept: Numbers, others: Counter[str], payload: int
) -> _Part:
    four = packets[:, 0] >> 4 == 4
    said = np.where(four, _word(packets, 2), _word(packets, 4) + 40)
    # A super-frame sent by the capturing machine itself states 0, or less than its size.
    size = np.where((said <= 40) & ~four | (said == 0), wire, said)
    there = np.minimum(kept, _HEAD - _ROOM)
    header, protocol, later, name = _transport(packets, four, there)
    has_ports = np.isin(protocol, _PORTS) & ~later
    ports = has_ports & (header + 4 <= there)
    unfinished = ~four & ~later & np.isin(protocol, (*_EXTENSIONS, _FRAGMENT, _AUTHENTICATION))
    source, destination = _addresses(packets, four, 12, 8), _addresses(packets, four, 16, 24)
    known = np.where(four, packets[:, 9], 0).astype(np.uint8)[:, None]
    return _Part(
        time=time,
        size=size,
        source=source,
        destination=destination,
        source_port=np.where(ports, _word(packets, header), 0),
        destination_port=np.where(ports, _word(packets, header + 2), 0),
        names=np.hstack([source, destination, known, name]),
        later=later & np.isin(protocol, _PORTS),
        cut=(has_ports & ~ports) | unfinished,
        parts=parts_of(packets, header, protocol, later, name, size, there, payload),
        others=others,
    )


def _transport(packets: Bytes, four: Mask, there: Numbers) -> tuple[Numbers, Numbers, Mask, Bytes]:
    """Return the transport header's offset and protocol, which packets are later fragments, and their identification."""
    place = np.where(four, 4 * (packets[:, 0] & 15).astype(np.int64), 40)
    protocol = np.where(four, packets[:, 9], packets[:, 6]).astype(np.int64)
    later = four & (_word(packets, 6) & 0x1FFF > 0)
    name = np.zeros((packets.shape[0], 4), np.uint8)
    name[:, 2:] = np.where(four[:, None], packets[:, 4:6], 0)
    for _ in range(_MAX_LABELS):
        open_ = ~four & ~later & (place + 8 <= there)
        fragment = open_ & (protocol == _FRAGMENT)
        later = later | (fragment & (_word(packets, place + 2) >> 3 > 0))
        own = np.stack([_byte(packets, place + shift) for shift in (4, 5, 6, 7)], axis=1).astype(np.uint8)
        name = np.where(fragment[:, None], own, name)
        length = _byte(packets, place + 1)
        steps = (
            (fragment, 8),
            (open_ & np.isin(protocol, _EXTENSIONS), 8 * (length + 1)),
            (open_ & (protocol == _AUTHENTICATION), 4 * (length + 2)),
        )
        following = _byte(packets, place)
        for applies, step in steps:
            protocol, place = np.where(applies, following, protocol), place + np.where(applies, step, 0)
    return place, protocol, later, name


def _with_ports_of_first(packets: _Part) -> tuple[tuple[Numbers, Numbers], int]:
    """Give later fragments the ports of the nearest first one, before them if possible, else after; also count those without one."""
    ports = packets.source_port, packets.destination_port
    if not packets.later.any():
        return ports, 0
    names = np.ascontiguousarray(packets.names).view(np.dtype((np.void, packets.names.shape[1])))[:, 0]
    wanted = np.isin(names, np.unique(names[packets.later]))
    places = np.flatnonzero(wanted)
    group = np.unique(names[places], return_inverse=True)[1].reshape(-1)
    order = np.lexsort((places, group))
    places, group = places[order], group[order]
    first = ~packets.later[places]
    number = np.arange(places.size)
    before = np.maximum.accumulate(np.where(first, number, -1))
    after = np.minimum.accumulate(np.where(first, number, places.size)[::-1])[::-1]
    is_before = (before >= 0) & (group[before] == group)
    is_after = (after < places.size) & (group[np.minimum(after, places.size - 1)] == group)
    taken = np.where(is_before, before, np.minimum(after, places.size - 1))
    has_one = is_before | is_after
    filled = tuple(one.copy() for one in ports)
    for one, whole in zip(filled, ports, strict=True):
        one[places[has_one]] = whole[places[taken[has_one]]]
    return (filled[0], filled[1]), int((~has_one & ~first).sum())


def _addresses(packets: Bytes, four: Mask, place_four: int, place_six: int) -> Bytes:
    mapped = np.zeros((packets.shape[0], 16), np.uint8)
    mapped[:, 10:12] = 0xFF
    mapped[:, 12:] = packets[:, place_four : place_four + 4]
    return np.where(four[:, None], mapped, packets[:, place_six : place_six + 16])
