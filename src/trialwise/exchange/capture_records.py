"""Records of captures: when a frame was captured, on which type of link, and where its bytes are, in pcap and pcapng files.

Forms: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng, and the modified pcap that old Linux wrote.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

Record = tuple[int, int, int, int, int]
"""Time in nanoseconds since the epoch, link type, offset of the frame, its captured and its original length."""
_PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000, 16),
    b"\xa1\xb2\xc3\xd4": (">", 1000, 16),
    b"\x4d\x3c\xb2\xa1": ("<", 1, 16),
    b"\xa1\xb2\x3c\x4d": (">", 1, 16),
    b"\x34\xcd\xb2\xa1": ("<", 1000, 24),
    b"\xa1\xb2\xcd\x34": (">", 1000, 24),
}
"""Magic numbers: byte order, the unit of a time's fraction in nanoseconds, and the bytes in front of a frame."""
_LARGEST = 1 << 18
"""Bytes of a frame that every reader takes, whatever the file says to be the most (MAXIMUM_SNAPLEN of libpcap)."""
_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _STATISTICS, _PACKET = 0x0A0D0D0A, 1, 2, 3, 5, 6
_ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
_RESOLUTION, _OFFSET = 9, 14
_DROPPED = (5, 7)
"""Options of statistics: packets that the interface and the system dropped, since the capture began."""


class DamagedError(Exception):
    """The capture holds what no program writes, at the offset that is the message."""


@dataclass(slots=True)
class Rest:
    """What a capture says beside its records.

    Attributes
    ----------
    timeless
        Packets without a time (simple packet blocks), which are not among the records.
    is_cut_off
        Whether the file ends in the middle of a record.
    """

    timeless: int = 0
    is_cut_off: bool = False
    _dropped: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])

    @property
    def dropped(self) -> int | None:
        """Packets that the capture missed, by its own statistics; None if it has none."""
        return sum(self._dropped.values()) if self._dropped else None

    def drop(self, section: int, interface: int, number: int) -> None:
        """Note the number that an interface dropped so far."""
        self._dropped[section, interface] = number


def is_capture(head: bytes) -> bool:
    """Return True if a file that begins so is a capture."""
    return head[:4] in _PCAP or head[:4] == struct.pack("<I", _SECTION)


def records(content: mmap.mmap, rest: Rest) -> Iterator[Record]:
    """Yield the records of a capture, and note in `rest` what else it says.

    Raises
    ------
    DamagedError, IndexError, struct.error
        The capture is damaged.
    """
    form = _PCAP.get(bytes(content[:4]))
    return _pcap(content, *form, rest) if form else _Pcapng(content, rest).records()


def _pcap(content: mmap.mmap, order: str, unit: int, size: int, rest: Rest) -> Iterator[Record]:
    place, end = 24, len(content)
    if end < place:
        rest.is_cut_off = True
        return
    most, link = struct.unpack_from(f"{order}II", content, 16)
    record = struct.Struct(f"{order}IIII")
    while place + size <= end:
        seconds, fraction, kept, length = record.unpack_from(content, place)
        if kept > max(most, _LARGEST):
            raise DamagedError(place)
        if place + size + kept > end:
            break
        yield seconds * 1_000_000_000 + fraction * unit, link & 0x0FFFFFFF, place + size, kept, length
        place += size + kept
    rest.is_cut_off = place < end


@dataclass(slots=True)
class _Interface:
    link: int
    ticks: int = 1_000_000
    offset: int = 0

    def time(self, high: int, low: int) -> int:
        return (high << 32 | low) * 1_000_000_000 // self.ticks + self.offset * 1_000_000_000


class _Pcapng:
    """A file of blocks, in sections, of which each has a byte order and interfaces of its own."""

    def __init__(self, content: mmap.mmap, rest: Rest) -> None:
        self._content, self._rest = content, rest
        self._order = "<"
        self._section = 0
        self._interfaces: list[_Interface] = []

    def records(self) -> Iterator[Record]:
        place, end = 0, len(self._content)
        while place + 12 <= end:
            kind, length = self._head(place)
            if length < 12 or length % 4:
                raise DamagedError(place)
            if place + length > end:
                break
            if self._words("I", place + length - 4) != (length,):
                raise DamagedError(place)
            found = self._block(kind, place, length)
            if found is not None:
                yield found
            place += length
        self._rest.is_cut_off = place < end

    def _head(self, place: int) -> tuple[int, int]:
        if self._content[place : place + 4] == struct.pack("<I", _SECTION):
            order = _ORDERS.get(bytes(self._content[place + 8 : place + 12]))
            if order is None:
                raise DamagedError(place)
            self._order, self._interfaces = order, []
            self._section += 1
        kind, length = self._words("II", place)
        return kind, length

    def _block(self, kind: int, place: int, length: int) -> Record | None:
        if kind == _PACKET:
            interface, high, low, kept, size = self._words("IIIII", place + 8)
            return self._packet(interface, (high, low), (place, length), kept, size)
        if kind == _OLD_PACKET:
            interface, _, high, low, kept, size = self._words("HHIIII", place + 8)
            return self._packet(interface, (high, low), (place, length), kept, size)
        if kind == _SIMPLE_PACKET:
            self._rest.timeless += 1
        elif kind == _INTERFACE:
            self._interfaces.append(self._interface(place, length))
        elif kind == _STATISTICS:
            dropped = [
                self._words("Q", at)[0] for at in self._options(place + 20, place + length - 4, 8, _DROPPED)
            ]
            if dropped:
                self._rest.drop(self._section, self._words("I", place + 8)[0], sum(dropped))
        return None

    def _packet(
        self, interface: int, stamp: tuple[int, int], block: tuple[int, int], kept: int, size: int
    ) -> Record:
        place, length = block
        if kept > length - 32:
            raise DamagedError(place)
        at = self._interfaces[interface]
        return at.time(*stamp), at.link, place + 28, kept, size

    def _interface(self, place: int, length: int) -> _Interface:
        found = _Interface(self._words("H", place + 8)[0])
        for at in self._options(place + 16, place + length - 4, 1, (_RESOLUTION,)):
            value = self._content[at]
            found.ticks = 2 ** (value & 0x7F) if value & 0x80 else 10**value
        for at in self._options(place + 16, place + length - 4, 8, (_OFFSET,)):
            found.offset = self._words("q", at)[0]
        return found

    def _options(self, place: int, end: int, size: int, wanted: tuple[int, ...]) -> Iterator[int]:
        """Yield where the values of such options of this size are."""
        while place + 4 <= end:
            code, length = self._words("HH", place)
            if code == 0 or place + 4 + length > end:
                return
            if code in wanted and length == size:
                yield place + 4
            place += 4 + (length + 3) // 4 * 4

    def _words(self, form: str, place: int) -> tuple[int, ...]:
        return struct.unpack_from(self._order + form, self._content, place)
