"""Tell whether something listens on a port, by the kernel's tables of sockets (proc(5), /proc/net/tcp and its neighbours).

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

PROTOCOLS = ("tcp", "udp")
_LISTENING = {"tcp": "0A", "udp": "07"}
"""Column `st` of a socket that waits: LISTEN for TCP; UDP knows only closed and connected ones (include/net/tcp_states.h)."""


def tables_of(protocol: str, network: str = "/proc/net") -> list[str]:
    """Return the tables that hold the sockets of a protocol in a network, over IPv4 and IPv6; one may be missing."""
    return [f"{network}/{protocol}", f"{network}/{protocol}6"]


def has_listener(protocol: str, port: int, lines: Iterable[str]) -> bool:
    """Return True if `lines` of the protocol's tables have a socket that listens on `port`."""
    ending, state = f":{port:04X}", _LISTENING[protocol]
    rows = (line.split() for line in lines)
    return any(len(row) > 3 and row[1].endswith(ending) and row[3] == state for row in rows)
