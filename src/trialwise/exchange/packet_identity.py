"""What a packet of a capture is known by at either end of a path: hashes of what NAT, routers and ECN marking leave as it is.

That is the protocol, the length of the payload, of TCP the sequence and acknowledgement numbers, flags, options (but those of a SYN,
which routers change) and, without data, the window; and the first bytes of the payload. Not addresses, ports, checksums, the
identification of ICMP's echo, nor the flags PSH, ECE and CWR, as in crates/capture. Captures may be cut, and large segments be taken
apart: so the parts of an identity are kept by themselves, and put together by `identities`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from trialwise.arrays import Mask

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
TCP = 6
OF_TCP, OF_OTHERS = 32, 64
"""Bytes of the payload that are hashed."""
_UDP, _ICMP = (17, 136), (1, 58)
_FIN, _SYN, _LASTING = 0x01, 0x02, 0x36
"""Flags of TCP; of the lasting ones FIN stands by itself, since it belongs to the last part of a segment."""
_GOLDEN = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Parts of the identities of packets, one at each index.

    Attributes
    ----------
    common
        Hash of what the parts of a large segment share.
    data
        Hash of the first bytes of the payload.
    sequence
        Of TCP; 0 elsewhere.
    headers, payload
        Bytes of the IP packet before the payload, and of that.
    kept
        Bytes of the payload that were captured and are hashed; -1 where not even the headers were.
    protocol
        Of IP.
    is_last
        Whether it is the last segment of its connection (FIN).
    """

    common: Hashes
    data: Hashes
    sequence: Numbers
    headers: Numbers
    payload: Numbers
    kept: Numbers
    protocol: Numbers
    is_last: Mask

    def at(self, places: Numbers) -> Parts:
        """Return those at some places."""
        return Parts(*(getattr(self, field.name)[places] for field in fields(self)))


def joined_parts(each: Sequence[Parts]) -> Parts:
    """Concatenate parts of several stretches of a capture."""
    return Parts(*(np.concatenate([getattr(one, field.name) for one in each]) for field in fields(Parts)))


def parts_of(
    packets: Bytes,
    place: Numbers,
    protocol: Numbers,
    later: Mask,
    name: Bytes,
    size: Numbers,
    there: Numbers,
    most: int,
) -> Parts:
    """Return the parts of identities.

    Parameters
    ----------
    packets
        The first bytes of each IP packet.
    place, protocol, later, name
        Offset of what IP carries, its protocol, whether it is a fragment other than the first, and the fragments' identification.
    size, there
        Bytes of the packet, and of those that are in `packets`.
    most
        Bytes of the payload to hash at most.
    """
    is_tcp, is_udp = (protocol == TCP) & ~later, np.isin(protocol, _UDP) & ~later
    is_icmp = np.isin(protocol, _ICMP) & ~later
    head = _rows(packets, place, 60)
    own = np.where(
        is_tcp, np.maximum(head[:, 12] >> 4, 5).astype(np.int64) * 4, np.where(is_udp | is_icmp, 8, 0)
    )
    headers = place + own
    payload = np.maximum(size - headers, 0)
    head[np.arange(60) >= own[:, None]] = 0
    flags = np.where(is_tcp, head[:, 13], 0)
    sequence = np.where(is_tcp, _number(head[:, 4:8]), 0)
    wanted = np.where(is_tcp, OF_TCP, OF_OTHERS)
    kept = np.clip(np.minimum(np.minimum(payload, there - headers), wanted), 0, most)
    is_syn = is_tcp & (flags & _SYN > 0)
    kept = np.where(there < np.where(is_syn, place + 20, headers), -1, kept)
    data = _rows(packets, headers, OF_OTHERS)
    data[np.arange(OF_OTHERS) >= kept[:, None]] = 0
    fields = np.zeros((size.size, 64), np.uint8)
    fields[:, 0], fields[:, 1] = protocol, later
    fields[:, 2:6] = np.where(later[:, None], name, 0)
    fields[:, 6:10] = np.where(is_tcp[:, None], head[:, 8:12], 0)
    fields[:, 10] = flags & _LASTING
    fields[:, 11:13] = np.where((is_tcp & (payload == 0))[:, None], head[:, 14:16], 0)
    fields[:, 13:53] = np.where((is_tcp & ~is_syn)[:, None], head[:, 20:60], 0)
    # Of an echo: type and code, then the sequence number; other messages of ICMP have such fields of their own.
    fields[:, 53:57] = np.where(is_icmp[:, None], head[:, [0, 1, 6, 7]], 0)
    fields[:, 57:59] = np.where(later[:, None], _offset_of(packets, place), 0)
    return Parts(hashed(fields), hashed(data), sequence, headers, payload, kept, protocol, (flags & _FIN) > 0)


def _offset_of(packets: Bytes, place: Numbers) -> Bytes:
    """Return the field of a later fragment's offset: in the header of IPv4, or in the fragment header in front of the payload."""
    four = (packets[:, 0] >> 4 == 4)[:, None]
    found = np.where(four, packets[:, 6:8], _rows(packets, place - 6, 2))
    return np.where(four, found & np.array([0x1F, 0xFF], np.uint8), found & np.array([0xFF, 0xF8], np.uint8))


def identities(parts: Parts, *, with_data: bool) -> Hashes:
    """Put identities together; without data where those of parts of segments are not known."""
    numbers = parts.sequence.astype(np.uint64) << np.uint64(32) | parts.payload.astype(np.uint64)
    found = parts.common + _mixed(numbers ^ parts.is_last.astype(np.uint64) << np.uint64(31))
    hashed = (parts.protocol != TCP) | with_data
    return _mixed(found + np.where(hashed, parts.data, np.uint64(0)))


def _rows(packets: Bytes, place: Numbers, length: int) -> Bytes:
    """Return the bytes from a place on in each packet; 0 beyond the examined part."""
    at = place[:, None] + np.arange(length)
    inside = np.clip(at, 0, packets.shape[1] - 1)
    return np.where(at == inside, np.take_along_axis(packets, inside, axis=1), 0).astype(np.uint8)


def _number(field: Bytes) -> Numbers:
    return np.ascontiguousarray(field).view(">u4")[:, 0].astype(np.int64)


def hashed(rows: Bytes) -> Hashes:
    """Hash rows of whole words of 8 bytes: the sum of their mixed words (Zobrist), each with a key of its place."""
    words = np.ascontiguousarray(rows).view(np.uint64)
    keys = (np.arange(1, words.shape[1] + 1, dtype=np.uint64) * np.uint64(_GOLDEN)).astype(np.uint64)
    return _mixed(words + keys).sum(axis=1, dtype=np.uint64)


def _mixed(values: Hashes) -> Hashes:
    """The mixing function of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)."""
    z = (values ^ values >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)
