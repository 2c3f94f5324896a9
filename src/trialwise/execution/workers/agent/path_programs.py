"""The program of one flow at one end of a real path."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import time
from typing import NamedTuple

from trialwise.trials.listening import PROTOCOLS, has_listener, tables_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

GRACE = 3.0
PREPARE = 60.0
LATEST_START = 1.0
LINGER = 1.0
"""Seconds that a receiver is left running after its flow, so that it does not end before the sender does."""
TAIL = 16 * 1024
REPORTS = ("report.jsonl", "arrivals.jsonl")
"""What a sender and a receiver write about a flow."""
MOST_OF_A_FILE = 64 * 1024 * 1024
PEER, HOST = "{peer}", "{host}"
"""Stand in words for the address of the other end, which is known only when it has been heard, and for it in a URL."""


def in_url(address: str) -> str:
    """Return an address as a URL has it: IPv6 stands in brackets (RFC 3986, section 3.2.2)."""
    return f"[{address}]" if ":" in address else address


def has_no_room(folder: str) -> bool:
    """Return True if the disk is full: a program that ends for it cannot even write why."""
    try:
        return os.statvfs(folder).f_bavail == 0
    except OSError:
        return False


class Place(NamedTuple):
    """Where programs run: what stands before their words, the tables of their network (proc(5)), the other end's address there."""

    prefix: tuple[str, ...]
    tables: str
    peer: str


