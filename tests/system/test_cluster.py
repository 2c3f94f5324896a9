"""Independent trials on a cluster of two nodes, each in a network namespace of its own: the record is that of one process."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

import pytest
from tests.system.nodes import SECONDS, SOURCE, Cluster, cluster, environment, processes_of, wait_until
from tests.system.worker_machines import Machines, machines

import task_trials
from task_trials import DrawnKind, facts
from trialwise import study
from trialwise.errors import WorkerError
from trialwise.execution.events import RunEvent, TrialEnded, WorkerNotice
from trialwise.execution.tasks import dask_executor
from trialwise.store.records import TrialRow
from trialwise.study import sessions

pytest.importorskip("distributed")

from distributed import Client
from distributed.comm import connect
from distributed.security import Security

from trialwise.execution.tasks.over_ssh import started_over_ssh

Opened: TypeAlias = tuple[str, Security]


@dataclass
class Bench:
    """Two machines with a scheduler, and an experiment."""

    folder: Path
    cluster: Cluster
    use: Callable[[DrawnKind], None]

    def run(self, name: str, seconds: float = 0.0, **settings) -> study.RunResult:
        self.use(DrawnKind(seconds=seconds))
        return study.run(self.folder / "experiment.toml", self.folder / name, **settings)

    def facts(self, name: str) -> list[tuple[object, ...]]:
        return facts(self.folder / name)


@pytest.fixture
def two_machines(tmp_path: Path) -> Iterator[Machines]:
    with machines(tmp_path, 2) as made:
        yield made


@pytest.fixture
def bench(tmp_path: Path, two_machines: Machines, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    def use(kind: DrawnKind) -> None:
        monkeypatch.setattr(sessions, "kind_of", lambda _: kind)

    with cluster(two_machines, tmp_path) as made:
        yield Bench(tmp_path, made, use)


class At:
    """Acts once, when a trial is recorded; keeps what is told of nodes."""

    def __init__(self, number: int, act: Callable[[], None]) -> None:
        self.number = number
        self.act = act
        self.notices: list[str] = []

    def notice(self, event: RunEvent) -> None:
        if isinstance(event, TrialEnded) and event.row.number == self.number:
            self.act()
        elif isinstance(event, WorkerNotice):
            self.notices.append(f"{event.worker} {event.text}")


class UntilBoth:
    """A rule that has enough once two nodes have computed something."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.asked = 0

    def reason_to_stop(self, upcoming: TrialRow) -> str | None:
        self.asked += 1
        if self.asked % 20:
            return None
        done = [node for node in study.state(self.directory).nodes if node.done]
        return "both have taken part" if len(done) == 2 else None


def test_a_node_that_is_killed_in_the_middle_changes_no_bit_and_no_stop(bench: Bench):
    task_trials.write(bench.folder, rounds=300, stop="12%")
    alone = bench.run("alone", jobs=1)
    assert alone.ending.reason == "stopped"
    bench.cluster.start_node(0)
    bench.cluster.start_node(1)
    killer = At(60, lambda: bench.cluster.kill_node(1))
    result = bench.run("cluster", seconds=0.005, cluster=bench.cluster.address, observers=[killer])
    assert (result.ending, result.counts) == (alone.ending, alone.counts)
    assert bench.facts("cluster") == bench.facts("alone")
    lost = bench.cluster.machines[1].address
    assert killer.notices == [f"{lost} is gone; what it had in hand is computed by others"]
    state = study.state(bench.folder / "cluster")
    nodes = {node.name: node for node in state.nodes}
    assert nodes[lost].cores == 0
    assert nodes[lost].done > 0
    assert nodes[bench.cluster.machines[0].address].cores == 1
    assert [event.kind for event in state.events] == ["node"]


def test_a_node_that_comes_later_takes_part(bench: Bench):
    task_trials.write(bench.folder, rounds=5000)
    bench.cluster.start_node(0)
    starter = At(10, lambda: bench.cluster.start_node(1))
    both = UntilBoth(bench.folder / "cluster")
    result = bench.run(
        "cluster", seconds=0.03, cluster=bench.cluster.address, observers=[starter], stopping=both
    )
    assert result.ending.reason == "stopped", "before all trials were done by the first"
    assert {node.name for node in study.state(bench.folder / "cluster").nodes if node.done} == {
        machine.address for machine in bench.cluster.machines.all
    }


