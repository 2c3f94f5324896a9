"""Connections within bounds: a number at a time, and none that holds its place without taking or asking anything."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 200
"""Connections at a time; a further one is told to come back."""
PATIENCE = 10.0
"""Seconds between looks at a connection; one that is idle, or stuck, at two of them is closed."""
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\nretry-after: 5\r\ncontent-length: 36\r\n"
    b"connection: close\r\n\r\nToo many connections; come back soon"
)


class BoundedConnection(H11Protocol):
    """A connection of uvicorn that ends where it only takes room."""

    _timer: asyncio.TimerHandle | None = None
    _left = -1
    """Bytes that waited to be taken at the last look; -1 if the connection was at work."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuse politely what is too much."""
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.write(_REFUSAL)
            transport.close()
            return
        self._timer = self.loop.call_later(PATIENCE, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        waiting = self.transport.get_write_buffer_size()
        at_work = bool(self.cycle) and not self.cycle.response_complete
        stuck = waiting > 0 and self._left >= 0 and waiting >= self._left
        if stuck or (not at_work and self._left == 0):
            self.transport.abort()
            return
        self._left = waiting if waiting or not at_work else -1
        self._timer = self.loop.call_later(PATIENCE, self._look)
