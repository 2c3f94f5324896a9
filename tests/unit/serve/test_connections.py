"""Many connections, and ones that only take room: the page stays there for those who ask."""

from __future__ import annotations

import contextlib
import socket
import time
from collections import Counter

import pytest

from serving import TOKEN, asked, connected
from trialwise.serve import connections
from trialwise.serve.server import Serving

ASKED = f"GET /{TOKEN}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def answer(connection: socket.socket) -> str:
    """The first line that a connection was answered with; empty if it ended without."""
    with contextlib.suppress(ConnectionResetError):
        return connection.recv(4096).decode().split("\r\n")[0]
    return ""


def test_ten_thousand_connections_are_refused_politely(page: Serving) -> None:
    """In batches, because the test's own process may open only so many files."""
    said: Counter[str] = Counter()
    with contextlib.ExitStack() as held:
        for _ in range(connections.MOST):
            held.enter_context(connected(page))
        for _ in range(98):
            with contextlib.ExitStack() as batch:
                further = [batch.enter_context(connected(page)) for _ in range(100)]
                said.update(map(answer, further))
    assert said == {"HTTP/1.1 503 Service Unavailable": 9800}
    deadline = time.monotonic() + 30
    while (status := asked(page, f"/{TOKEN}/")[0]) == 503 and time.monotonic() < deadline:
        time.sleep(0.1)  # until the server has seen that the others are gone
    assert status == 200


def test_too_many_listeners_are_told_to_come_back(page: Serving) -> None:
    with contextlib.ExitStack() as held:
        pages = [held.enter_context(connected(page)) for _ in range(32)]
        for each in pages:
            each.sendall(ASKED)
        assert {answer(each) for each in pages} == {"HTTP/1.1 200 OK"}
        status, head, _ = asked(page, f"/{TOKEN}/events")
        assert (status, "retry-after: 5" in head) == (503, True)
        assert asked(page, f"/{TOKEN}/")[0] == 200


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\n"])
def test_a_connection_that_asks_nothing_is_closed(
    page: Serving, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 0.2)
    with connected(page) as connection:
        connection.sendall(sent)
        assert answer(connection) == ""


def test_a_request_that_never_ends_is_refused(page: Serving) -> None:
    with connected(page) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: " + b"x" * 40_000)
        assert answer(connection) == "HTTP/1.1 400 Bad Request"


def test_a_page_that_takes_nothing_is_let_go(page: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks again and again over one connection, and reads nothing until the kernel's buffers are full."""
    monkeypatch.setattr(connections, "PATIENCE", 0.5)
    request = f"GET /{TOKEN}/static/serve.js HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with connected(page, patience=200) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            _flood(connection, request * 100)


def _flood(connection: socket.socket, requests: bytes) -> None:
    while True:
        connection.sendall(requests)
