"""Services on a worker: kept there by the agent, started and ended from here."""

from __future__ import annotations

import contextlib
import select
import time
import uuid
from collections.abc import Collection, Mapping
from typing import Any

from trialwise.errors import WorkerError
from trialwise.execution.workers.connection import Reply
from trialwise.execution.workers.remote import Remote, parted
from trialwise.visible import visible

SERVICE_QUERY = "service"
"""Key of the queries for the programs of services."""
_PAUSES = (0.01, 0.25)


def service_of(name: str) -> str:
    """Return the name in the file of a service that has a name there."""
    return name.rpartition(".")[0]


class RemoteServices:
    """Starts services on a worker; `running` are the names of those that run there."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self.running: list[str] = []

    @property
    def folder(self) -> str:
        """The folder of the experiment's files there."""
        return self._remote.files

    def launch(self, task: dict[str, Any]) -> RemoteService:
        """Return a run of a service that has not been started."""
        return RemoteService(self._remote, task, self.running)

    def of(self, services: Collection[str]) -> list[str]:
        """Return the names of those that run there of the services with these names in the file."""
        return [name for name in self.running if service_of(name) in services]

    def end_all(self) -> None:
        """End all services of the experiment there, whoever started them."""
        pause = _PAUSES[0]
        while self._remote.ask("end_services").head["left"]:
            time.sleep(pause)
            pause = min(2 * pause, _PAUSES[1])


class RemoteService:
    """One run of a service on a worker."""

    def __init__(self, remote: Remote, task: dict[str, Any], running: list[str]) -> None:
        self._remote = remote
        self._task = task
        self._running = running
        self._name = f"{task['name']}.{uuid.uuid4().hex[:12]}"
        self._last: Reply | None = None
        self.version: str | None = None

    def start(self, cancel: int | None = None) -> str | None:
        """Start it, and wait until it is ready; return what went wrong, None if it is ready."""
        where = self._remote.address.name
        if not self._remote.supervised:
            return f"{where}: there is no supervisor for its processor, without which no service runs"
        lease = self._remote.settings.reconnect
        secrets, body = parted({**self._task, "lease": lease})
        self._remote.ask("serve", {"name": self._name, **secrets}, body)
        pause = _PAUSES[0]
        while (state := self._state())["state"] == "starting":
            if cancel is not None and select.select([cancel], [], [], pause)[0]:
                self.stop()
                return "was not waited for on request"
            if cancel is None:
                time.sleep(pause)
            pause = min(2 * pause, _PAUSES[1])
        if state["state"] == "ready":
            self._running.append(self._name)
            self.version = None if state.get("version") is None else str(state["version"])[:200]
            return None
        self.stop()
        return f"{where}: {self._problem(state)}"

    def problem(self) -> str | None:
        """Return why it is not there any more, None if it is."""
        state = self._state()
        if state["state"] == "ready":
            return None
        self._await_end()
        return self._problem(self._state())

    @property
    def masked(self) -> set[str]:
        """The names of the secrets that were masked in what it printed; only once it has ended."""
        told = () if self._last is None else self._last.head.get("masked", ())
        return {name for name in self._task["secrets"] if name in told}

    def begin_use(self) -> None:
        """Leave that to the process that executes the trial there."""

    def use(self) -> tuple[float, int] | None:
        """Return None: the result of the trial says it."""
        return None

    def stop(self) -> None:
        """End it with everything that it started; a worker that is lost ends it by itself."""
        if self._name in self._running:
            self._running.remove(self._name)
        with contextlib.suppress(WorkerError):
            self._await_end()
            self._state()
            self._remote.ask("forget_service", {"name": self._name})

    def printed(self) -> bytes:
        """Return what it printed and wrote to its log, as far as that is kept; only once it has ended."""
        return b"" if self._last is None else self._last.body

    def _await_end(self) -> None:
        pause = _PAUSES[0]
        while not self._remote.ask("end_service", {"name": self._name}).head["ended"]:
            time.sleep(pause)
            pause = min(2 * pause, _PAUSES[1])

    def _state(self) -> dict[str, Any]:
        self._last = self._remote.ask("service", {"name": self._name})
        return self._last.head

    def _problem(self, state: Mapping[str, Any]) -> str:
        return visible(str(state.get("problem") or f"is {state['state']}"))[:1000]
