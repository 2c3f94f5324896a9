"""The page of `trialwise serve`, by a real server in a thread of the test, and requests of it byte by byte."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from urllib.parse import urlsplit

from trialwise.serve.server import Serving, serve

TOKEN = "a-token-of-the-tests"  # noqa: S105


@contextmanager
def serving(*folders: Path) -> Generator[Serving]:
    ready: Queue[Serving] = Queue()
    thread = threading.Thread(target=serve, args=(folders, 0, TOKEN, ready.put))
    thread.start()
    page = ready.get(timeout=60)
    try:
        yield page
    finally:
        page.stop()
        thread.join(60)
        assert not thread.is_alive()


def connected(page: Serving, patience: float = 60) -> socket.socket:
    port = urlsplit(page.address).port
    assert port is not None
    return socket.create_connection(("127.0.0.1", port), timeout=patience)


def asked(
    page: Serving, target: str, method: str = "GET", host: str | None = None, **headers: str
) -> tuple[int, str, str]:
    """Status, head and body of one request."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host or '127.0.0.1'}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    with connected(page) as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split(" ")[1]), head.lower(), body
