"""The programs that write down the packets at one end of a real path (`crates/ends`)."""

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
SAID = "trialwise-end: "
"""Begins what such a program says of an error."""


def why_not() -> str | None:
    """Return why this user may not capture packets here; None if it may (packet(7))."""
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except OSError as error:
        return error.strerror or str(error)
    return None


class RecorderError(Exception):
    """It does not begin."""


class Recorder:
    """A program that writes packets into `file` from its creation to `stop`.

    Raises
    ------
    RecorderError
        The program cannot do that here; the text says why.
    """

    def __init__(
        self,
        words: Sequence[str],
        file: str,
        environment: Mapping[str, str],
        descriptors: Sequence[int] = (),
    ) -> None:
        self.file = file
        self.sent_bytes = 0
        self.counts = {"seen": 0, "dropped": 0, "steps": 0}
        self.pending = b""
        self.is_over = False
        self.problem: str | None = None
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            list(words), stdin=pipe, stdout=pipe, stderr=pipe, env=dict(environment), pass_fds=descriptors
        )
        deadline = time.monotonic() + READY_SECONDS
        while not (first := self.lines(deadline - time.monotonic())[:1]):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                raise RecorderError(said(self.process.communicate()[1]) or "it did not begin in time")
        self.ready = first[0].split()[1:]

    def look(self) -> str | None:
        """Take note of what it has told; return what is wrong with it, if anything."""
        for line in self.lines(0):
            if line.isdigit():
                self.sent_bytes = int(line)
        return None if self.process.poll() is None else self.stop() or "it ended by itself"

    def stop(self) -> str | None:
        """End the program; return what went wrong."""
        if not self.is_over:
            self.is_over = True
            self.problem = self.end()
        return self.problem

    def end(self) -> str | None:
        try:
            output, errors = self.process.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return f"it did not end within {END_SECONDS:g} s"
        for line in (self.pending + output).decode(errors="replace").splitlines():
            words = line.split()
            if line.isdigit():
                self.sent_bytes = int(line)
            if words[:1] == ["seen"]:
                self.counts = {name: int(count) for name, count in zip(words[::2], words[1::2])}
                return None
        return said(errors) or "it was killed"

    def lines(self, seconds: float) -> list[str]:
        """Return the whole lines that it has printed, after waiting at most so long for the first."""
        output = self.process.stdout
        if output is None or not select.select([output], [], [], max(seconds, 0))[0]:
            return []
        self.pending += os.read(output.fileno(), 1 << 16)
        *whole, self.pending = self.pending.split(b"\n")
        return [line.decode(errors="replace") for line in whole]


class Capture(Recorder):
    """Captures what an interface sends and gets; `flows` are ports and the flows that they belong to."""

    def __init__(
        self,
        program: str,
        interface: str,
        file: str,
        key: str,
        flows: Sequence[tuple[int, int]],
        environment: Mapping[str, str],
    ) -> None:
        super().__init__([program, "capture", interface, file, key, *flow_words(flows)], file, environment)


def flow_words(flows: Sequence[tuple[int, int]]) -> list[str]:
    """Return ports and flows as the programs take them."""
    return [f"{port}={flow}" for port, flow in flows]


def said(errors: bytes) -> str:
    """Return the last error that a program printed."""
    return errors.decode(errors="replace").strip().rpartition(SAID)[2]