class Side:
    """Prepares, starts and ends the program of a flow; it waits for the other side, or calls it.

    Problems are returned as text, and None says that all is well so far.
    """

    def __init__(self, flow: Json, task: Json, directory: str) -> None:
        self.flow = flow
        self.directory = os.path.join(directory, "flow-{}".format(flow["number"]))
        self.environment: dict[str, str] = dict(os.environ, **task["environment"], **flow["environment"])
        if flow["programs"]:
            found = self.environment.get("PATH", os.defpath)
            self.environment["PATH"] = flow["programs"] + os.pathsep + found
        self.preparing: subprocess.Popen[bytes] | None = None
        self.program: subprocess.Popen[bytes] | None = None
        self.started = 0.0
        self.is_ready = False
        self.asked = False
        self.is_over = False

    @property
    def name(self) -> str:
        return "flow {number} ({scheme}): the {side}".format(**self.flow)

    # Before the flows

    def prepare(self, place: Place) -> str | None:
        """Go on preparing; the side is ready some calls later."""
        try:
            return self.go_on_preparing(place)
        except OSError as error:
            return f"{self.name} cannot be started: {error.strerror or error}"

    def go_on_preparing(self, place: Place) -> str | None:
        if self.is_ready:
            return None
        if not os.path.isdir(self.directory):
            os.makedirs(self.directory)
            for name, text in self.flow["files"].items():
                with open(self.path(name), "w", encoding="utf-8") as file:
                    file.write(text)
            if self.flow["prepare"]:
                self.preparing = self.popen(self.flow["prepare"], "prepare", place)
                self.started = time.monotonic()
        if self.preparing is not None:
            return self.prepared(self.preparing)
        if not self.flow["waits"]:
            self.is_ready = True
            return None
        if self.program is None:
            if self.listens(place):
                return f"{self.name} cannot have port {self.flow['port']}: something listens there"
            self.program = self.popen(self.flow["words"], "program", place)
            self.started = time.monotonic()
        return self.await_ready(place)

    def prepared(self, preparing: subprocess.Popen[bytes]) -> str | None:
        code = preparing.poll()
        if code == 0:
            self.preparing = None
            return None
        if code is None and time.monotonic() - self.started < PREPARE:
            return None
        self.kill(preparing, signal.SIGKILL)
        how = f"took longer than {PREPARE:g} s" if code is None else f"ended with exit code {code}"
        return f"{self.name}: prepare {how}{self.last_line('prepare')}"

    def await_ready(self, place: Place) -> str | None:
        ready, waited = self.flow["ready"], time.monotonic() - self.started
        if (problem := self.problem()) is not None:
            return f"{problem}, before it was ready"
        if waited >= ready["after"] and self.shows_ready(place):
            self.is_ready = True
        elif waited > max(ready["timeout"], ready["after"]):
            what = f"listen on port {self.flow['port']}" if ready["port"] else f"print {ready['line']!r}"
            return f"{self.name} did not {what} within {ready['timeout']:g} s{self.last_line('program')}"
        return None

    def shows_ready(self, place: Place) -> bool:
        ready = self.flow["ready"]
        if ready["line"] is not None:
            return ready["line"].encode() in self.printed("program.out")
        return ready["port"] is None or self.listens(place)

    def listens(self, place: Place) -> bool:
        """Return True if something listens on the port of the flow."""
        protocol = self.flow["ready"]["port"]
        for each in [protocol] if protocol else PROTOCOLS:
            for table in tables_of(each, place.tables):
                with contextlib.suppress(OSError), open(table) as file:
                    if has_listener(each, self.flow["port"], file):
                        return True
        return False

    # While flows run

    def conduct(self, elapsed: float, place: Place) -> str | None:
        """Start the side if it calls and its time has come, and stop it if its flow is over."""
        if self.is_over:
            return None
        if self.program is None and elapsed >= self.flow["start"]:
            if elapsed - self.flow["start"] > LATEST_START:
                return f"{self.name} would have started {elapsed - self.flow['start']:.1f} s late"
            try:
                self.program = self.popen(self.flow["words"], "program", place)
            except OSError as error:
                return f"{self.name} cannot be started: {error.strerror or error}"
        if elapsed >= self.flow["stop"] + (LINGER if self.flow["side"] == "receiver" else 0):
            unfinished = self.flow["unfinished"]
            if unfinished is not None and self.program is not None and self.program.poll() != 0:
                return "flow {number} ({scheme}) did not finish its load {unfinished} in time".format(
                    **self.flow
                )
            self.stop()
            self.is_over = True
        elif elapsed < self.flow["stop"] and (problem := self.problem()) is not None:
            return f"{problem}, {elapsed:.1f} s after the start"
        return None

    def problem(self) -> str | None:
        """Say how the program ended, if it should not have."""
        code = None if self.program is None else self.program.poll()
        if code is None or self.asked or (self.flow["ends"] and code == 0):
            return None
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"{self.name} {how}{self.last_line('program')}"

    # Its end

    def stop(self) -> None:
        """Ask the program to end."""
        for running in (self.preparing, self.program):
            if running is not None and not self.asked:
                self.kill(running, signal.SIGTERM)
        self.asked = True

    def wait(self) -> None:
        """Wait for its end, and kill it where it does not come."""
        for running in (self.preparing, self.program):
            if running is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    running.wait(GRACE)
                self.kill(running, signal.SIGKILL)
                running.wait()

    def kill(self, process: subprocess.Popen[bytes], number: int) -> None:
        """Signal the process and what it started; a group that is gone takes none."""
        if process.poll() is None or number == signal.SIGKILL:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)

    def popen(self, words: list[str], name: str, place: Place) -> subprocess.Popen[bytes]:
        with open(self.path(name + ".out"), "wb") as out, open(self.path(name + ".err"), "wb") as errors:
            return subprocess.Popen(
                [
                    *place.prefix,
                    *(word.replace(PEER, place.peer).replace(HOST, in_url(place.peer)) for word in words),
                ],
                cwd=self.directory,
                env=dict(self.environment, TRIALWISE_PEER=place.peer),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                start_new_session=True,
            )

    # What it left

    def path(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def printed(self, name: str) -> bytes:
        try:
            with open(self.path(name), "rb") as file:
                return file.read(1 << 20)
        except OSError:
            return b""

    def last_line(self, name: str) -> str:
        lines = (
            (self.printed(name + ".err") or self.printed(name + ".out")).decode(errors="replace").split("\n")
        )
        said = [line.strip() for line in lines if line.strip()]
        full = f": {os.strerror(errno.ENOSPC)} in {self.directory}" if has_no_room(self.directory) else ""
        return (f" (it printed: {said[-1][:300]})" if said else "") + full

    def files(self) -> dict[str, bytes]:
        """Return what is to be collected, by name: its report, and the end of what it printed."""
        found: dict[str, bytes] = {}
        prefix = "flow-{}/".format(self.flow["number"])
        for name in (*REPORTS, "program.out", "program.err"):
            with contextlib.suppress(OSError), open(self.path(name), "rb") as file:
                content = file.read(MOST_OF_A_FILE)
                found[prefix + name] = content if name in REPORTS else content[-TAIL:]
        return found
