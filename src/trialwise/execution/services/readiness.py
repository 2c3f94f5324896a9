"""Whether a service is ready: a command succeeds, a port is listened on, its output matches a pattern, or an address answers.

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

from trialwise.execution.services.output import Search
from trialwise.execution.services.ports import is_listened_on

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_ANSWER_SECONDS = 2.0
"""Maximum time for an answer to one request."""
_FIRST_BAD_STATUS = 400


class Readiness:
    """The check of one service.

    Parameters
    ----------
    check
        One of "command" (words), "port" (number), "log" (a regular expression) and "http" (an address).
    run
        Runs a command, within so many seconds, and returns what went wrong, or None.
    """

    def __init__(self, check: dict[str, Any], run: Callable[[Sequence[str], float], str | None]) -> None:
        self._check = check
        self._run = run
        self.search = Search(check.get("log"))

    @property
    def port(self) -> int | None:
        """The port that it waits for, if it waits for one."""
        return self._check.get("port")

    def problem(self, left: float) -> str | None:
        """Check once, within at most `left` seconds; return what is missing, None if the service is ready."""
        if "command" in self._check:
            return self._run(self._check["command"], left)
        if "http" in self._check:
            return _unanswered(self._check["http"], min(left, _ANSWER_SECONDS))
        if self.port is not None:
            return None if is_listened_on(self.port) else f"nothing listens on port {self.port}"
        return None if self.search.found else f"nothing that it has written matches {self._check['log']!r}"


def _unanswered(address: str, timeout: float) -> str | None:
    """Ask an address once; return what went wrong, None if it answers with a status below 400."""
    import http.client  # with it comes TLS, which takes as long as a start
    from urllib.parse import urlsplit

    parts = urlsplit(address)
    way = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        connection = way(parts.netloc, timeout=max(timeout, 0.001))
        try:
            connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
            status = connection.getresponse().status
        finally:
            connection.close()
    except (OSError, ValueError, http.client.HTTPException) as problem:
        return f"{address}: {problem}"
    return None if status < _FIRST_BAD_STATUS else f"{address} answers with status {status}"
