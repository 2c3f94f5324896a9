"""Who may ask what: reading alone, on this machine's own names, by those who know the token."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost", "[::1]")
"""Names by which a browser may call this machine; another one is a foreign name that was made to lead here (DNS rebinding)."""
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
_UNKNOWN = "Open the address that `trialwise serve` printed, with its token.\n"


class Guard:
    """Pass on what is allowed, with the token taken off the path; refuse everything else."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request (ASGI)."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        answer = self._refusal(scope) or self._app

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await answer(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        """Return the refusal of a request; None if it is allowed, with its path then without the token."""
        headers = Headers(scope=scope)
        if not _is_own_name(headers.getlist("host")):
            return PlainTextResponse("This is not a name of this machine's page.\n", 421)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("This page is read-only.\n", 405, {"allow": "GET, HEAD"})
        first, slash, rest = scope["path"].removeprefix("/").partition("/")
        if self._is_token(first) and slash:
            scope["path"] = f"/{rest}"
            return None
        kind, _, given = headers.get("authorization", "").partition(" ")
        if first == "metrics" and kind.lower() == "bearer" and self._is_token(given):
            return None
        return PlainTextResponse(_UNKNOWN, 404)

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(errors="surrogateescape"), self._token)


def _is_own_name(hosts: Sequence[str]) -> bool:
    """Return True for one name of this machine, with any port: a tunnel may have another."""
    if len(hosts) != 1:
        return False
    name, colon, port = hosts[0].rpartition(":")
    if not colon or port.endswith("]"):
        name, port = hosts[0], "0"
    return name.lower() in HOSTS and port.isascii() and port.isdigit()
