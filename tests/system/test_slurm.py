"""A cluster by SLURM, a real one: its jobs compute, the record is that of one process, and lost jobs lose nothing."""

from __future__ import annotations

import os
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.system.nodes import SECONDS, environment, wait_until
from tests.system.slurm import CORES, Slurm, refusal, slurm

import task_trials
from simulation_directory import simulation_text
from task_trials import DrawnKind, facts
from trialwise import study
from trialwise.errors import WorkerError
from trialwise.execution.events import NodesAwaited, RunEvent, TrialEnded, WorkerNotice
from trialwise.study import sessions

pytestmark = [
    pytest.mark.skipif(find_spec("dask_jobqueue") is None, reason="needs dask-jobqueue"),
    pytest.mark.skipif(refusal() is not None, reason=str(refusal())),
]
DASHBOARD = 8787
"""The usual port of Dask's pages."""
PLAN = {"rounds": 300, "stop": "20%"}
JOB = {"cores": 1, "processes": 1, "memory": "1GB", "interface": "lo", "python": sys.executable}


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with slurm(tmp_path_factory.mktemp("slurm")) as made:
        yield made


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[object, ...]]:
    """The record of one process, of trials that take no time."""
    folder = tmp_path_factory.mktemp("alone")
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(sessions, "kind_of", lambda _: DrawnKind())
        study.run(task_trials.write(folder, **PLAN), folder / "alone", jobs=1)
    return facts(folder / "alone")


@dataclass
class Bench:
    """An experiment whose trials take some time, and the SLURM that its jobs go to."""

    folder: Path
    slurm: Slurm

    def run(self, name: str, **settings) -> study.RunResult:
        return study.run(self.folder / "experiment.toml", self.folder / name, **settings)

    def facts(self, name: str) -> list[tuple[object, ...]]:
        return facts(self.folder / name)


@contextmanager
def configured(**settings) -> Iterator[None]:
    """What a job asks for, as `jobqueue.yaml` says it."""
    import_module("dask_jobqueue")  # it adds its own defaults when it is imported
    with import_module("dask").config.set(
        {f"jobqueue.slurm.{key.replace('_', '-')}": value for key, value in (JOB | settings).items()}
    ):
        yield


