"""Traffic of iperf3, or of Trialwise's own sender, over an emulated path, and what both and the packet log say of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialwise import _linux
from trialwise.measurement.packets import read_packet_log
from trialwise.measurement.path_metrics import throughput, throughput_series

Pairs = dict[str, str]
PORT = "5201"
LATENESS_SECONDS = 1e-3
"""Above this, at the 99th percentile, the emulator says that it was itself the bottleneck."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """What one transfer came to.

    Attributes
    ----------
    goodput
        Mbit/s of payload, as iperf3's receiver counts it from its start to its end; None for Trialwise's own sender.
    wire
        Mbit/s of IP packets delivered in the steady part: from `settled` seconds after the first data to the last second.
    course
        The same for each five seconds from the first data.
    recorded
        Packets of more than 1000 bytes on the uplink that the packet log has, delivered or not.
    said
        What iperf3 printed as JSON, its part `end`.
    report
        What the emulator says of itself.
    """

    goodput: float | None
    wire: float
    course: tuple[float, ...]
    recorded: int
    said: dict[str, Any]
    report: _linux.PathReport

    @property
    def unlogged(self) -> int:
        """Packets lost without a record."""
        return self.report.uplink.unlogged + self.report.downlink.unlogged


def iperf(uplink: Pairs, downlink: Pairs, words: str, *, seconds: int, seed: int, settled: float) -> Transfer:
    """One run of iperf3 with these options over a path of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = opened(uplink, downlink, folder, seed)
        try:
            with _receiver(
                path, ["iperf3", "--server", "--one-off", "--forceflush", "--port", PORT], "listening"
            ):
                peer = _linux.Path.address("receiver")
                client = ["iperf3", "--client", peer, "--port", PORT, "--time", str(seconds), "--json"]
                done = _finished([*path.prefix("sender"), *client, *words.split()], seconds)
        finally:
            report = path.close()
        said = json.loads(done)
        if "error" in said:
            raise RuntimeError(f"iperf3 {words}: {said['error']}")
        end = said["end"]
        received = end["sum_received"] if "sum_received" in end else end["sum"]
        wire = _wire(Path(folder) / "log", settled, seconds)
        return Transfer(received["bits_per_second"] / 1e6, *wire, end, report)


def own_sender(
    uplink: Pairs, downlink: Pairs, algorithm: str, *, seconds: int, seed: int, settled: float
) -> Transfer:
    """One run of the sender of Trialwise's own TCP schemes over a path of its own."""
    flow = [sys.executable, "-m", "trialwise.schemes.flow", "tcp"]
    with tempfile.TemporaryDirectory() as folder:
        path = opened(uplink, downlink, folder, seed)
        try:
            with _receiver(path, [*flow, "receive", "--port", PORT], "ready"):
                peer = _linux.Path.address("receiver")
                words = [
                    "send",
                    peer,
                    PORT,
                    "--congestion",
                    algorithm,
                    "--time",
                    f"{seconds}s",
                    "--load",
                    "bulk",
                ]
                report_words = ["--report", f"{folder}/report"]
                _finished([*path.prefix("sender"), *flow, *words, *report_words], seconds)
        finally:
            report = path.close()
        return Transfer(None, *_wire(Path(folder) / "log", settled, seconds), {}, report)


def opened(uplink: Pairs, downlink: Pairs, folder: str, seed: int) -> _linux.Path:
    """A path with its packet log in the folder."""
    return _linux.Path(
        [list(uplink.items())],
        [list(downlink.items())],
        directory=folder,
        seed=seed,
        log=f"{folder}/log",
        bound=LATENESS_SECONDS,
    )


@contextmanager
def _receiver(path: _linux.Path, words: Sequence[str], ready: str) -> Iterator[None]:
    command = [*path.prefix("receiver"), *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        if not any(ready in line for line in process.stdout):
            assert process.stderr is not None
            raise RuntimeError(f"{words[0]} is not ready: {process.stderr.read()}")
        yield
    finally:
        process.terminate()
        process.communicate()


def _finished(command: Sequence[str | bytes], seconds: int) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds + 30)
    if done.returncode and not done.stdout:
        raise RuntimeError(f"{command}: {done.stderr}")
    return done.stdout


def _wire(log: Path, settled: float, seconds: int) -> tuple[float, tuple[float, ...], int]:
    """Mbit/s of IP packets that the uplink delivered, in the steady part and in each five seconds; its data packets."""
    packets = read_packet_log(log).of("uplink")
    data = packets.size > 1000
    first = float(packets.time[data].min())
    _, course = throughput_series(packets, 5, first, first + seconds)
    steady = throughput(packets, first + settled, first + seconds - 1)
    return steady, tuple(course.tolist()), int(data.sum())


def quiet(below: float = 3.0, patience: float = 5.0) -> float:
    """The machine's load average over a minute, after waiting a while for it to be low."""
    begun = time.monotonic()
    while (load := os.getloadavg()[0]) > below and time.monotonic() - begun < patience:
        time.sleep(2)
    return round(load, 2)
