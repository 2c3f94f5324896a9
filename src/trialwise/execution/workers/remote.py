"""A worker that ssh reaches: requests that survive the loss of a connection."""

from __future__ import annotations

import errno
import hashlib
import json
import select
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from trialwise.errors import WorkerError
from trialwise.execution.clocks import Clocks
from trialwise.execution.workers.address import Address
from trialwise.execution.workers.agent.attachment import PROTOCOL
from trialwise.execution.workers.clock import ClockOffset, ClockProbes, Probe
from trialwise.execution.workers.connection import (
    Connection,
    DisconnectedError,
    Reply,
    SilenceError,
    StrangerError,
)
from trialwise.execution.workers.ssh import (
    OTHER_AGENT,
    WHAT_PRINTS,
    WHAT_STARTS_IT,
    Explanation,
    agent_archive,
    bootstrap,
    explain,
    ssh_words,
)
from trialwise.experiment.model import Workers
from trialwise.experiment.quantity import duration_text
from trialwise.visible import visible

GREETING_SECONDS = 20.0
"""Maximum time of a connection until the agent's first answer."""
ANSWER_SECONDS = (5.0, 20.0)
"""Maximum time for an answer of a reachable worker: that of the heartbeat, between these bounds."""
BUSY_SECONDS = 120.0
"""Maximum time for an answer of a worker that is at work on it: each further attempt waits twice as long, up to this."""
FIRST_SECONDS = 30.0
"""Time for which a worker that was never reached is tried."""
MAX_PAUSE = 15.0
PROBES = 5
"""Number of clock probes after the greeting."""


@dataclass(frozen=True, slots=True)
class Look:
    """The clocks of a worker, and the state of files there."""

    clocks: Clocks
    stats: tuple[tuple[Any, ...], ...]
    free: int


