"""Packets of one emulated path, seen at both of its ends, joined by identity: against the emulator's own log, packet by packet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tests.system.paths import needs_paths

from trialwise import _linux
from trialwise.measurement.joining import Joined, join_sightings
from trialwise.measurement.packets import Packets, read_packet_log
from trialwise.measurement.sightings import MERGED, SENT, Sightings, read_sightings

pytestmark = needs_paths
TCP, UDP = 5001, 5002
FLOWS = {TCP: 1, UDP: 2}
CAPTURE = """
import json, os, select, sys
from trialwise._linux import PacketSightings
(device,) = [name for name in os.listdir("/sys/class/net") if name != "lo"]
sightings = PacketSightings(sys.argv[1], device, (11, 12), [(5001, 1), (5002, 2)])
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    sightings.run(0.05)
print(json.dumps(sightings.finish()), flush=True)
"""
SERVER = """
import socket, threading
listener = socket.create_server(("", 5001))
echo = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
echo.bind(("", 5002))
def answer():
    while True:
        data, sender = echo.recvfrom(2000)
        echo.sendto(data, sender)
threading.Thread(target=answer, daemon=True).start()
print("ready", flush=True)
connection, _ = listener.accept()
while connection.recv(1 << 16):
    pass
"""
CLIENT = """
import os, socket, sys, threading, time
peer, seconds = sys.argv[1], float(sys.argv[2])
probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
ends = time.monotonic() + seconds + 1
def probes():
    number = 0
    while time.monotonic() < ends:
        probe.sendto(number.to_bytes(8, "big") + os.urandom(56), (peer, 5002))
        number += 1
        time.sleep(0.02)
thread = threading.Thread(target=probes)
thread.start()
time.sleep(0.5)
connection = socket.create_connection((peer, 5001))
stop = time.monotonic() + seconds
while time.monotonic() < stop:
    connection.sendall(bytes(65536))
connection.close()
thread.join()
time.sleep(0.5)
"""


@contextmanager
def running(path: _linux.Path, end: str, program: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A program of the tests at an end of the path, from when it says that it is ready."""
    command = [*map(os.fsdecode, path.prefix(end)), sys.executable, "-c", program, *words]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def counts_of(process: subprocess.Popen[str]) -> list[int]:
    """End a capture: frames, dropped, records, merged, others, steps."""
    out, _ = process.communicate("stop\n", timeout=60)
    assert process.returncode == 0
    return json.loads(out)


def crossing(
    folder: Path, uplink: list[list[tuple[str, str]]], downlink: list[list[tuple[str, str]]]
) -> list[list[int]]:
    """Run both programs over a path, both ends watched; the files are `sender`, `receiver` and `log`."""
    path = _linux.Path(uplink, downlink, directory=folder, seed=1, log=folder / "log")
    try:
        with (
            running(path, "sender", CAPTURE, str(folder / "sender")) as one,
            running(path, "receiver", CAPTURE, str(folder / "receiver")) as other,
            running(path, "receiver", SERVER),
        ):
            client = [*map(os.fsdecode, path.prefix("sender")), sys.executable, "-c", CLIENT]
            subprocess.run([*client, path.address("receiver"), "3"], check=True, timeout=120)
            return [counts_of(each) for each in (one, other)]
    finally:
        path.close()


def with_another_clock(seen: Sightings, ppm: float, offset: float) -> Sightings:
    """The same packets, stamped by a clock that runs faster and shows more."""
    records = np.array(seen.records)
    times = records["time"].astype(np.int64)
    records["time"] = times + ((times - times[0]) * (ppm * 1e-6)).astype(np.int64) + round(offset * 1e9)
    return Sightings(seen.name, records, seen.lost)


