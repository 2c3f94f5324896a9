"""On a disk that is full: every command says so, what is finished stays, and the run goes on when there is room."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from packet_logs import RECORD, flow_word, write_log
from small_disk import TRIALWISE, SmallDisk, refusal, small_disk

pytestmark = pytest.mark.skipif(refusal() is not None, reason=str(refusal()))
EXPERIMENT = """\
[experiment]
name = "sizes"
[factors]
size = [1, 2]
[trial]
command = ["sh", "-c", "head -c 60000 /dev/urandom >&2; echo value {size}.$$"]
[metrics.value]
stdout = 'value ([0-9.]+)'
better = "lower"
[design]
series = 1
rounds = 12
"""
FULL = "the disk is full"
FORMATS = ("csv", "parquet", "pantheon", "mahimahi")
RUN_AGAIN = "try: free some space and run again"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", 8 << 20) as made:
        yield made


def finished(disk: SmallDisk) -> int:
    """Trials of the run that have finished."""
    told = json.loads(disk.trialwise("status", "run", "--json").stdout)
    return sum(treatment.get("finished", 0) for treatment in told["treatments"].values())


def test_a_run_says_that_the_disk_is_full_keeps_what_is_finished_and_goes_on_when_there_is_room(
    disk: SmallDisk,
):
    disk.write("experiment.toml", EXPERIMENT)
    disk.fill(leave=1500 << 10)
    full = disk.trialwise("run", "experiment.toml", "-d", "run")
    assert full.returncode == 5
    assert f"cannot be written: {FULL}\n  {RUN_AGAIN}" in full.stderr
    assert "Traceback" not in full.stderr
    before = finished(disk)
    assert 0 < before < 24
    disk.make_room()
    went_on = disk.trialwise("run", "run")
    assert went_on.returncode == 0, went_on.stderr
    assert f"going on: {before} of 24 trials are done" in went_on.stderr
    assert finished(disk) == 24


def test_every_command_that_writes_says_that_the_disk_is_full(disk: SmallDisk):
    disk.write("experiment.toml", EXPERIMENT)
    disk.write("short.trace", "1\n")
    disk.write("table.csv", "lab,v\n" + "".join(f"{row % 2},{row * 7 % 13}\n" for row in range(40)))
    disk.fill(leave=512 << 10)
    assert f"run/ledger.sqlite: cannot be written: {FULL}" in refused(
        disk, "run", "experiment.toml", "-d", "run"
    )
    disk.make_room()
    disk.fill(leave=4 << 10)
    for words in (
        ("run", "experiment.toml", "-d", "other"),
        ("ab", "--base", "true", "--head", "true", "--trials", "5"),
        ("trace", "make", "100Mbit/s", "--length", "60s", "--out", "made.trace"),
        ("trace", "scale", "short.trace", "90000", "--out", "scaled.trace"),
        ("trace", "plot", "short.trace", "--out", "plot.svg"),
    ):
        assert f"cannot be written: {FULL}" in refused(disk, *words)
    redirected = disk.enter(
        "sh", "-c", f"{TRIALWISE} analyze table.csv --value v --group lab --json > out.json"
    )
    assert redirected.returncode == 5
    assert FULL in redirected.stderr


def test_what_writes_packets_and_flows_says_so_and_leaves_nothing_half(disk: SmallDisk, tmp_path: Path):
    records = np.zeros(4000, RECORD)
    records["time"], records["delay"], records["size"] = np.arange(4000) * 10**6, 10**5, 1500
    records["flow"] = flow_word(40_000, 5201)
    log = str(write_log(tmp_path / "log", records))
    disk.write("table.csv", "lab,v\n" + "".join(f"{row % 2},{row * 7 % 13}\n" for row in range(40)))
    disk.fill(leave=8 << 10)
    before = disk.enter("ls", "-A").stdout
    simulate = (
        "simulate",
        "--topology",
        "dumbbell:4x4,10Gbit/s,1us",
        "--cc",
        "dctcp",
        "--sizes",
        "fixed:1000B",
    )
    simulate += ("--load", "30%", "--duration", "2ms")
    for words in (
        *(("packets", log, "--port", "5201", "--to", to, "--out", "out") for to in FORMATS),
        ("trace", "from-log", log, "--out", "out"),
        (*simulate, "--csv", "out"),
        (*simulate, "--save-flows", "out.csv"),
        (*simulate, "--plot", "out.svg"),
        ("report", "table.csv", "--value", "v", "--group", "lab", "--out", "out.html"),
    ):
        said = refused(disk, *words)
        assert f"cannot be written: {FULL}\n  try: free some space" in said, (words, said)
        assert disk.enter("ls", "-A").stdout == before, words


def test_a_stream_into_a_file_says_so_and_how_much_was_lost(disk: SmallDisk):
    disk.fill(leave=8 << 10)
    script = f"""{TRIALWISE} stream output --point p --pattern '(?P<v>[0-9]+)' --oml-id a --oml-domain d \\
        --oml-collect file:out.oml -- sh -c 'seq 1 3000' > /dev/null"""
    done = disk.enter("sh", "-c", script)
    assert "samples or rows were lost; file:out.oml: the disk is full: free some space" in done.stderr
    assert "os error" not in done.stderr


def test_a_collector_says_so_at_its_start_and_while_its_clients_wait(disk: SmallDisk):
    disk.fill(leave=0)
    said = refused(disk, "collect", "--store", "sqlite:store", "--listen", "127.0.0.1:0")
    assert f"{FULL}\n  try: free some space" in said
    assert disk.enter("rm", "-r", "store").returncode == 0
    disk.make_room()
    disk.fill(leave=400 << 10)
    script = f"""{TRIALWISE} collect --store sqlite:store --listen 127.0.0.1:0 2> said & collector=$!
        until grep -q listening said; do sleep 0.1; done
        port=$(sed -n 's/listening at 127.0.0.1:\\([0-9]*\\).*/\\1/p' said)
        {TRIALWISE} stream output --point p --pattern '(?P<v>[0-9]+)' --oml-id a --oml-domain d \\
            --oml-collect tcp:127.0.0.1:$port -- seq 1 40000 > /dev/null &
        for attempt in $(seq 300); do grep -q 'disk is full' said && break; sleep 0.1; done
        rm ballast; wait %2; sleep 2; kill -INT $collector; wait $collector; echo ended $?; cat said"""
    done = disk.enter("bash", "-c", script, cwd=disk.folder)
    assert f"{FULL}; clients wait until you have freed some space" in done.stdout
    assert "ended 0" in done.stdout
    assert "stopped: 400" in done.stdout


def refused(disk: SmallDisk, *words: str) -> str:
    """What `trialwise WORDS` says when it is refused."""
    done = disk.trialwise(*words)
    assert done.returncode == 5, (words, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stderr


PROGRAM_OF_AN_END = """\
import os, sys, time
from trialwise.execution.workers.agent.path_end import hint_for
from trialwise.execution.workers.agent.path_programs import Place, Side
flow = {
    "number": 1, "scheme": "own", "side": "receiver", "waits": True, "ends": False, "programs": "", "environment": {},
    "files": {}, "prepare": None, "port": 1, "ready": {"port": None, "line": "ready", "after": 0, "timeout": 20},
    "words": ["sh", "-c", "exec >>kept; printf %5000s . || exit 1"],
}
side, place = Side(flow, {"environment": {}}, os.getcwd()), Place((), "/proc/net", "127.0.0.1")
while (problem := side.prepare(place)) is None:
    time.sleep(0.01)
print(problem, hint_for(problem, None))
"""


def test_a_program_of_a_path_that_ends_for_want_of_room_has_the_full_disk_for_its_reason(disk: SmallDisk):
    disk.write("kept", "")
    disk.enter("mkdir", "flow-1")
    disk.fill(0)
    said = disk.enter(sys.executable, "-c", PROGRAM_OF_AN_END).stdout
    assert "flow 1 (own): the receiver ended with exit code 1: No space left on device in " in said
    assert "before it was ready free some space there" in said