class Remote:
    """The agent on one worker, through as many connections as it takes; used by one thread.

    Parameters
    ----------
    address, settings, folder
        The worker, its settings, and the folder of the experiment there.
    cancel
        A descriptor that becomes readable to stop waiting for the worker.
    tell
        Called with a text on each change of the connection.
    """

    def __init__(
        self, address: Address, settings: Workers, folder: str, cancel: int, tell: Callable[[str], None]
    ) -> None:
        self.address = address
        self.settings = settings
        self._clock = ClockProbes()
        self.hello: dict[str, Any] = {}
        self.why = ""
        """What kept `boot_now` from reaching the worker last time, as text."""
        self._folder = folder
        self._cancel = cancel
        self._tell = tell
        self._connection: Connection | None = None
        self._patience = min(max(settings.heartbeat, ANSWER_SECONDS[0]), ANSWER_SECONDS[1])

    @property
    def marker(self) -> str:
        """Distinguishes this worker's processes from others of the experiment, if two workers are one machine."""
        return "@" + self._folder.rpartition("/")[2]

    @property
    def clock(self) -> ClockOffset:
        """The offset of its clock from ours."""
        return self._clock.found

    @property
    def folder(self) -> str:
        """The absolute path of the experiment's folder on the worker."""
        return str(self.hello["folder"])

    @property
    def files(self) -> str:
        """The path of the experiment's own files on the worker."""
        return f"{self.folder}/files"

    @property
    def supervised(self) -> bool:
        """Whether programs are measured there by the same supervisor as here; else Python does it, and counts less."""
        return bool(self.hello["supervised"])

    # Requests

    def connect(self) -> None:
        """Connect to the worker for the first time.

        Raises
        ------
        WorkerError
            It cannot be reached or used.
        """
        self._reconnect(min(FIRST_SECONDS, self.settings.reconnect))

    def ask(self, op: str, head: dict[str, Any] | None = None, body: bytes = b"") -> Reply:
        """Ask until there is an answer; every request may be repeated.

        Raises
        ------
        WorkerError
            The worker is lost, refuses, or is too busy to answer.
        """
        patience = self._patience
        while True:
            try:
                return self._checked(self._connected().ask(op, head, body, patience=patience))
            except SilenceError as problem:
                self._lost(problem)
                if patience >= BUSY_SECONDS:
                    raise self._too_busy(patience) from problem
                patience = min(2 * patience, BUSY_SECONDS)
            except DisconnectedError as problem:
                self._lost(problem)

    def look(self, programs: list[str]) -> Look:
        """Return the worker's clocks and the state of the measured programs' files."""
        before = time.time()
        head = self.ask("look", {"programs": programs}).head
        self._probed(head, before)
        stats = tuple(tuple(each) for each in head["stats"])
        return Look(Clocks(**head["clocks"]), stats, int(head["free"]))

    def boot_now(self) -> str | None:
        """Return the boot id of the worker; None if one attempt does not reach it."""
        try:
            if self._connection is None:
                self._reconnect(0.0)
            answer = self._connected().ask("look", {"programs": []}, patience=self._patience)
            return str(answer.head["clocks"]["boot"])
        except DisconnectedError as problem:
            self._lost(problem)
        except WorkerError as error:
            self.why = error.message
            return None
        return None

    def run(self, key: str, task: dict[str, Any] | None, *, marker: str, cancel: int | None) -> Reply:
        """Have a task executed at most once, and wait for its result, however often the connection is lost.

        The head of the answer has "state": "result", "lost" (started, but without a result) or, if `task` is None
        and the worker does not know the key, "unknown".
        """
        head, body = _request(key, marker, task)
        op = "result" if task is None else "run"
        while True:
            try:
                return self._checked(self._run_once(op, head, body, cancel))
            except DisconnectedError as problem:
                self._lost(problem)

    def order(
        self, key: str, task: dict[str, Any], *, marker: str, cancel: int | None, patience: float
    ) -> Reply | None:
        """Have a task executed that may take the worker down; None if no answer comes within `patience` seconds.

        In that case the connection is gone: what an old one delivers after a reboot belongs to no request.
        """
        try:
            connection = self._connected()
            head, body = _request(key, marker, task)
            number = connection.request("run", head, body, patience=self._patience)
            if (reply := connection.reply(number, patience=patience, cancel=cancel)) is not None:
                return self._checked(reply)
        except DisconnectedError:
            pass
        self.close()
        return None

    def forget(self, key: str) -> None:
        """Tell the worker that the result of a task is safe here."""
        self.ask("ack", {"key": key})

    def close(self) -> None:
        """End the connection; what runs on the worker continues."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _run_once(self, op: str, head: dict[str, Any], body: bytes, cancel: int | None) -> Reply:
        connection = self._connected()
        number = connection.request(op, head, body, patience=self._patience)
        while True:
            reply = connection.reply(number, patience=self.settings.heartbeat, cancel=cancel)
            if reply is not None:
                return reply
            if cancel is not None and _readable(cancel):
                if connection.ask("cancel", {"key": head["key"]}, patience=self._patience).head.get(
                    "cancelled"
                ):
                    cancel = None
                time.sleep(0.05)
            else:
                connection.ask("ping", patience=self._patience)

    def _checked(self, reply: Reply) -> Reply:
        error = reply.head.get("error")
        if error is None:
            return reply
        raise WorkerError(f"{self.address.name}: {error}", hint=self._hint(reply.head.get("errno")))

    def _too_busy(self, seconds: float) -> WorkerError:
        return WorkerError(
            f"{self.address.name}: it can be reached, and has not answered in {duration_text(seconds)}",
            hint="see what keeps it busy, or whether its disk answers; then run again; what is finished is kept",
        )

    def _hint(self, number: object) -> str | None:
        """Return what to try where the agent could not write."""
        if number == errno.ENOSPC:
            return f"free some space in {self._folder} there and run again; what is finished is kept"
        if number in (errno.EACCES, errno.EPERM, errno.EROFS):
            return "name a folder that you may write there: workers.folder"
        return None

    # The connection

    def _connected(self) -> Connection:
        if self._connection is None:
            self._reconnect(self.settings.reconnect)
        if self._connection is None:
            raise DisconnectedError("there is no connection")
        return self._connection

    def _lost(self, problem: DisconnectedError) -> None:
        """Report why the connection was lost; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            why = explain(self.address, self._connection.errors, self._connection.exit_code)
            self._connection = None
            self._tell(f"{problem}; connecting again ({why.message})")

    def _reconnect(self, limit: float) -> None:
        deadline, pause = time.monotonic() + limit, 0.25
        while True:
            why = self._attempt()
            if why is None:
                return
            left = deadline - time.monotonic()
            if why.lasting or left <= 0:
                tried = "" if why.lasting else f", tried for {duration_text(limit)}"
                raise WorkerError(f"{why.message}{tried}", hint=why.hint)
            if select.select([self._cancel], [], [], min(pause, left))[0]:
                raise WorkerError(f"{why.message}; not waited for on request", hint="run again to go on")
            pause = min(pause * 2, MAX_PAUSE)

    def _attempt(self) -> Explanation | None:
        """Connect once; return what went wrong, or None."""
        archive = agent_archive()
        command = bootstrap(self.settings.python, archive, self._folder)
        connection = Connection(ssh_words(self.address, command), archive)
        try:
            before = time.time()
            reply = self._checked(connection.ask("hello", patience=GREETING_SECONDS))
            self._greeted(reply.head, before)
            self._compare_clocks(connection)
        except StrangerError as problem:
            connection.close()
            return Explanation(f"{self.address.name}: {problem}", WHAT_PRINTS, lasting=False)
        except DisconnectedError as problem:
            connection.close()
            errors = connection.errors or f"{problem}"
            return explain(self.address, errors, connection.exit_code, started=connection.started)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return None

    def _greeted(self, head: dict[str, Any], before: float) -> None:
        _require_own_agent(self.address.name, head)
        self.hello = head
        self._probed(head, before)

    def _compare_clocks(self, connection: Connection) -> None:
        """Probe the clock until a round trip is short: the greeting waits for ssh and for Python to start."""
        for _ in range(PROBES):
            before = time.time()
            reply = self._checked(connection.ask("look", {"programs": []}, patience=self._patience))
            self._probed(reply.head, before)

    def _probed(self, head: dict[str, Any], before: float) -> None:
        self._clock.add(Probe(before, float(head["clocks"]["realtime"]), time.time()))


def _require_own_agent(worker: str, head: Mapping[str, Any]) -> None:
    """Raise WorkerError if it is not the agent sent with the connection that answers."""
    told, sent = head.get("protocol"), hashlib.sha256(agent_archive()).hexdigest()
    if told == PROTOCOL and head.get("agent") == sent:
        return
    spoken = "" if told == PROTOCOL else f", by protocol {visible(str(told)[:20])} and not {PROTOCOL}"
    raise WorkerError(
        f"{worker}: {OTHER_AGENT}{spoken}",
        hint=WHAT_STARTS_IT,
    )


def _request(key: str, marker: str, task: dict[str, Any] | None) -> tuple[dict[str, Any], bytes]:
    """Return head and body of the request to execute a task."""
    head: dict[str, Any] = {"key": key, "marker": marker}
    if task is None:
        return head, b""
    secrets, body = parted(task)
    return {**head, **secrets}, body


def parted(task: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Part a task into its secrets, for the head of a request, and the rest, for the body, which is kept in a file there."""
    secrets = {name: value for name, value in task.items() if name == "secrets"}
    return secrets, json.dumps({name: value for name, value in task.items() if name not in secrets}).encode()


def _readable(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])
