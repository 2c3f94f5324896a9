"""The UDP socket of one end of a real path, over which both ends meet."""

from __future__ import annotations

import errno
import socket
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_BYTES = 1 << 16
"""No datagram is larger."""
_RECEIVE_TTL = {4: (socket.IPPROTO_IP, 12), 6: (socket.IPPROTO_IPV6, 51)}
_DONT_FRAGMENT = {4: (socket.IPPROTO_IP, 10, 3), 6: (socket.IPPROTO_IPV6, 23, 3)}
"""IP_MTU_DISCOVER, IP_PMTUDISC_PROBE: may not be cut, whatever is known of the path."""
FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
HEADERS = {4: 28, 6: 48}
"""Bytes of IP and UDP."""


class Datagram(NamedTuple):
    """What came: bytes, the address of who sent it (as `socket` has it), and the TTL that was left (0 if unknown)."""

    data: bytes
    address: tuple[Any, ...]
    ttl: int


class PathSocket:
    """The socket at one end, for a version of IP; `port` is 0 at the end that connects.

    Raises
    ------
    OSError
        The port is taken; `filename` says which.
    """

    def __init__(self, version: int, port: int) -> None:
        self.headers = HEADERS[version]
        self.socket = socket.socket(FAMILIES[version], socket.SOCK_DGRAM)
        try:
            self.socket.setsockopt(*_RECEIVE_TTL[version], 1)
            self.socket.setsockopt(*_DONT_FRAGMENT[version])
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            self.socket.bind(("", port))
        except OSError as error:
            self.socket.close()
            raise OSError(error.errno, error.strerror, f"UDP port {port}") from None
        self.socket.setblocking(False)

    def fileno(self) -> int:
        return self.socket.fileno()

    def close(self) -> None:
        self.socket.close()

    def receive(self) -> Datagram | None:
        """Return what came next; None if nothing waits."""
        try:
            data, ancillary, _, address = self.socket.recvmsg(MOST_BYTES, 64)
        except OSError:
            return (
                None  # nothing there; or an ICMP error of what was sent before, or worse, which silence shows
            )
        return Datagram(data, address, next((each[2][0] for each in ancillary if each[2]), 0))

    def send(self, data: bytes, address: tuple[Any, ...]) -> bool:
        """Send; return False where the device lets no packet of that size leave. Silence shows everything else."""
        try:
            self.socket.sendto(data, address)
        except OSError as error:
            return error.errno != errno.EMSGSIZE
        return True
