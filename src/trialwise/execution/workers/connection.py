"""One connection to the agent on a worker: frames over the standard input and output of ssh."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any, cast

CLOSING_SECONDS = 2.0
STARTED = 0
"""Number of the answer that the agent gives by itself; those to requests have others."""
_MAX_ERRORS = 64 * 1024
_MOST_HEAD, _MOST_BODY = 1 << 26, 1 << 31
"""Bytes of a frame's line and of what follows it, from a worker that means well."""


class DisconnectedError(Exception):
    """The connection has ended, or no data arrive any more."""


class SilenceError(DisconnectedError):
    """No answer has come in time."""


class StrangerError(DisconnectedError):
    """What answers is not the agent."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a request."""

    head: dict[str, Any]
    body: bytes


class Connection:
    """A running ssh; used by one thread. Requests are answered in any order."""

    def __init__(self, words: Sequence[str], first: bytes) -> None:
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # keep Ctrl-C on our terminal away from ssh
        )
        self._in, self._out, self._err = (stream.fileno() for stream in self._streams())
        os.set_blocking(self._in, False)
        self._received = bytearray()
        self._errors = bytearray()
        self._replies: dict[int, Reply] = {}
        self._number = STARTED
        self._unsent = memoryview(first)

    @property
    def errors(self) -> str:
        """What ssh and the agent wrote to standard error."""
        return self._errors.decode(errors="replace")

    @property
    def started(self) -> bool:
        """Whether the agent that was sent has said that it starts: its answer to no request, before all others."""
        return STARTED in self._replies

    @property
    def exit_code(self) -> int | None:
        """Exit code of ssh; None while it runs, or if we ended it."""
        code = self._process.poll()
        return None if code is None or code < 0 else code

    def request(self, op: str, head: dict[str, Any], body: bytes = b"", *, patience: float) -> int:
        """Send a complete request; return its number, which the answer carries."""
        self._number += 1
        sent = {"op": op, "id": self._number, **head} | ({"bytes": len(body)} if body else {})
        data = bytes(self._unsent) + json.dumps(sent).encode() + b"\n" + body
        self._unsent = memoryview(b"")
        self._send(data, time.monotonic() + patience)
        return self._number

    def reply(self, number: int, *, patience: float, cancel: int | None = None) -> Reply | None:
        """Wait for an answer; None if `patience` seconds pass, or the descriptor `cancel` becomes readable, first."""
        deadline = time.monotonic() + patience
        while number not in self._replies:
            left = deadline - time.monotonic()
            watched = [self._out, self._err] + ([] if cancel is None else [cancel])
            ready = select.select(watched, [], [], max(left, 0))[0]
            if self._err in ready:
                self._take_errors()
            if self._out in ready:
                self._take()
            elif not ready or cancel in ready:
                return None
        return self._replies.pop(number)

    def ask(
        self, op: str, head: dict[str, Any] | None = None, body: bytes = b"", *, patience: float
    ) -> Reply:
        """Send a request and wait for its answer.

        Raises
        ------
        SilenceError
            Nothing arrived within `patience` seconds.
        """
        number = self.request(op, head or {}, body, patience=patience)
        found = self.reply(number, patience=patience)
        if found is None:
            raise SilenceError(f"no answer for {patience:g} s")
        return found

    def close(self) -> None:
        """End ssh; what runs on the worker continues."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(CLOSING_SECONDS)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for stream in self._streams():
            with contextlib.suppress(OSError):
                stream.close()

    def _streams(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        process = self._process
        return cast("tuple[IO[bytes], IO[bytes], IO[bytes]]", (process.stdin, process.stdout, process.stderr))

    def _send(self, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            ready = select.select([self._err], [self._in], [], max(deadline - time.monotonic(), 0))
            if self._err in ready[0]:
                self._take_errors()
            if self._in in ready[1]:
                view = view[self._write(view) :]
            elif not ready[0]:
                raise DisconnectedError("it takes nothing any more")

    def _write(self, view: memoryview) -> int:
        try:
            return os.write(self._in, view[: 1 << 16])
        except BlockingIOError:
            return 0
        except OSError as error:
            self._drain_errors()
            raise DisconnectedError("the connection was lost") from error

    def _take(self) -> None:
        part = os.read(self._out, 1 << 20)
        if not part:
            self._drain_errors()
            raise DisconnectedError("the connection was lost")
        self._received += part
        while self._next_frame():
            pass

    def _next_frame(self) -> bool:
        end = self._received.find(b"\n")
        if end < 0:
            if len(self._received) > _MOST_HEAD:
                raise StrangerError("it answers with something else, without an end")
            return False
        head = _head(bytes(self._received[:end]), self._number)
        size = head.get("bytes", 0)
        if len(self._received) < end + 1 + size:
            return False
        self._replies[head["id"]] = Reply(head, bytes(self._received[end + 1 : end + 1 + size]))
        del self._received[: end + 1 + size]
        return True

    def _take_errors(self) -> bool:
        part = os.read(self._err, 1 << 16)
        self._errors += part
        del self._errors[:-_MAX_ERRORS]
        if not part:
            time.sleep(0.01)  # its end stays readable for ever; the end of the output follows
        return bool(part)

    def _drain_errors(self) -> None:
        """Read what ssh prints at its end, and give it time to end."""
        deadline = time.monotonic() + CLOSING_SECONDS
        while time.monotonic() < deadline and select.select([self._err], [], [], 0.5)[0]:
            if not self._take_errors():
                break
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(CLOSING_SECONDS)


def _head(line: bytes, latest: int) -> dict[str, Any]:
    """Parse the line of a frame; anything else, such as the greeting of a login shell, ends the connection.

    `latest` is the number of the last request.
    """
    try:
        head = json.loads(line)
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or "id" not in head:
        raise StrangerError(f"it answers with something else: {line[:80]!r}")
    found = cast("dict[str, Any]", head)
    for name, value, most in (("id", found["id"], latest), ("bytes", found.get("bytes", 0), _MOST_BODY)):
        if type(value) is not int or not 0 <= value <= most:
            raise StrangerError(f"it answers with something else: {name} is {str(value)[:80]!r}")
    return found
