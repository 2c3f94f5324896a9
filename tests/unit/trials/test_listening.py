"""Whether something listens, asked of real sockets."""

import contextlib
import socket
from pathlib import Path

import pytest

from trialwise.trials.listening import PROTOCOLS, has_listener, tables_of

TYPES = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}


def listeners(port):
    return [
        protocol
        for protocol in PROTOCOLS
        if any(
            has_listener(protocol, port, Path(each).read_text().splitlines()) for each in tables_of(protocol)
        )
    ]


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_socket_listens_from_when_it_says_so_until_it_is_closed(protocol, family, host):
    sock = socket.socket(family, TYPES[protocol])
    with contextlib.closing(sock):
        try:
            sock.bind((host, 0))
        except OSError:
            pytest.skip("no IPv6 here")
        port = sock.getsockname()[1]
        if protocol == "tcp":
            assert listeners(port) == [], "bound only"
            sock.listen()
        assert listeners(port) == [protocol]
    assert listeners(port) == []


def test_a_connected_socket_does_not_listen():
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
    ):
        other.bind(("127.0.0.1", 0))
        one.connect(other.getsockname())
        assert listeners(one.getsockname()[1]) == []
