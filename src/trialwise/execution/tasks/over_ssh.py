"""A Dask cluster of our own: a scheduler on this machine, and nodes started by plain ssh."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import IO, cast

from distributed.security import Security

from trialwise.errors import PlanError, WorkerError
from trialwise.execution.tasks.certificates import security_of_run, variables
from trialwise.execution.workers.address import Address, addresses
from trialwise.execution.workers.ssh import ssh_words
from trialwise.temporary import vanishing_folder

START_SECONDS = 30.0
IDLE = "120 s"
"""Idle time after which our scheduler ends, and its nodes with it, even if we are killed."""
PYTHON = "TRIALWISE_CLUSTER_PYTHON"
"""Environment variable that names the Python of the nodes, if its path differs from ours."""
_QUIET = "trialwise.execution.tasks.quiet_node"
_WITH_VARIABLES = (
    "import json,os,sys;"
    "os.execve(sys.executable,[sys.executable,'-m',*sys.argv[1:]],{**os.environ,**json.load(sys.stdin)})"
)
"""Python code that becomes a module, with the variables that it reads from its standard input."""


@contextlib.contextmanager
def started_over_ssh(hosts: str) -> Generator[tuple[str, Security]]:
    """Start a scheduler here and a process for each core of `hosts` (``host,user@host:port``); yield its address and certificates.

    Scheduler, nodes and client have a certificate of this run, and admit nobody without it; ssh carries it to the nodes.

    Raises
    ------
    PlanError
        A host has no known form.
    WorkerError
        A host cannot be reached.
    """
    nodes = _nodes(hosts)
    with contextlib.ExitStack() as started:
        folder = started.enter_context(vanishing_folder("trialwise-cluster-"))
        own = _own_address(nodes)
        scheduler_file = folder / "scheduler.json"
        security = security_of_run()
        told = json.dumps(variables(security)).encode()
        words = [sys.executable, "-c", _WITH_VARIABLES, _QUIET, "distributed.cli.dask_scheduler", "--no-show"]
        words += ["--protocol", "tls", "--host", own, "--port", "0", "--idle-timeout", IDLE]
        words += ["--no-dashboard", "--scheduler-file", str(scheduler_file)]
        scheduler = _Started("scheduler", words, told, folder / "scheduler.log", tried=words)
        started.callback(scheduler.end)
        address = _address_in(scheduler, scheduler_file)
        for number, node in enumerate(nodes):
            process = _Started(
                node.name,
                ssh_words(node, _node_command(address)),
                told,
                folder / f"{number}.log",
                tried=ssh_words(node, shlex.join([_python(), "-c", "import distributed, trialwise"])),
            )
            started.callback(process.end)
            process.await_text("Registered to")
        yield address, security


def _nodes(hosts: str) -> tuple[Address, ...]:
    for host in hosts.split(","):
        try:
            addresses([f"ssh://{host}"])
        except PlanError as error:
            raise PlanError(
                f"--cluster ssh:{hosts}: {host!r} is not a valid host",
                hint="write ssh:host,user@host:port; a host may be a name of your ssh configuration",
            ) from error
    return addresses(f"ssh://{host}" for host in hosts.split(","))


class _Started:
    """A background program that receives `told` as input and writes to a file; `tried` shows whether it can start."""

    def __init__(self, name: str, words: Sequence[str], told: bytes, log: Path, tried: Sequence[str]) -> None:
        self._name = name
        self._log = log
        self._tried = tried
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # keep Ctrl-C on our terminal away from it
            )
        with contextlib.suppress(BrokenPipeError), cast("IO[bytes]", self._process.stdin) as inlet:
            inlet.write(told)

    def await_text(self, text: str) -> None:
        """Wait until it has printed `text`; raise WorkerError if it ends before, or takes too long."""
        deadline = time.monotonic() + START_SECONDS
        while text not in self._said():
            self.require_life(deadline)
            time.sleep(0.05)

    def require_life(self, deadline: float) -> None:
        """Raise WorkerError if it has ended, or the deadline has passed."""
        if self._process.poll() is not None or time.monotonic() > deadline:
            lines = self._said().strip().splitlines() or ["it said nothing"]
            raise WorkerError(
                f"--cluster ssh: {self._name} could not be started: {lines[-1]}",
                hint=f"see that this works without a question: {shlex.join(self._tried)}",
            )

    def end(self) -> None:
        """End it; a scheduler that ends tells its nodes to end."""
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _said(self) -> str:
        return self._log.read_text(errors="replace")


def _node_command(address: str) -> str:
    """Return the command of a node: a process with one thread per core, which ends when the scheduler is gone."""
    words = [_python(), "-c", _WITH_VARIABLES, _QUIET, "distributed.cli.dask_worker", address]
    words += ["--nworkers", "-1", "--nthreads", "1", "--death-timeout", "60", "--no-dashboard"]
    return shlex.join(words)


def _python() -> str:
    return os.environ.get(PYTHON, sys.executable)


def _address_in(scheduler: _Started, file: Path) -> str:
    """Wait until the scheduler has written its file whole, which it creates empty; return the address in it."""
    deadline = time.monotonic() + START_SECONDS
    while (address := _address_so_far(file)) is None:
        scheduler.require_life(deadline)
        time.sleep(0.05)
    return address


def _address_so_far(file: Path) -> str | None:
    with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
        return str(json.loads(file.read_text())["address"])
    return None


def _own_address(nodes: Sequence[Address]) -> str:
    """Return our address on the route to the first node, so that the scheduler listens on no other network."""
    host = str(nodes[0].host).strip("[]")
    try:
        family, *_, target = socket.getaddrinfo(_host_name(host), 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(target)
            return str(probe.getsockname()[0])
    except OSError as error:
        raise WorkerError(
            f"--cluster ssh: {host}: {error.strerror or error}", hint="check the name of the host"
        ) from error


def _host_name(host: str) -> str:
    """Return the host's real name in the user's ssh configuration."""
    words = ssh_words(Address("node", host), "true")
    found = subprocess.run([words[0], "-G", *words[1:]], capture_output=True, text=True, check=False).stdout
    names = [line.removeprefix("hostname ") for line in found.splitlines() if line.startswith("hostname ")]
    return names[0] if names else host
