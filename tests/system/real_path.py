"""A real path for tests: this machine and others with sshd, an experiment over the path between them, and what is left of it."""

import contextlib
import fcntl
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tests.system.worker_machines import Machines

from trialwise.measurement.packets import read_packets
from trialwise.store.ledger import Ledger
from trialwise.store.samples import read_samples

EXPERIMENT = """[experiment]
name = "real"
seed = 1
[trial]
kind = "path"
runtime = "{runtime}"
path = {{ {ends}, quiet = "{quiet}"{more} }}
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
FROM_HERE = 'from = "local", to = "ssh://machine1"'
BETWEEN_BOTH = 'from = "ssh://machine1", to = "ssh://machine2"'
TOWARDS_HERE = 'from = "ssh://machine1", to = "local"'
TRIALWISE = [str(Path(sys.executable).with_name("trialwise"))]


@contextlib.contextmanager
def ports_of_this_machine() -> Iterator[None]:
    """Wait until no other test has this machine as an end: both would listen on the same ports."""
    with (Path(tempfile.gettempdir()) / "trialwise-tests-ports.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


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
        ends=FROM_HERE,
        more="",
        trial='scheme = "udp-copa"\nload = "rate:4Mbit/s"',
        rounds=1,
    ) -> None:
        text = EXPERIMENT.format(
            runtime=runtime,
            quiet=quiet,
            ends=ends,
            more=more,
            trial=trial,
            folder=self.folder / "home",
            rounds=rounds,
        )
        self.toml.write_text(text)

    @property
    def toml(self) -> Path:
        return self.folder / "real.toml"

    @property
    def words(self) -> list[str]:
        return [*TRIALWISE, "run", str(self.toml), "--directory", str(self.results)]

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        with ports_of_this_machine():
            return subprocess.run(
                [*self.words, *options],
                env=self.environment,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
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

    addresses = "192.168.77.1", "192.168.77.2"

    def link(self) -> None:
        """Connect the first two machines, which have these addresses."""
        first, second = self.machines.all[:2]
        words = ["link", "add", "between", "type", "veth", "peer", "name", "between", "netns"]
        first.run("ip", *words, str(second.holder.pid))
        for machine, address in zip((first, second), self.addresses, strict=True):
            machine.run("ip", "address", "add", f"{address}/24", "dev", "between")
            machine.run("ip", "link", "set", "between", "up")

    def run_again(self) -> None:
        """Run what has not finished; it has to."""
        done = subprocess.run(
            [*self.words, "--again"],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def restart(self, *, environment: str = "", command: str = "") -> None:
        """Let the machine's connections have another environment, or run another command, from now on."""
        self.machine.stop()
        self.machine.environment, self.machine.command = environment, command
        self.machine.start()

    def begin(self, *more: str) -> "subprocess.Popen[str]":
        """Start a run and wait until its first flow runs at the machine."""
        run = subprocess.Popen(
            [*self.words, *more],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        deadline = time.monotonic() + 60
        while not self.machine.processes(" 5201") and run.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        return run

    def packets(self, trial: int = 1):
        """The packets of the last attempt of a trial."""
        return read_packets(max(self.results.glob(f"samples/{trial:06}-*-packets.parquet")))

    def told(self, name: str, trial: int = 1) -> float:
        """What the ends told of themselves beside the metrics."""
        with contextlib.closing(Ledger.open(self.results / "ledger.sqlite", read_only=True)) as ledger:
            values = ledger.values([f"ends:{name}"])
        return next(value for number, _, _, value, *_ in values if number == trial and value is not None)

    def samples(self, quantity: str, trial: int = 1):
        """The values of a quantity of a trial."""
        with contextlib.closing(Ledger.open(self.results / "ledger.sqlite", read_only=True)) as ledger:
            (row,) = (each for each in ledger.values() if each[0] == trial and quantity in each[2])
        _, attempt, source, value, _, file = row
        if file is None:
            return np.array([value])
        return read_samples(self.results / file, trial, attempt, source)[0]

    def reason(self, trial: int = 1) -> str:
        """Why a trial counts for nothing; empty if it counts."""
        with contextlib.closing(Ledger.open(self.results / "ledger.sqlite", read_only=True)) as ledger:
            return next(row.reason for row in ledger.trials() if row.number == trial) or ""

    def finished(self) -> list[int]:
        """The trials that have finished; none before there are any."""
        if not (self.results / "ledger.sqlite").exists():
            return []
        with contextlib.closing(Ledger.open(self.results / "ledger.sqlite", read_only=True)) as ledger:
            return [row.number for row in ledger.trials("finished")]

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


def assert_same(found, log, way, port, flow):
    """Every packet of a flow that one log has the other has too, with its size, its fate, and its delay.

    The last value is where groups of packets begin that the other log has arrived at one instant: there they stand in the order in
    which they left, so that single packets of a group cannot be compared.
    """
    ours = found.of(("uplink", "downlink")[way], flow)
    theirs = log.of(("uplink", "downlink")[way], port)
    ours, theirs = (
        type(each)(
            *(getattr(each, name)[np.argsort(each.arrival, kind="stable")] for name in type(each).__slots__)
        )
        for each in (ours, theirs)
    )
    assert len(ours) == len(theirs) > 100
    begins = np.diff(theirs.arrival, prepend=-1.0) > 1e-6
    groups, group = np.flatnonzero(begins), np.cumsum(begins)
    sizes = [each.size[np.lexsort((each.size, group))] for each in (ours, theirs)]
    assert np.array_equal(sizes[0], sizes[1])
    kept = [np.add.reduceat(each.delivered.astype(int), groups) for each in (ours, theirs)]
    assert np.array_equal(kept[0], kept[1])
    return ours, theirs, groups
