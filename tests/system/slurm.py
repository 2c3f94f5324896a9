"""SLURM of a test's own: its real controller and one real node on this machine, on ports and in a folder of their own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.system.nodes import wait_until

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo")
CORES = 4
"""What the node says it has, whatever there is: jobs of tests wait for each other only where a test wants them to."""
_SETTINGS = """
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={controller}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
MailProg=/bin/true
KillWait=1
ReturnToService=2
NodeName=node NodeHostname={host} NodeAddr=127.0.0.1 Port={node} CPUs={cores} RealMemory=8000
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def refusal() -> str | None:
    """Why SLURM cannot be started here."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    if missing := [name for name in PROGRAMS if shutil.which(name, path=path) is None]:
        return f"SLURM is not installed: no {missing[0]} (Debian: slurmctld, slurmd and slurm-client)"
    return "a node of SLURM takes root" if os.geteuid() != 0 else None


class Slurm:
    """A running SLURM; `environment` leads its commands to it."""

    def __init__(self, folder: Path) -> None:
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}

    def jobs(self, *states: str) -> list[str]:
        """The numbers of the jobs in its queue, those in these states where some are given."""
        chosen = [f"--states={','.join(states)}"] if states else []
        return self.ask("squeue", "--noheader", "--format=%A", "--sort=i", *chosen).split()

    def ask(self, *words: str) -> str:
        """What one of its commands prints."""
        env = os.environ | self.environment
        return subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout


@contextmanager
def slurm(folder: Path) -> Iterator[Slurm]:
    """A running one with a node that is idle; nothing of it is left, its jobs neither."""
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    controller, node = _free_ports(2)
    host = socket.gethostname().partition(".")[0]
    (folder / "slurm.conf").write_text(
        _SETTINGS.format(folder=folder, host=host, controller=controller, node=node, cores=CORES)
    )
    made = Slurm(folder)
    with ExitStack() as started:
        for words in (["slurmctld", "-D"], ["slurmd", "-D", "-N", "node"]):
            log = started.enter_context((folder / f"{words[0]}.log").open("wb"))
            process = subprocess.Popen(
                [shutil.which(words[0], path="/usr/sbin:/usr/bin") or words[0], *words[1:]],
                env=os.environ | made.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
            started.callback(_end, process)
            if words[0] == "slurmctld":
                wait_until(lambda: _answers(made))
        wait_until(lambda: made.ask("sinfo", "--noheader", "--format=%t").strip() == "idle")
        started.callback(_cancel_all, made)
        yield made


def _free_ports(number: int) -> list[int]:
    with ExitStack() as taken:
        sockets = [taken.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [each.getsockname()[1] for each in sockets]


def _answers(made: Slurm) -> bool:
    try:
        return "UP" in made.ask("scontrol", "ping")
    except subprocess.CalledProcessError:
        return False


def _cancel_all(made: Slurm) -> None:
    if jobs := made.jobs():
        made.ask("scancel", *jobs)
    wait_until(lambda: not made.jobs())


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