def test_without_nodes_the_run_ends_and_a_later_one_goes_on(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dask_executor, "PATIENCE_SECONDS", 1.0)
    task_trials.write(bench.folder)
    bench.cluster.start_node(0)
    killer = At(7, lambda: bench.cluster.kill_node(0))
    first = bench.run("cluster", seconds=0.02, cluster=bench.cluster.address, observers=[killer])
    assert first.ending.reason == "worker lost"
    assert "no node" in first.ending.text
    assert set(first.counts) == {"finished", "planned"}
    bench.cluster.start_node(1)
    assert bench.run("cluster", cluster=bench.cluster.address).counts == {"finished": 40}
    bench.run("alone", jobs=1)
    assert bench.facts("cluster") == bench.facts("alone")


def test_a_scheduler_that_ends_ends_the_run_and_what_is_recorded_stays(bench: Bench):
    task_trials.write(bench.folder)
    bench.cluster.start_node(0)
    killer = At(7, bench.cluster.scheduler.kill)
    first = bench.run("cluster", seconds=0.02, cluster=bench.cluster.address, observers=[killer])
    assert (first.ending.reason, first.counts["finished"] >= 7) == ("worker lost", True)
    assert "scheduler" in first.ending.text
    assert bench.run("cluster", jobs=2).counts == {"finished": 40}
    bench.run("alone", jobs=1)
    assert bench.facts("cluster") == bench.facts("alone")


def test_a_node_with_another_build_is_named_at_once_and_nothing_is_written(bench: Bench, tmp_path: Path):
    task_trials.write(bench.folder)
    bench.cluster.start_node(0)
    bench.cluster.start_node(1, other_build(tmp_path))
    with pytest.raises(WorkerError, match=f"{bench.cluster.machines[1].address}.*the code of trialwise"):
        bench.run("cluster", cluster=bench.cluster.address)
    assert not (bench.folder / "cluster").exists()


def test_a_node_with_another_build_that_comes_later_computes_nothing(bench: Bench, tmp_path: Path):
    task_trials.write(bench.folder, rounds=5000)
    bench.cluster.start_node(0)
    starter = At(4, lambda: bench.cluster.start_node(1, other_build(tmp_path)))
    with pytest.raises(WorkerError, match="the code of trialwise"):
        bench.run("cluster", seconds=0.02, cluster=bench.cluster.address, observers=[starter])
    assert {node.name for node in study.state(bench.folder / "cluster").nodes if node.done} == {
        bench.cluster.machines[0].address
    }


def test_a_cluster_that_is_not_there_or_has_no_node_is_said_at_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("trialwise.execution.tasks.clusters.NODE_SECONDS", 0.5)
    task_trials.write(bench.folder)
    with monkeypatch.context() as briefly:
        briefly.setattr("trialwise.execution.tasks.clusters.CONNECT_SECONDS", 1.0)
        with pytest.raises(WorkerError, match="no scheduler of Dask answers"):
            bench.run("cluster", cluster="tcp://127.0.0.1:9")
    with pytest.raises(WorkerError, match="has no node"):
        bench.run("cluster", cluster=bench.cluster.address)
    assert not (bench.folder / "cluster").exists()


