"""Runs the page on loopback until it is interrupted."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from trialwise.errors import TrialwiseError, reason_of
from trialwise.serve.application import application
from trialwise.serve.connections import BoundedConnection
from trialwise.serve.hub import Hub
from trialwise.serve.places import roots_of

HOST = "127.0.0.1"
_BACKLOG = 100
"""Connections that wait to be accepted: fewer than the files that a process may open."""
_LARGEST_REQUEST = 16 << 10
_NICENESS = 5
"""Lower than that of what is measured beside the page, and still enough on a busy machine."""


@dataclass(frozen=True, slots=True)
class Serving:
    """A page that can be opened: its address, with the token, how many experiments it shows, and what ends it."""

    address: str
    experiments: int
    stop: Callable[[], None]


class _Server(uvicorn.Server):
    """A server that ends at Ctrl-C or a termination signal, and first lets every page go."""

    def __init__(self, config: uvicorn.Config, hub: Hub, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._hub = hub
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._hub.close()
        await super().shutdown(sockets)

    def stop(self) -> None:
        """End soon; may be called by any thread."""
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Take signals as the end, and do not raise them again."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


def serve(folders: Sequence[Path], port: int, token: str, told: Callable[[Serving], None]) -> None:
    """Show the experiments at and below folders until the process is interrupted.

    `port` 0 is any free one; `told` is called once pages can be opened.

    Raises
    ------
    TrialwiseError
        A folder is missing, or the port is taken.
    """
    roots = roots_of(folders)
    with (
        contextlib.closing(_socket(port)) as listening,
        tempfile.TemporaryDirectory(prefix="trialwise-") as scratch,
    ):
        app, hub = application(roots, Path(scratch), token)
        config = uvicorn.Config(
            app,
            http=BoundedConnection,
            ws="none",
            lifespan="on",
            log_config=None,
            log_level=logging.CRITICAL,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=_BACKLOG,
            timeout_graceful_shutdown=2,
            h11_max_incomplete_event_size=_LARGEST_REQUEST,
        )
        address = f"http://{HOST}:{listening.getsockname()[1]}/{token}/"
        server = _Server(config, hub, lambda: told(Serving(address, len(hub.experiments), server.stop)))
        asyncio.run(server.serve([listening]))


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(24)


def _socket(port: int) -> socket.socket:
    listening = socket.socket()
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise TrialwiseError(
            f"port {port} of {HOST}: {reason_of(error)}", hint="choose another with --port, or 0 for any"
        ) from error
    return listening


def give_way() -> None:
    """Let whatever is measured beside the page go first."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
