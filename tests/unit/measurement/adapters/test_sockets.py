"""Answers of sock_diag: those of this kernel, written by hand, and any bytes."""

from __future__ import annotations

import math
import socket
import struct

from hypothesis import given
from hypothesis import strategies as st

from trialwise.measurement.adapters.sockets import FIELDS, connections, read_connection

HEAD = struct.pack("=BBBB", socket.AF_INET6, 8, 0, 0) + struct.pack(
    ">HH16s16s",
    443,
    50000,
    socket.inet_pton(socket.AF_INET6, "2001:db8::1"),
    socket.inet_pton(socket.AF_INET6, "::1"),
)
BODY = HEAD + struct.pack("=IQIIIII", 0, 77, 0, 0, 0, 0, 4242)


def attribute(kind: int, data: bytes) -> bytes:
    length = 4 + len(data)
    return struct.pack("=HH", length, kind) + data + bytes(-length % 4)


def information(**fields: tuple[int, str, int]) -> bytes:
    """A struct tcp_info with values at offsets of linux/tcp.h."""
    data = bytearray(232)
    for at, kind, value in fields.values():
        struct.pack_into(f"={kind}", data, at, value)
    return bytes(data)


def values(body: bytes) -> dict[str, object]:
    found = read_connection(body)
    assert found is not None
    return dict(zip(FIELDS, found.values, strict=False))


def test_every_field_is_read_where_the_kernel_has_it():
    data = information(
        app_limited=(7, "B", 1), rto=(8, "I", 204000), mss=(16, "I", 1448), unacked=(24, "I", 3), lost=(32, "I", 2),
        rtt=(68, "I", 50000), rttvar=(72, "I", 10000), ssthresh=(76, "I", 20), cwnd=(80, "I", 12), total=(100, "I", 9),
        pacing=(104, "Q", (1 << 64) - 1), acked=(120, "Q", 1 << 40), received=(128, "Q", 5), min_rtt=(148, "I", 40000),
        delivery=(160, "Q", 125000), sent=(200, "Q", 6), resent=(208, "Q", 7),
    )  # fmt: skip
    found = values(BODY + attribute(4, b"cubic\0") + attribute(2, data))
    assert found == {
        "socket": 77, "local_address": "2001:db8::1", "local_port": 443, "remote_address": "::1", "remote_port": 50000,
        "state": "close-wait", "congestion": "cubic", "mss": 1448, "cwnd": 12, "ssthresh": 20, "unacked": 3, "lost": 2,
        "retransmits": 9, "srtt_seconds": 0.05, "rttvar_seconds": 0.01, "min_rtt_seconds": 0.04, "rto_seconds": 0.204,
        "bytes_sent": 6, "bytes_acked": 1 << 40, "bytes_received": 5, "bytes_retransmitted": 7, "pacing_rate": math.inf,
        "delivery_rate": 125000.0, "app_limited": True,
    }  # fmt: skip


def test_an_older_kernel_tells_less_and_another_socket_nothing():
    old = values(BODY + attribute(2, information(cwnd=(80, "I", 12))[:104]))
    assert (old["cwnd"], old["delivery_rate"], old["congestion"]) == (12, 0.0, "")
    assert read_connection(BODY) is None
    assert read_connection(BODY[:40]) is None


@given(st.binary(), st.binary(max_size=400))
def test_no_bytes_break_the_reading(head: bytes, tail: bytes):
    for body in (head, BODY + tail, BODY[:2] + head + BODY + tail, b"\x02" + BODY[1:] + attribute(2, tail)):
        read_connection(body)


def test_a_connection_of_this_process_is_found():
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        ports = client.getsockname()[1], server.getsockname()[1]
        assert [
            (found.local_port, found.remote_port) for found in connections() if found.local_port == ports[0]
        ] == [ports]