@pytest.fixture
def bench(tmp_path: Path, controller: Slurm, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    for name, value in (controller.environment | {"PYTHONPATH": environment()["PYTHONPATH"]}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)  # where jobs leave what they print
    monkeypatch.setattr(sessions, "kind_of", lambda _: DrawnKind(seconds=0.04))
    monkeypatch.setattr("trialwise.execution.tasks.slurm.QUEUE_SECONDS", 1.0)
    task_trials.write(tmp_path, **PLAN)
    with configured():
        yield Bench(tmp_path, controller)
    wait_until(lambda: not controller.jobs())


class Watch:
    """Acts once, when a trial is recorded, and keeps what is told of nodes."""

    def __init__(self, number: int = 0, act: Callable[[], object] = lambda: None) -> None:
        self.number = number
        self.act = act
        self.told: list[str] = []

    def notice(self, event: RunEvent) -> None:
        if isinstance(event, TrialEnded) and event.row.number == self.number:
            self.act()
        elif isinstance(event, NodesAwaited):
            self.told.append("awaited")
        elif isinstance(event, WorkerNotice):
            self.told.append(event.text)


def test_jobs_compute_what_one_process_does_and_are_gone_at_the_end(
    bench: Bench, alone: list[tuple[object, ...]]
):
    watch = Watch()
    with ExitStack() as taken:
        with suppress(OSError):  # or somebody has it already
            taken.enter_context(socket.create_server(("", DASHBOARD)))
        result = bench.run("cluster", cluster="slurm", jobs=2, observers=[watch])
    assert result.ending.reason == "stopped"
    assert watch.told[0] == "awaited"
    assert watch.told[1].startswith("has come")
    assert bench.facts("cluster") == alone
    assert not list(bench.folder.rglob(".trialwise-certificates-*")), "the key of the run went with it"


def test_scheduler_and_jobs_listen_at_their_encrypted_ports_alone(bench: Bench):
    before, ports = listening(bench.folder), set[int]()
    doors: set[int] = set()

    def look() -> None:
        wait_until(lambda: len(listening(bench.folder) - before) >= 3)
        ports.update(listening(bench.folder) - before)
        doors.update(port for port in ports if speaks_tls(port))

    bench.run("cluster", cluster="slurm", jobs=1, observers=[Watch(5, look)])
    assert len(ports) >= 3, "a scheduler, a nanny and a worker"
    assert ports == doors


def listening(folder: Path) -> set[int]:
    """The ports at which processes listen that work in a folder, as this one and its jobs do; others have ports of their own."""
    told = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
    return {
        int(line.split()[3].rpartition(":")[2])
        for line in told.splitlines()
        if any(works_in(process, folder) for process in re.findall(r"\bpid=(\d+)", line))
    }


def works_in(process: str, folder: Path) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/cwd").readlink() == folder
    return False


def speaks_tls(port: int) -> bool:
    """Whether a port of this machine answers a client's hello of TLS with one of its own (RFC 8446, 4.1.3)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
        try:
            context.wrap_socket(connection).close()
        except ssl.SSLError as error:
            return "CERTIFICATE" in str(error) or "ALERT" in str(error)
        except OSError:
            return False
    return True


def test_a_job_that_ends_in_the_middle_loses_nothing(bench: Bench, alone: list[tuple[object, ...]]):
    def cancel_one() -> None:
        wait_until(lambda: len(bench.slurm.jobs("RUNNING")) == 2)
        bench.slurm.ask("scancel", bench.slurm.jobs()[0])

    result = bench.run("cluster", cluster="slurm", jobs=2, observers=[Watch(5, cancel_one)])
    assert result.ending.reason == "stopped"
    assert bench.facts("cluster") == alone


def test_a_run_whose_last_job_has_ended_says_so_and_goes_on_later(
    bench: Bench, alone: list[tuple[object, ...]]
):
    def cancel_all() -> None:
        bench.slurm.ask("scancel", *bench.slurm.jobs())

    lost = bench.run("cluster", cluster="slurm", observers=[Watch(5, cancel_all)])
    assert lost.ending.reason == "worker lost"
    assert "SLURM has no job of this run any more (job " in lost.ending.text
    assert "slurm-" in lost.ending.text
    assert lost.counts["finished"] >= 5
    assert bench.run("cluster", cluster="slurm").ending.reason == "stopped"
    assert bench.facts("cluster") == alone


def test_jobs_that_cannot_begin_end_the_run(bench: Bench):
    with configured(python="/nowhere/python"):
        lost = bench.run("cluster", cluster="slurm", jobs=2)
    assert lost.ending.reason == "worker lost"
    assert "SLURM has no job of this run any more (jobs " in lost.ending.text
    assert lost.counts == {"planned": 600}


def test_jobs_that_wait_in_the_queue_are_waited_for(bench: Bench):
    bench.slurm.ask("sbatch", f"--ntasks={CORES}", "--output=/dev/null", "--wrap=sleep 600")
    wait_until(lambda: bench.slurm.jobs("RUNNING"))
    (first,) = bench.slurm.jobs()

    def give_way() -> None:
        wait_until(lambda: bench.slurm.jobs("PENDING"))
        time.sleep(3)  # in which the queue is asked, more than once
        bench.slurm.ask("scancel", first)

    class Busy(Watch):
        def notice(self, event: RunEvent) -> None:
            super().notice(event)
            if isinstance(event, NodesAwaited):
                threading.Thread(target=give_way).start()

    assert bench.run("cluster", cluster="slurm", observers=[Busy()]).ending.reason == "stopped"


def test_a_job_that_slurm_does_not_take_is_refused_with_its_words(bench: Bench):
    with (
        configured(queue="nowhere"),
        pytest.raises(WorkerError, match=r"sbatch takes no such job: .*Invalid partition"),
    ):
        bench.run("cluster", cluster="slurm")
    assert not (bench.folder / "cluster").exists()


def command_line(bench: Bench, **environment: str) -> subprocess.CompletedProcess[str]:
    """A simulation by two jobs that `jobqueue.yaml` describes, as from a shell."""
    (bench.folder / "jobqueue.yaml").write_text(
        f"jobqueue:\n  slurm:\n    cores: 1\n    memory: 1GB\n    interface: lo\n    python: {sys.executable}\n"
        f"    log-directory: {bench.folder}/logs\n"
    )
    (bench.folder / "simulated.toml").write_text(
        simulation_text(
            '[metrics.fct]\nquantity = "fct"\nmeasure = "mean"\n[design]\nseries = 1\nrounds = 20\n',
            workload='sizes = "websearch", load = "30%", duration = "1ms"',
            topology="dumbbell:4x4,100Gbit/s,1us",
        )
    )
    program = Path(sys.executable).parent / "trialwise"
    return subprocess.run(
        [program, "run", "simulated.toml", "--cluster", "slurm", "--jobs", "2", "-d", "by-jobs"],
        cwd=bench.folder, env=os.environ | {"DASK_CONFIG": str(bench.folder)} | environment,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_the_command_has_simulations_computed_by_jobs_as_jobqueue_yaml_describes_them(bench: Bench):
    done = command_line(bench)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "no node is there: waiting for one" in done.stderr
    assert "has come, with " in done.stderr
    assert [path.suffix for path in (bench.folder / "logs").iterdir()].count(".out") == 2


def test_the_command_says_that_no_job_is_left_and_what_to_look_at(bench: Bench):
    done = command_line(bench, DASK_JOBQUEUE__SLURM__PYTHON="/nowhere/python")
    assert done.returncode == 6
    assert re.search(
        r"^worker lost: no node is there, .*\(40 planned\)\n    try: see why", done.stderr, re.MULTILINE
    )
