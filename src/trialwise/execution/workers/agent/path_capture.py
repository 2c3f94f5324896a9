"""The program that writes down the packets at one end of a real path (`crates/ends`)."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

READY_SECONDS = 10.0
END_SECONDS = 30.0


def why_not() -> str | None:
    """Return why this user may not capture packets here; None if it may (packet(7))."""
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except OSError as error:
        return error.strerror or str(error)
    return None


class CaptureError(Exception):
    """It does not capture."""


class Capture:
    """Captures from its creation to `stop`; `flows` are ports and the flows that they belong to.

    Raises
    ------
    CaptureError
        The program cannot capture here; the text says why.
    """

    def __init__(
        self,
        program: str,
        interface: str,
        file: str,
        key: str,
        flows: Sequence[tuple[int, int]],
        environment: Mapping[str, str],
    ) -> None:
        self.file = file
        self.sent_bytes = 0
        self.counts = {"seen": 0, "dropped": 0, "steps": 0}
        self.pending = b""
        self.is_over = False
        self.problem: str | None = None
        words = [program, "capture", interface, file, key, *(f"{port}={flow}" for port, flow in flows)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, env=dict(environment))
        deadline = time.monotonic() + READY_SECONDS
        while "ready" not in self.lines(deadline - time.monotonic()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                said = self.process.communicate()[1].decode(errors="replace").strip()
                raise CaptureError(said.rpartition("trialwise-end: ")[2] or "it did not begin in time")

    def look(self) -> str | None:
        """Take note of what it has told; return what is wrong with it, if anything."""
        for line in self.lines(0):
            if line.isdigit():
                self.sent_bytes = int(line)
        return None if self.process.poll() is None else self.stop()

    def stop(self) -> str | None:
        """End the capture; return what went wrong."""
        if self.is_over:
            return self.problem
        self.is_over = True
        self.problem = self.end()
        return self.problem

    def end(self) -> str | None:
        try:
            output, errors = self.process.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return f"the capture did not end within {END_SECONDS:g} s"
        for line in (self.pending + output).decode(errors="replace").splitlines():
            words = line.split()
            if line.isdigit():
                self.sent_bytes = int(line)
            if words[:1] == ["seen"]:
                self.counts = {"seen": int(words[1]), "dropped": int(words[3]), "steps": int(words[5])}
                return None
        said = errors.decode(errors="replace").strip().rpartition("trialwise-end: ")[2]
        return f"the capture failed: {said or 'it was killed'}"

    def lines(self, seconds: float) -> list[str]:
        """Return the whole lines that it has printed, after waiting at most so long for the first."""
        output = self.process.stdout
        if output is None or not select.select([output], [], [], max(seconds, 0))[0]:
            return []
        self.pending += os.read(output.fileno(), 1 << 16)
        *whole, self.pending = self.pending.split(b"\n")
        return [line.decode(errors="replace") for line in whole]