def test_ssh_starts_a_cluster_and_leaves_nothing_behind(
    tmp_path: Path, two_machines: Machines, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TRIALWISE_SSH_CONFIG", str(two_machines.configuration))
    monkeypatch.setattr(sessions, "kind_of", lambda _: DrawnKind())
    task_trials.write(tmp_path)
    for machine in two_machines.all:
        machine.run("ip", "route", "add", "default", "via", machine.ours)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={environment()["PYTHONPATH"]} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("TRIALWISE_CLUSTER_PYTHON", str(python))
    result = study.run(tmp_path / "experiment.toml", tmp_path / "cluster", cluster="ssh:machine1,machine2")
    assert result.counts == {"finished": 40}
    study.run(tmp_path / "experiment.toml", tmp_path / "alone", jobs=1)
    assert facts(tmp_path / "cluster") == facts(tmp_path / "alone")
    wait_until(lambda: not any(processes_of(machine) for machine in two_machines.all))


@pytest.fixture
def over_ssh(tmp_path: Path, two_machines: Machines, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    """A scheduler and the nodes of one machine, as `--cluster ssh:machine1` starts them."""
    monkeypatch.setenv("TRIALWISE_SSH_CONFIG", str(two_machines.configuration))
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={environment()["PYTHONPATH"]} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("TRIALWISE_CLUSTER_PYTHON", str(python))
    two_machines.all[0].run("ip", "route", "add", "default", "via", two_machines.all[0].ours)
    with started_over_ssh("machine1") as opened:
        yield opened


def test_ssh_lets_nobody_in_who_has_no_certificate_of_this_run(over_ssh: Opened):
    address, security = over_ssh
    with Client(address, security=security, timeout=SECONDS, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=SECONDS)
        nodes = list(client.scheduler_info()["workers"])
        assert client.run_on_scheduler(os.getuid) == os.getuid()
        assert nodes
        for open_door in (address, *nodes):
            assert open_door.startswith("tls://")
            sync_ping(open_door, security, SECONDS)
            with pytest.raises(OSError, match=r"comm|closed|[Tt]imed out"):
                sync_ping(open_door.replace("tls://", "tcp://"), None)
            with pytest.raises(OSError, match=r"comm|certificate|closed|[Tt]imed out"):
                sync_ping(open_door, Security.temporary())


def test_what_ssh_starts_shows_its_key_to_nobody(over_ssh: Opened):
    """No word of a command is a key, which every user may read; the pages of scheduler and nodes are none."""
    _, security = over_ssh
    key = security.tls_worker_key.splitlines()[1]
    commands = [
        words.replace(b"\0", b" ").decode(errors="replace")
        for file in Path("/proc").glob("[0-9]*/cmdline")
        if (words := read_if_there(file))
    ]
    assert any("distributed.cli.dask_scheduler" in words for words in commands)
    assert any("distributed.cli.dask_worker" in words for words in commands)
    assert not any(key in words for words in commands)


def read_if_there(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def sync_ping(address: str, security: Security | None, seconds: float = 3) -> None:
    """Ask a door of Dask for its name, with these certificates or none; raise where it does not answer for so long."""

    async def ask() -> None:
        arguments = (security or Security()).get_connection_args("client")
        comm = await connect(address, timeout=seconds, **arguments)
        try:
            await comm.write({"op": "identity", "reply": True})
            await comm.read()
        finally:
            comm.abort()

    asyncio.run(ask())


def other_build(folder: Path) -> Path:
    """A copy of the package that differs by one comment; returns the folder to find it in."""
    package = folder / "other" / "trialwise"
    shutil.copytree(SOURCE / "trialwise", package, ignore=shutil.ignore_patterns("__pycache__"))
    with (package / "trials" / "base.py").open("a") as file:
        file.write("# changed\n")
    return package.parent


def test_what_ssh_starts_listens_at_its_encrypted_ports_alone(over_ssh: Opened, two_machines: Machines):
    """Scheduler, workers and nannies: they have no port but those of which each asks for a certificate."""
    address, security = over_ssh
    with Client(address, security=security, timeout=SECONDS, set_as_default=False) as client:
        client.wait_for_workers(len(os.sched_getaffinity(0)), timeout=SECONDS)
        nodes = client.scheduler_info()["workers"]
    machine = two_machines.all[0]
    here = {port for pid in children_of(os.getpid()) for port in listening(["ss", "-Hltnp"], f"pid={pid},")}
    assert here == {urlsplit(address).port}
    told = machine.run("ss", "-Hltn").splitlines()
    there = {int(line.split()[3].rpartition(":")[2]) for line in told} - {22}
    doors = {urlsplit(door).port for each, known in nodes.items() for door in (each, known["nanny"])}
    assert there == doors


def children_of(process: int) -> list[int]:
    return [
        int(child)
        for task in Path(f"/proc/{process}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]


def listening(words: list[str], who: str) -> set[int]:
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return {int(line.split()[3].rpartition(":")[2]) for line in told.splitlines() if who in line}
