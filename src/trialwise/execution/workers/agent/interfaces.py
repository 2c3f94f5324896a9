"""What the kernel says of a network interface (rtnetlink(7))."""

from __future__ import annotations

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
