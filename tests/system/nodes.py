"""A Dask cluster for tests: a scheduler here, and nodes in network namespaces of their own, as real processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.system.worker_machines import WITH_US, Machine, Machines

TESTS = Path(__file__).parents[1]
SOURCE = TESTS.parent / "src"
SECONDS = 60.0
_NODE = "distributed.cli.dask_worker"


def environment(*folders: Path) -> dict[str, str]:
    """What a process of a cluster needs to find the trials of the tests; `folders` come before all others."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(str(folder) for folder in (*folders, SOURCE, TESTS))}


@dataclass
class Cluster:
    """A scheduler, and the machines that nodes are started on."""

    scheduler: subprocess.Popen[bytes]
    port: int
    machines: Machines
    logs: Path
    nodes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start_node(self, number: int, *folders: Path, cores: int = 1) -> None:
        """Start a process with `cores` threads on a machine, without a nanny, which would start another when it is killed."""
        machine = self.machines[number]
        words = [sys.executable, "-m", _NODE, f"tcp://{machine.ours}:{self.port}", "--no-nanny"]
        words += ["--nthreads", str(cores), "--no-dashboard", "--local-directory", str(self.logs)]
        settings = [f"PYTHONPATH={environment(*folders)['PYTHONPATH']}"]
        with (self.logs / f"node-{number}.log").open("ab") as log:
            process = subprocess.Popen(
                [*WITH_US, "nsenter", "-t", str(machine.holder.pid), "-n", "-m", "env", *settings, *words],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.nodes.append(process)
        wait_until(lambda: "Registered to" in (self.logs / f"node-{number}.log").read_text())

    def kill_node(self, number: int) -> None:
        """Kill the processes of a node as a power cut does, as far as they can tell."""
        assert self.machines[number].signal(_NODE, signal.SIGKILL) == 1

    def close(self) -> None:
        for process in (*self.nodes, self.scheduler):
            process.kill()
            process.wait()


def processes_of(machine: Machine) -> list[int]:
    """The processes of nodes on a machine."""
    return machine.processes(_NODE)


@contextlib.contextmanager
def cluster(machines: Machines, folder: Path) -> Iterator[Cluster]:
    """A scheduler without nodes, for as long as it is entered."""
    file = folder / "scheduler.json"
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "0.0.0.0", "--port", "0"]  # noqa: S104
    words += ["--no-dashboard", "--no-show", "--scheduler-file", str(file)]
    with (folder / "scheduler.log").open("wb") as log:
        scheduler = subprocess.Popen(
            [*WITH_US, *words], stdout=log, stderr=log, start_new_session=True, env=environment()
        )
    try:
        port = int(scheduler_address(file).rpartition(":")[2])
        made = Cluster(scheduler, port, machines, folder)
        try:
            yield made
        finally:
            made.close()
    finally:
        scheduler.kill()
        scheduler.wait()


def scheduler_address(file: Path) -> str:
    """What a scheduler writes into its file, once it is there: the file is empty at first."""
    document: dict[str, str] = {}

    def is_whole() -> bool:
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
            document.update(json.loads(file.read_text()))
        return "address" in document

    wait_until(is_whole)
    return document["address"]


def wait_until(found: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.02)
