"""The tunnel at one end of a real path: programs in a network of their own, their packets in UDP through the socket of the meeting."""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import os
import socket
import struct
import subprocess
import sys

from trialwise.execution.workers.agent.path_capture import Recorder, flow_words
from trialwise.execution.workers.agent.path_programs import Place
from trialwise.execution.workers.agent.path_socket import MOST_BYTES, Datagram

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from trialwise.execution.workers.agent.path_socket import PathSocket

    Json = dict[str, Any]

BEFORE = struct.Struct("!16sHBxI")
"""Before a frame of the meeting: address of IPv6 (one of IPv4 mapped into it), port, TTL, scope (`crates/tunnel`, control.rs)."""
TUNNEL_HEADER = 12
"""Bytes before a packet in the tunnel (header.rs)."""
MAPPED = b"\0" * 10 + b"\xff\xff"
ADDRESSES = {
    "ipv4": {"first": "100.64.0.1", "second": "100.64.0.2"},
    "ipv6": {"first": "fd74:7269:616c::1", "second": "fd74:7269:616c::2"},
}
"""Of both ends inside, by what flows speak (`Side` of `crates/tunnel`)."""
KEY = "TRIALWISE_TUNNEL_KEY"

TUN = "/dev/net/tun"
HAS_IPV6 = "/proc/net/if_inet6"
_UNSHARE = """
import sys
try:
    import ctypes
except ImportError:
    sys.exit(0)
libc = ctypes.CDLL(None, use_errno=True)
network, user = 0x40000000, 0x10000000
sys.exit(ctypes.get_errno() if libc.unshare(network) and libc.unshare(network | user) else 0)
"""


def why_no_tunnel(inside: str) -> str | None:
    """Return why this user can make no tunnel here; None if it can: a TUN device, and a namespace of its own (unshare(2))."""
    if inside == "ipv6" and not os.path.exists(HAS_IPV6):
        return "the kernel has no IPv6"
    try:
        os.close(os.open(TUN, os.O_RDWR))
    except OSError as error:
        return f"{TUN}: {error.strerror or error}"
    done = subprocess.run([sys.executable, "-IS", "-c", _UNSHARE], stdin=subprocess.DEVNULL, check=False)
    return f"a network namespace: {os.strerror(done.returncode)}" if done.returncode > 0 else None


class Tunnel(Recorder):
    """Carries packets from its creation to `stop`. It has the path's socket meanwhile: frames of the meeting go through it."""

    def __init__(
        self, end: Json, key: bytes, path_socket: PathSocket, file: str, environment: Mapping[str, str]
    ) -> None:
        program, side, inside = end["program"], end["tunnel"]["side"], end["tunnel"]["inside"]
        self.is_v6 = end["family"] == 6
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.control.setblocking(False)
        descriptors = path_socket.fileno(), theirs.fileno()
        numbers = (end["tunnel"]["mtu"], *descriptors, end["tunnel"]["frames"])
        words = [program, "tunnel", file, side, *map(str, numbers)]
        words += ["ipv6"] * (inside == "ipv6") + flow_words(end["ports"])
        own_key = hmac.new(key, b"tunnel", "sha256").digest()[:16].hex()
        try:
            super().__init__(words, file, dict(environment, **{KEY: own_key}), descriptors)
        except Exception:
            self.control.close()
            raise
        finally:
            theirs.close()
        process, other = self.ready[0], "second" if side == "first" else "first"
        self.place = Place((program, "enter", process), f"/proc/{process}/net", ADDRESSES[inside][other])

    def end(self) -> str | None:
        problem = super().end()
        self.control.close()
        return problem

    def fileno(self) -> int:
        return self.control.fileno()

    def receive(self) -> Datagram | None:
        """Return the frame that came next, as `PathSocket.receive` does."""
        try:
            message = self.control.recv(BEFORE.size + MOST_BYTES)
        except OSError:
            return None
        packed, port, ttl, scope = BEFORE.unpack(message[: BEFORE.size])
        if self.is_v6:
            address: tuple[Any, ...] = (str(ipaddress.IPv6Address(packed)), port, 0, scope)
        else:
            address = (str(ipaddress.IPv4Address(packed[12:])), port)
        return Datagram(message[BEFORE.size :], address, ttl)

    def send(self, data: bytes, address: tuple[Any, ...]) -> bool:
        """Send a frame to the other end, whose address that is from now on; its size is no question here."""
        host = ipaddress.ip_address(str(address[0]).partition("%")[0])
        packed = host.packed if self.is_v6 else MAPPED + host.packed
        scope = address[3] if self.is_v6 else 0
        with contextlib.suppress(OSError):
            self.control.send(BEFORE.pack(packed, address[1], 0, scope) + data)
        return True
