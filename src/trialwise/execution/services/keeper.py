"""A service on a worker: in the hands of a process that outlives the connection, until the runner has been away for too long.

Uses only the standard library and runs on Python 3.8, because it is sent to workers. What is known of a service is in the folder
`services` there: `NAME.task`, which its keeper has locked for as long as it lives, `NAME.state`, and `NAME.printed`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import threading
import time

from trialwise.execution.services.process import ServiceProcess, why_gone
from trialwise.execution.services.processes import Use
from trialwise.execution.workers.agent.apart import secrets_given, start_apart
from trialwise.execution.workers.agent.folder import Folder, remove, write_durably
from trialwise.execution.workers.agent.probe import boot_id, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from typing import Any

    Json = dict[str, Any]

_LOOK_SECONDS = 0.2
_KEEP = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from trialwise.execution.services.keeper import main; main(sys.argv[2:])"
)


class Keeper:
    """Starts a service, watches it, and ends it when it is asked to, or when nobody has been connected for "lease" seconds."""

    def __init__(self, folder: Folder, name: str, task: Json) -> None:
        self.folder = folder
        self.name = name
        self.task = task
        self.asked, self._ask = os.pipe()

    def ask(self) -> None:
        """Have the service ended."""
        os.write(self._ask, b"x")

    def run(self) -> None:
        """Keep the service until it ends or is to end."""
        process = ServiceProcess(self.task)
        self.tell("starting")
        problem = process.start(self.asked)
        if problem is not None:
            self.finish("failed", process, problem)
            return
        self.tell(
            "ready",
            main=process.main,
            port=process.port,
            supervisor=process.supervisor,
            version=process.version,
        )
        threading.Thread(target=self.watch_runner, daemon=True).start()
        is_asked = self.asked in select.select([self.asked, process.ended], [], [])[0]
        problem = None if is_asked else process.problem()
        process.stop()
        self.finish("ended" if is_asked else "gone", process, problem)

    def watch_runner(self) -> None:
        """Ask for the end once nobody has been connected for so long, and no trial is running."""
        while True:
            wait_for_nobody(self.folder)
            until = time.monotonic() + self.task["lease"]
            while is_alone(self.folder):
                if time.monotonic() < until:
                    time.sleep(_LOOK_SECONDS)
                elif self.folder.in_hand() is None:
                    self.ask()
                    return
                else:
                    self.folder.wait()

    def finish(self, state: str, process: ServiceProcess, problem: str | None) -> None:
        """Write what has become of the service."""
        write_durably(path_of(self.folder, self.name, "printed"), process.printed())
        self.tell(state, problem=problem, masked=sorted(process.masked))

    def tell(self, state: str, **more: Any) -> None:
        """Write the state of the service."""
        told = dict(more, state=state, keeper=os.getpid(), boot=boot_id())
        write_durably(path_of(self.folder, self.name, "state"), json.dumps(told).encode())


def begin(folder: Folder, name: str, task: bytes, archive: str, secrets: Mapping[str, str]) -> None:
    """Start the keeper of a service, unless it was started before."""
    path = path_of(folder, name, "task")
    if os.path.exists(path):
        return
    write_durably(path, task)
    lock = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        start_apart(folder, archive, _KEEP, [name], lock, secrets)
    finally:
        os.close(lock)


def state_of(folder: Folder, name: str) -> Json:
    """Return the "state" of a service: starting, ready, failed, gone or ended; "problem" says why it is not there.

    Whether a ready one is still there is looked at now. "kept" is true as long as its keeper lives.
    """
    told: Json = json.loads(text_of(path_of(folder, name, "state")) or '{"state": "starting"}')
    kept = is_kept(folder, name)
    if told["state"] == "ready":
        problem = (
            why_gone(tuple(told["main"]), told["port"])
            if told["boot"] == boot_id()
            else "ended with the machine"
        )
        if problem is None and not kept:
            problem = "lost what watched it"
        if problem is not None:
            told = dict(told, state="gone", problem=problem)
    elif told["state"] == "starting" and not kept:
        told = dict(told, state="failed", problem="could not be watched: its keeper has ended")
    return dict(told, kept=kept)


def problems_of(folder: Folder, names: Sequence[str]) -> Json:
    """Return why services are not there any more, without those that are."""
    states = {name: state_of(folder, name) for name in names}
    return {
        name: told.get("problem") or "is {}".format(told["state"])
        for name, told in states.items()
        if told["state"] != "ready"
    }


def uses_of(folder: Folder, names: Sequence[str]) -> dict[str, Use]:
    """Begin to measure what services use, those that are ready."""
    states = {name: state_of(folder, name) for name in names}
    return {name: Use(told["supervisor"]) for name, told in states.items() if told["state"] == "ready"}


def printed_of(folder: Folder, name: str) -> bytes:
    """Return what a service has printed, once it has ended."""
    try:
        with open(path_of(folder, name, "printed"), "rb") as file:
            return file.read()
    except OSError:
        return b""


def end(folder: Folder, name: str) -> bool:
    """Have a service ended; return True once its keeper has ended, too."""
    told = state_of(folder, name)
    if told["kept"] and told.get("keeper"):
        with contextlib.suppress(OSError):
            os.kill(told["keeper"], signal.SIGTERM)
    return not told["kept"]


def end_all(folder: Folder) -> int:
    """Have all services ended, and forget those that have; return how many are left."""
    names = [name[: -len(".task")] for name in os.listdir(folder.at("services")) if name.endswith(".task")]
    left = [name for name in names if not end(folder, name)]
    for name in set(names) - set(left):
        forget(folder, name)
    return len(left)


def forget(folder: Folder, name: str) -> None:
    """Remove what is known of a service that has ended."""
    for what in ("task", "state", "state.tmp", "printed", "printed.tmp"):
        remove(path_of(folder, name, what))


def path_of(folder: Folder, name: str, what: str) -> str:
    """Return the path of a file of a service."""
    return folder.at("services", f"{name}.{what}")


def is_kept(folder: Folder, name: str) -> bool:
    """Return True if the keeper of a service lives."""
    return not _is_free(path_of(folder, name, "task"))


@contextlib.contextmanager
def alone(folder: Folder) -> Generator[None, None, None]:
    """Keep other connections from starting services, and from becoming the newest one, for as long as the context lasts."""
    descriptor = os.open(folder.at("serving.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def hold_connection(folder: Folder) -> int:
    """Show as long as this process lives that somebody is connected."""
    descriptor = os.open(folder.at("connected.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def wait_for_nobody(folder: Folder) -> None:
    """Sleep until nobody is connected."""
    descriptor = os.open(folder.at("connected.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    finally:
        os.close(descriptor)


def is_alone(folder: Folder) -> bool:
    """Return True if nobody is connected."""
    return _is_free(folder.at("connected.lock"))


def _is_free(path: str) -> bool:
    """Return True if a file is not locked, or not there."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)


def main(words: Sequence[str]) -> None:
    """``FOLDER NAME LOCK``: the folder, the service, and the descriptor of its lock, which ends with this process."""
    path, name, lock = words
    os.set_inheritable(int(lock), False)
    folder = Folder(path)
    task = json.loads(text_of(path_of(folder, name, "task")) or "{}")
    keeper = Keeper(folder, name, dict(task, secrets=secrets_given()))
    signal.signal(signal.SIGTERM, lambda number, stack: keeper.ask())
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    keeper.run()
