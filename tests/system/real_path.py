"""A real path for tests: this machine and others with sshd, an experiment over the path between them, and what is left of it."""

import os
import subprocess
import sys
from pathlib import Path

from tests.system.worker_machines import Machines

from trialwise.measurement.packets import read_packets
from trialwise.store.ledger import Ledger

EXPERIMENT = """[experiment]
name = "real"
seed = 1
[trial]
kind = "path"
runtime = "{runtime}"
path = {{ from = "local", to = "ssh://machine1", quiet = "{quiet}"{more} }}
{trial}
[workers]
folder = "{folder}"
heartbeat = "1s"
[metrics.throughput]
measure = "mean"
[metrics.queueing_delay]
measure = "p95"
[metrics.loss]
[design]
series = 1
rounds = {rounds}
"""
TRIALWISE = [str(Path(sys.executable).with_name("trialwise"))]


class RealPath:
    """A machine with sshd, and the experiment of a test whose other end is this machine or the inside of an emulated path."""

    def __init__(self, folder: Path, machines: int = 1) -> None:
        self.folder = folder
        (folder / "machines").mkdir()
        self.machines = Machines(folder / "machines", machines)
        self.machine = self.machines[0]
        self.environment = dict(os.environ, TRIALWISE_SSH_CONFIG=str(self.machines.configuration))
        self.results = folder / "results"
        self.log = folder / "emulator.log"

    def write(
        self,
        *,
        runtime="3s",
        quiet="1s",
        more="",
        trial='scheme = "udp-copa"\nload = "rate:4Mbit/s"',
        rounds=1,
    ) -> None:
        text = EXPERIMENT.format(
            runtime=runtime, quiet=quiet, more=more, trial=trial, folder=self.folder / "home", rounds=rounds
        )
        (self.folder / "real.toml").write_text(text)

    @property
    def words(self) -> list[str]:
        return [*TRIALWISE, "run", str(self.folder / "real.toml"), "--directory", str(self.results)]

    def run(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words, env=self.environment, capture_output=True, text=True, timeout=300, check=False
        )

    def run_inside(self, *path: str) -> subprocess.CompletedProcess[str]:
        """Run with an emulated path between this end and the machine's sshd; the path is made on the machine."""
        self.machine.stop()
        self.machine.listens = "0.0.0.0"  # noqa: S104 of a namespace
        self.machine.start()
        configuration = self.machines.configuration
        peer = f"sed -i 's/HostName .*/HostName '$TRIALWISE_PEER/ {configuration}"
        known = f"sed -i 's/^[0-9.]*/'$TRIALWISE_PEER/ {self.machines.folder}/known_hosts"
        command = [
            *TRIALWISE,
            "path",
            "--log",
            str(self.log),
            *path,
            "--",
            "sh",
            "-ec",
            f'{peer}\n{known}\nexec "$@"',
            "sh",
        ]
        inside = ["nsenter", "-t", str(self.machine.holder.pid), "-n", "-m"]
        return subprocess.run(
            [*inside, *command, *self.words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def packets(self, trial: int = 1):
        (file,) = self.results.glob(f"samples/{trial:06}-*-packets.parquet")
        return read_packets(file)

    def reason(self) -> str:
        ledger = Ledger.open(self.results / "ledger.sqlite", read_only=True)
        try:
            return next(iter(ledger.trials())).reason or ""
        finally:
            ledger.close()

    def left(self) -> list[int]:
        """Processes that have anything to do with the ends."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    words = (entry / "cmdline").read_bytes()
                except OSError:
                    continue
                if str(self.folder).encode() in words and b"sshd" not in words:
                    found.append(int(entry.name))
        return found
