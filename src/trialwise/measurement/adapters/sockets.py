"""Sample what the kernel knows about TCP connections (TCP_INFO through sock_diag(7)), once per interval."""

from __future__ import annotations

import os
import re
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialwise.errors import PlanError
from trialwise.measurement.adapters.sampling import deadlines, open_process
from trialwise.measurement.points import Client

FIELDS = {
    "socket": "uint64",
    "local_address": "string",
    "local_port": "int64",
    "remote_address": "string",
    "remote_port": "int64",
    "state": "string",
    "congestion": "string",
    "mss": "int64",
    "cwnd": "int64",
    "ssthresh": "int64",
    "unacked": "int64",
    "lost": "int64",
    "retransmits": "int64",
    "srtt_seconds": "double",
    "rttvar_seconds": "double",
    "min_rtt_seconds": "double",
    "rto_seconds": "double",
    "bytes_sent": "int64",
    "bytes_acked": "int64",
    "bytes_received": "int64",
    "bytes_retransmitted": "int64",
    "pacing_rate": "double",
    "delivery_rate": "double",
    "app_limited": "bool",
    "late_seconds": "double",
    "missed": "int64",
}
"""Fields of the point. `cwnd` and its neighbours are in segments, rates in bytes per second; totals count from the connection's
start.
"""
STATES: tuple[str, ...] = (
    "", "established", "syn-sent", "syn-recv", "fin-wait-1", "fin-wait-2", "time-wait", "close", "close-wait",
    "last-ack", "listen", "closing", "new-syn-recv",
)  # fmt: skip
_BARE = {"", "time-wait", "listen", "new-syn-recv"}
_WITH_INFORMATION = sum(1 << number for number, name in enumerate(STATES) if name not in _BARE)
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _DUMP = 4, 20, 0x301
_ERROR, _DONE = 2, 3
_INFORMATION, _CONGESTION = 2, 4
_REQUEST = struct.Struct("=IHHII BBBxI 48x")
_HEADER = struct.Struct("=IHHII")
_MESSAGE = struct.Struct("=BBBB 2s2s 16s16s IQ IIIII")
_ATTRIBUTE = struct.Struct("=HH")
# struct tcp_info of linux/tcp.h, up to bytes_retrans; older kernels return less, and the rest is 0.
_TCP_INFO = struct.Struct("=8B 24I 4Q 6I 4Q 2I 2Q")
_U = 8  # offset of the 32-bit numbers


@dataclass(frozen=True, slots=True)
class Connection:
    """One TCP socket: its inode, and its values in the order of `FIELDS`, without the last two."""

    inode: int
    local_port: int
    remote_port: int
    values: tuple[object, ...]


def connections() -> Iterator[Connection]:
    """Yield the connections of this network namespace.

    Raises
    ------
    PlanError
        The kernel refuses to list them.
    """
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as netlink:
            for family in (socket.AF_INET, socket.AF_INET6):
                netlink.send(_request(family))
                for body in _answers(netlink):
                    if (found := read_connection(body)) is not None:
                        yield found
    except OSError as error:
        raise PlanError(
            f"the kernel refuses to list TCP sockets: {error}", hint="modprobe tcp_diag"
        ) from error


def _request(family: int) -> bytes:
    wanted = 1 << (_INFORMATION - 1) | 1 << (_CONGESTION - 1)
    length = _REQUEST.size
    return _REQUEST.pack(
        length, _SOCK_DIAG_BY_FAMILY, _DUMP, 0, 0, family, socket.IPPROTO_TCP, wanted, _WITH_INFORMATION
    )


def _answers(netlink: socket.socket) -> Iterator[bytes]:
    while True:
        data = netlink.recv(1 << 17)
        at = 0
        while at + _HEADER.size <= len(data):
            length, kind, _, _, _ = _HEADER.unpack_from(data, at)
            body = data[at + _HEADER.size : at + length]
            if kind == _DONE:
                return
            if kind == _ERROR:
                number = -struct.unpack_from("=i", body)[0]
                raise OSError(number, os.strerror(number))
            yield body
            at += length + 3 & ~3


