"""Experiments over emulated paths, with a scheme of the tests' own: a plain TCP sender and receiver in Python."""

from __future__ import annotations

import functools
from pathlib import Path

import polars as pl
import pytest
from tests.system.conftest import Bench

from trialwise import _linux
from trialwise.store.ledger import Ledger

SENDER = """
import socket, sys
connection = socket.socket()
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[3].encode())
connection.connect((sys.argv[1], int(sys.argv[2])))
while True:
    connection.sendall(bytes(65536))
"""
RECEIVER = """
import socket, sys
listener = socket.create_server(("", int(sys.argv[1])))
print("ready", flush=True)
while True:
    connection, _ = listener.accept()
    while connection.recv(1 << 20):
        pass
"""
SCHEME = """
title = "TCP {algorithm} of the tests"
[receiver]
command = "python3 {folder}/receiver.py {{port}}"
ready = {{ line = "ready" }}
[sender]
command = "python3 {folder}/sender.py {{peer}} {{port}} {algorithm}"
"""
PATH = '{ rate = "12Mbit/s", delay = "10ms", queue = "droptail:packets=40" }'


@functools.cache
def refusal() -> str | None:
    """Why no path can be made here."""
    try:
        _linux.Path([[("delay", "1ms")]], [[("delay", "1ms")]], directory=".", seed=1).close()
    except OSError as error:
        return str(error)
    return None


needs_paths = pytest.mark.skipif(refusal() is not None, reason=str(refusal()))


def write_schemes(folder: Path) -> None:
    """The schemes `plain-cubic` and `plain-reno` in a folder."""
    folder.mkdir(exist_ok=True)
    (folder / "sender.py").write_text(SENDER)
    (folder / "receiver.py").write_text(RECEIVER)
    for algorithm in ("cubic", "reno"):
        scheme = SCHEME.format(algorithm=algorithm, folder=folder)
        (folder / f"plain-{algorithm}.toml").write_text(scheme)


def write_path_experiment(
    bench: Bench,
    *,
    trial: str = 'scheme = "plain-cubic"',
    path: str = PATH,
    runtime: str = "2s",
    metrics: str = "[metrics.throughput]\n[metrics.delay]\n",
    rest: str = "",
    rounds: int = 1,
    lateness: str = "50ms",
) -> Bench:
    """An experiment of one series with the schemes of the tests; other tests may keep the machine busy meanwhile."""
    write_schemes(bench.folder / "schemes")
    path_line = path if path.startswith(('"', "{")) else f'"{path}"'
    bench.file.write_text(
        f'[experiment]\nname = "paths"\nseed = 3\n{rest}\n[trial]\nkind = "path"\n{trial}\nruntime = "{runtime}"\n'
        f'lateness = "{lateness}"\n'
        f'path = {path_line}\n{metrics}[design]\nseries = 1\nrounds = {rounds}\n[schemes]\nfolders = ["schemes"]\n'
    )
    return bench


def numbers(bench: Bench, number: int = 1) -> dict[str, float]:
    """What the ledger has of one trial; the mean where there are many samples."""
    ledger = Ledger.open(bench.directory / "ledger.sqlite", read_only=True)
    try:
        return {
            source: pl.read_parquet(bench.directory / file)["value"].mean() if file else value
            for trial, _, source, value, _, file in ledger.values()
            if trial == number
        }
    finally:
        ledger.close()


def packets(bench: Bench, number: int = 1) -> pl.DataFrame:
    """The packets that were kept of one trial."""
    return pl.read_parquet(bench.directory / f"samples/{number:06d}-1-packets.parquet")