def fates(packets: Packets) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arrival at the link, size and whether it was delivered, in the order of arrival."""
    order = np.argsort(packets.arrival, kind="stable")
    return packets.arrival[order], packets.size[order], packets.delivered[order]


def check_fates(joined: Joined, log: Packets, direction: int, sent: np.ndarray) -> None:
    """Each packet of the log has its size and its fate. What reached the link in one frame has one time, and no order."""
    ours = joined.packets.where(joined.packets.direction == direction)
    theirs = log.where((log.direction == direction) & (log.flow > 0))
    assert len(ours) == len(theirs) == sent.size
    _, sizes, delivered = fates(ours)
    arrival, their_sizes, their_delivered = fates(theirs)
    frames = np.flatnonzero(np.diff(arrival, prepend=-1.0) > 1e-9)
    for first, stop in zip(frames, np.append(frames[1:], arrival.size), strict=True):
        there = slice(first, stop)
        found = sorted(zip(sizes[there].tolist(), delivered[there].tolist(), strict=True))
        assert found == sorted(
            zip(their_sizes[there].tolist(), their_delivered[there].tolist(), strict=True)
        ), first


def check_order(joined: Joined, direction: int) -> None:
    """Nothing overtakes on this path: what was sent later came later."""
    ours = joined.packets.where((joined.packets.direction == direction) & joined.packets.delivered)
    order = np.argsort(ours.time, kind="stable")
    assert np.all(np.diff(ours.arrival[order]) >= -1e-6)


RATE = [("rate", "20Mbit/s"), ("queue", "droptail:packets=60")]


@pytest.mark.parametrize("loss", ["0.5%", None])
def test_the_joined_log_is_the_emulators(tmp_path: Path, loss: str | None):
    lossy = [[("loss", loss)]] if loss else []
    delay = [("delay", "15ms")]
    counts = crossing(tmp_path, [*lossy, RATE, delay], [*lossy, delay])
    assert [(dropped, steps) for _, dropped, *_, steps in counts] == [(0, 0), (0, 0)]
    one, other = (read_sightings(tmp_path / name) for name in ("sender", "receiver"))
    assert [len(one), len(other)] == [counts[0][2], counts[1][2]]
    assert (one.lost, one.steps) == (0, 0)
    assert np.count_nonzero(one.column("marks") & MERGED) == counts[0][3] > 0
    found = join_sightings(one, with_another_clock(other, 20, 1000), seed=1)
    log = read_packet_log(tmp_path / "log", FLOWS)
    for direction, end in enumerate((one, other)):
        check_fates(found, log, direction, np.flatnonzero(end.records["direction"] == SENT))
        check_order(found, direction)
    assert found.uplink.delivered > 3000
    assert (found.uplink.duplicates, found.uplink.strangers, found.downlink.strangers) == (0, 0, 0)
    assert found.uplink.ambiguous == 0
    dropped = int((log.dropped & (log.flow > 0) & (log.direction == 0)).sum())
    assert found.uplink.dropped + found.uplink.held == dropped > 0
    assert found.clocks.steps == ()
    assert found.clocks.skew is not None
    assert found.clocks.skew.low <= 20e-6 <= found.clocks.skew.high
    (piece,) = found.clocks.pieces
    assert piece.offset is not None
    assert piece.offset.low <= 1000 + 20e-6 * piece.middle <= piece.offset.high
    assert piece.round_trip >= 0.0299


def test_delivered_packets_of_a_killed_capture_are_known(tmp_path: Path):
    path = _linux.Path([[("delay", "1ms")]], [[("delay", "1ms")]], directory=tmp_path, seed=1)
    try:
        with running(path, "sender", CAPTURE, str(tmp_path / "sender")) as process:
            process.kill()
            process.wait()
    finally:
        path.close()
    assert read_sightings(tmp_path / "sender").lost is None


def test_who_may_not_capture_is_told_what_is_missing(tmp_path: Path):
    """In a fresh process that gives the right up."""
    program = "import sys\nfrom trialwise._linux import PacketSightings\nPacketSightings(sys.argv[1], 'lo', (1, 2), [])"
    words = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw", sys.executable, "-c", program]
    done = subprocess.run([*words, str(tmp_path / "seen")], capture_output=True, text=True, check=False)
    assert (
        "PermissionError: this user may not capture packets; run it as root, or with CAP_NET_RAW"
        in done.stderr
    )


def test_no_interface_and_no_folder_are_named(tmp_path: Path):
    with pytest.raises(ValueError, match='there is no interface "nowhere"'):
        _linux.PacketSightings(tmp_path / "seen", "nowhere", (1, 2), [])
    with pytest.raises(OSError, match="the file of packets: No such file or directory"):
        _linux.PacketSightings(tmp_path / "none" / "seen", "lo", (1, 2), [])


def test_a_finished_file_is_finished(tmp_path: Path):
    sightings = _linux.PacketSightings(tmp_path / "seen", "lo", (1, 2), [(9, 1)])
    sightings.run(0.01)
    sightings.finish()
    for again in (lambda: sightings.run(0.01), sightings.finish):
        with pytest.raises(ValueError, match="this file of packets is finished"):
            again()
