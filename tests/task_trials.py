"""A kind of independent trial for tests: numbers that follow from the seed and the treatment, and mishaps on demand.

A file in the folder `mishaps` has the process that computes trial N end, once for each byte of the file: `kill-N` while it computes,
`half-N` in the middle of the result, and `orphan-N` while a process that it has forked lives on, whose number stands in `orphans`.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trialwise.experiment.model import Experiment, Level
from trialwise.measurement.samples import Samples
from trialwise.store.ledger import Ledger
from trialwise.store.samples import read_samples
from trialwise.trials.base import Task, TrialOutcome, TrialRequest

FILE = """
[experiment]
name = "tasks"
seed = 7
[factors]
scale = [1, 2]
[trial]
kind = "python"
call = "nothing:nothing"
[metrics.mean]
value = "mean"
unit = "s"
{metric}
[metrics.flows]
value = "flows"
measure = "p90"
unit = "s"
[design]
series = 1
rounds = {rounds}
{design}
"""


@dataclass(frozen=True)
class DrawnKind:
    """Draws numbers; a trial takes `seconds` and so many turns of a `loop` of Python, and has `size` flows."""

    seconds: float = 0.0
    size: int = 5
    loop: int = 0
    mishaps: Path | None = None

    def check(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
        """Anything can be drawn."""

    def programs(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> Iterator[Path]:
        yield from ()

    def attachments(
        self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]
    ) -> Iterator[tuple[str, Path]]:
        yield from ()

    def execute(self, request: TrialRequest) -> TrialOutcome:
        return self.compute(request)

    def compute(self, task: Task) -> TrialOutcome:
        started = time.time()
        self._have_mishap(task.number)
        numbers = np.random.Generator(np.random.PCG64DXSM(task.seed)).lognormal(0.0, 0.3, self.size)
        numbers *= float(task.factors["scale"])
        time.sleep(self.seconds)
        for _ in range(self.loop):
            pass
        samples = {"return:mean": Samples(numbers[:1]), "return:flows": Samples(numbers)}
        return TrialOutcome("finished", started, time.time(), samples=samples)

    def _have_mishap(self, number: int) -> None:
        if self.mishaps is None:
            return
        if (self.mishaps / f"raise-{number}").exists():
            raise ValueError("planted")
        if (self.mishaps / f"exit-{number}").exists():
            raise SystemExit("planted")
        if self._is_due(f"kill-{number}"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self._is_due(f"half-{number}"):
            socket.socket.sendall = _send_half  # type: ignore[method-assign] of this process
        if self._is_due(f"orphan-{number}"):
            _leave_orphan(self.mishaps / "orphans")

    def _is_due(self, name: str) -> bool:
        """Take a byte of a file."""
        file = self.mishaps / name if self.mishaps else None
        if file is None or not file.exists() or not (left := file.read_bytes()):
            return False
        file.write_bytes(left[1:])
        return True


def _send_half(to: socket.socket, message: bytes) -> None:
    """Send a length as a whole, and of a message so much that its rest is missed; then die."""
    to.send(message if len(message) == 8 else message[: len(message) // 2])
    if len(message) != 8:
        os.kill(os.getpid(), signal.SIGKILL)


def _leave_orphan(numbers: Path) -> None:
    """Die, and leave a process that has all of our files open."""
    if child := os.fork():
        with numbers.open("a") as file:
            file.write(f"{child}\n")
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(600)
    os._exit(0)


def write(folder: Path, *, rounds: int = 20, stop: str | None = None, design: str = "") -> Path:
    """Write an experiment whose metric `mean` is to be known to `stop`, where that is given."""
    metric = f'stop = {{ precision = "{stop}" }}' if stop else ""
    file = folder / "experiment.toml"
    file.write_text(FILE.format(metric=metric, rounds=rounds, design=design))
    return file


def facts(directory: Path) -> list[tuple[object, ...]]:
    """What trials gave, in plan order, without anything that may differ from run to run: times, who computed, and what it cost."""
    ledger = Ledger.open(directory / "ledger.sqlite", read_only=True)
    try:
        rows, values = ledger.trials(), ledger.values()
    finally:
        ledger.close()
    trials = [
        (row.number, row.attempt, row.status, row.treatment, row.seed, row.round, row.position, row.reason)
        for row in rows
    ]
    given = (value for value in values if not value[2].startswith("instrument:"))
    return [*trials, *(_value(directory, *value) for value in given)]


def children() -> list[int]:
    """The processes of an executor of this process: forks of multiprocessing's server, whose command line they have."""
    server = [pid for pid in _pids() if _parent(pid) == os.getpid() and b"forkserver" in _command(pid)]
    return [pid for pid in _pids() if _parent(pid) in server]


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return -1


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _value(
    directory: Path,
    number: int,
    attempt: int,
    source: str,
    value: float | None,
    samples: int,
    file: str | None,
) -> tuple[object, ...]:
    if file is None:
        return number, attempt, source, value, samples
    numbers, times = read_samples(directory / file, number, attempt, source)
    return number, attempt, source, numbers.tobytes(), None if times is None else times.tobytes(), samples