def read_connection(body: bytes) -> Connection | None:
    """Parse a connection from an answer (struct inet_diag_msg and its attributes); None if it carries no TCP information."""
    if len(body) < _MESSAGE.size:
        return None
    told: tuple[Any, ...] = _MESSAGE.unpack_from(body)
    family, _, _, _, local, remote, source, destination, _, cookie = told[:10]
    state: int = told[1]
    inode: int = told[-1]
    attributes = dict(_attributes(body[_MESSAGE.size :]))
    if _INFORMATION not in attributes or family not in {socket.AF_INET, socket.AF_INET6}:
        return None
    length = 4 if family == socket.AF_INET else 16
    local_port, remote_port = int.from_bytes(local, "big"), int.from_bytes(remote, "big")
    named = STATES[state] if state < len(STATES) else str(state)
    congestion = attributes.get(_CONGESTION, b"").rstrip(b"\0").decode(errors="replace")
    values = (
        cookie, socket.inet_ntop(family, source[:length]), local_port, socket.inet_ntop(family, destination[:length]),
        remote_port, named, congestion, *_information(attributes[_INFORMATION]),
    )  # fmt: skip
    return Connection(inode, local_port, remote_port, values)


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        if length < _ATTRIBUTE.size:
            return
        yield kind, data[at + _ATTRIBUTE.size : at + length]
        at += length + 3 & ~3


def _information(data: bytes) -> tuple[object, ...]:
    """Return the values from `mss` to `app_limited`; the kernel gives times in microseconds."""
    told = _TCP_INFO.unpack(data[: _TCP_INFO.size].ljust(_TCP_INFO.size, b"\0"))
    rto, _, mss, _, unacked, _, lost = told[_U : _U + 7]
    srtt, rttvar, ssthresh, cwnd = told[_U + 15 : _U + 19]
    retransmits = told[_U + 23]
    pacing, _, acked, received = told[32:36]
    min_rtt = told[39]
    delivery = told[42]
    sent, resent = told[48:50]
    return (
        mss, cwnd, ssthresh, unacked, lost, retransmits, srtt / 1e6, rttvar / 1e6, min_rtt / 1e6, rto / 1e6, sent, acked,
        received, resent, _rate(pacing), float(delivery), bool(told[7] & 1),
    )  # fmt: skip


def _rate(pacing: int) -> float:
    """Return the pacing rate; all bits set means unpaced."""
    return float("inf") if pacing >= (1 << 64) - 1 else float(pacing)


def sample_sockets(
    client: Client,
    *,
    pid: int | None,
    port: int | None,
    interval: float,
    seconds: float | None,
    stopped: Callable[[], bool],
) -> tuple[int, int]:
    """Sample the connections of a process or a port (at either end); return the numbers of samples and missed deadlines.

    Raises
    ------
    ProcessLookupError
        The process does not exist.
    PlanError
        Its sockets are in another namespace, or the kernel refuses to list them.
    """
    if pid is not None:
        check_process(pid)
    point = client.point("tcp", FIELDS)
    samples, missed = 0, 0
    process = None if pid is None else open_process(pid)
    client.start()
    for deadline in deadlines(interval, process=process, seconds=seconds, stopped=stopped):
        missed = deadline.missed
        owned = None if pid is None else _inodes(pid)
        now = time.time()
        for found in connections():
            is_of_port = port is None or port in {found.local_port, found.remote_port}
            if is_of_port and (owned is None or found.inode in owned):
                point.inject_at(now, *found.values, deadline.late, deadline.missed)
                samples += 1
    return samples, missed


def check_process(pid: int) -> None:
    """Raise if the process's sockets cannot be seen from here."""
    try:
        is_here = Path(f"/proc/{pid}/ns/net").stat().st_ino == Path("/proc/self/ns/net").stat().st_ino
        next(Path(f"/proc/{pid}/fd").iterdir(), None)
    except FileNotFoundError:
        raise ProcessLookupError(pid) from None
    except PermissionError as error:
        raise PlanError(
            f"this user may not see the sockets of process {pid}", hint="run it as that user, or as root"
        ) from error
    if not is_here:
        raise PlanError(
            f"process {pid} is in another network namespace",
            hint=f"look from there: nsenter --net --target {pid} trialwise stream sockets …",
        )


def _inodes(pid: int) -> set[int]:
    """Return the inodes of the sockets that a process has open."""
    found: set[int] = set()
    with suppress(OSError):
        for path in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if inode := re.fullmatch(r"socket:\[(\d+)\]", str(path.readlink())):
                    found.add(int(inode[1]))
    return found
