"""What the kernel says of a network interface (rtnetlink(7), netdevice(7), linux/ethtool.h)."""

from __future__ import annotations

import ctypes
import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

_GET_LINK, _NEW_LINK, _REQUEST = 18, 16, 1
_HEADER = struct.Struct("=IHHII")
_LINK = struct.Struct("=BxHiII")
_ATTRIBUTE = struct.Struct("=HH")
_MTU, _QDISC = 4, 6
_SECONDS = 2.0


def interface_facts(name: str) -> Json:
    """Return the name, the MTU in bytes, and the kind of the root qdisc of an interface; what the kernel does not say is left out."""
    facts: Json = {"name": name}
    try:
        attributes = _attributes(_ask(socket.if_nametoindex(name)))
    except OSError:
        return facts
    if _MTU in attributes:
        facts["mtu"] = struct.unpack("=I", attributes[_MTU])[0]
    if _QDISC in attributes:
        facts["qdisc"] = attributes[_QDISC].rstrip(b"\0").decode(errors="replace")
    return facts


def _ask(index: int) -> bytes:
    """Return the answer of the kernel to a request for a link, without its headers; empty if it is no such answer."""
    body = _LINK.pack(socket.AF_UNSPEC, 0, index, 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.settimeout(_SECONDS)
        sock.send(_HEADER.pack(_HEADER.size + len(body), _GET_LINK, _REQUEST, 1, 0) + body)
        answer = sock.recv(1 << 16)
    length, kind = _HEADER.unpack_from(answer)[:2]
    return answer[_HEADER.size + _LINK.size : length] if kind == _NEW_LINK else b""


def _attributes(data: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    place = 0
    while place + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, place)
        if length < _ATTRIBUTE.size:
            break
        found[kind & 0x3FFF] = data[place + _ATTRIBUTE.size : place + length]
        place += (length + 3) & ~3
    return found


_ETHTOOL = 0x8946
"""SIOCETHTOOL, which changes nothing with the commands below."""
_SWITCHES = {
    "offload_receive_checksum": 0x14,
    "offload_transmit_checksum": 0x16,
    "offload_scatter_gather": 0x18,
    "offload_tso": 0x1E,
    "offload_gso": 0x23,
    "offload_gro": 0x2B,
}
_FLAGS, _LRO = 0x25, 1 << 15
_RING, _COALESCING = 0x10, 0x0E
_RING_WORDS, _COALESCING_WORDS = 9, 23
_ADAPTIVE = 10
"""Place of `use_adaptive_rx_coalesce` among the words of its answer; those before it are times and numbers of packets."""


def features(name: str) -> dict[str, str]:
    """Return the offloads, the rings and the coalescing of interrupts of an interface; what its driver does not say is left out."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            return _features(sock.fileno(), name.encode())
    except OSError:
        return {}


def _features(file: int, name: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for label, command in _SWITCHES.items():
        answer = _ethtool(file, name, command, 2)
        if answer is not None:
            found[label] = "on" if answer[1] else "off"
    flags = _ethtool(file, name, _FLAGS, 2)
    if flags is not None:
        found["offload_lro"] = "on" if flags[1] & _LRO else "off"
    ring = _ethtool(file, name, _RING, _RING_WORDS)
    if ring is not None:
        found["ring"] = f"{ring[5]} in, {ring[8]} out"
    coalescing = _ethtool(file, name, _COALESCING, _COALESCING_WORDS)
    if coalescing is not None:
        adaptive = ", adaptive" if coalescing[_ADAPTIVE] else ""
        found["coalescing"] = f"{coalescing[1]} us in, {coalescing[5]} us out{adaptive}"
    return found


def _ethtool(file: int, name: bytes, command: int, words: int) -> list[int] | None:
    """Ask with a buffer that begins with the command; return its words, or None if the driver does not know it."""
    import fcntl  # Linux

    buffer = (ctypes.c_uint32 * words)(command)
    request = struct.pack("=16sQ16x", name[:15], ctypes.addressof(buffer))
    try:
        fcntl.ioctl(file, _ETHTOOL, request)
    except OSError:
        return None
    return list(buffer)
