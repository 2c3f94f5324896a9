"""Packets of one emulated path, seen at both of its ends, joined by identity: against the emulator's own log, packet by packet."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tests.system.conftest import TRIALWISE
from tests.system.paths import needs_paths

from trialwise import _linux
from trialwise.measurement.joining import Joined, join_sightings
from trialwise.measurement.packets import Packets, read_packet_log
from trialwise.measurement.sightings import CAME, MERGED, Sightings, read_sightings

pytestmark = needs_paths
ENDS = ("sender", "receiver")
TCP, UDP = 5001, 5002
FLOWS = {TCP: 1, UDP: 2}
CAPTURE = """
import json, select, socket, sys
from trialwise._linux import PacketSightings
(device,) = [name for _, name in socket.if_nameindex() if name != "lo"]
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
connection.close()
threading.Event().wait()
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
if len(sys.argv) > 3:
    SO_MAX_PACING_RATE = 47
    connection.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, int(sys.argv[3]))
stop = time.monotonic() + seconds
while time.monotonic() < stop:
    connection.sendall(bytes(65536))
connection.close()
thread.join()
time.sleep(0.5)
"""


def at(path: _linux.Path, end: str) -> list[str]:
    """The words that bring a program to an end of an emulated path."""
    return list(map(os.fsdecode, path.prefix(end)))


@contextmanager
def running(prefix: list[str], program: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A program of the tests behind words that bring it to an end of a path, from when it says that it is ready."""
    command = [*prefix, sys.executable, "-c", program, *words]
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
            running(at(path, "sender"), CAPTURE, str(folder / "sender")) as one,
            running(at(path, "receiver"), CAPTURE, str(folder / "receiver")) as other,
            running(at(path, "receiver"), SERVER),
        ):
            client = [*at(path, "sender"), sys.executable, "-c", CLIENT]
            subprocess.run([*client, path.address("receiver"), "6"], check=True, timeout=120)
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


def check_fates(joined: Joined, log: Packets, direction: int) -> None:
    """Each packet of the log has its size and its fate. What reached the link in one frame has one time, and no order."""
    for flow in FLOWS.values():
        ours = joined.packets.where((joined.packets.direction == direction) & (joined.packets.flow == flow))
        theirs = log.where((log.direction == direction) & (log.flow == flow))
        assert len(ours) == len(theirs) > 0
        _, sizes, delivered = fates(ours)
        arrival, their_sizes, their_delivered = fates(theirs)
        frames = np.flatnonzero(np.diff(arrival, prepend=-1.0) > 1e-9)
        for first, stop in zip(frames, np.append(frames[1:], arrival.size), strict=True):
            there = slice(first, stop)
            found = sorted(zip(sizes[there].tolist(), delivered[there].tolist(), strict=True))
            expected = sorted(zip(their_sizes[there].tolist(), their_delivered[there].tolist(), strict=True))
            assert found == expected, first


def check_order(joined: Joined, direction: int) -> None:
    """Nothing of a flow overtakes on this path: what was sent later came later."""
    for flow in FLOWS.values():
        of_flow = (joined.packets.direction == direction) & (joined.packets.flow == flow)
        ours = joined.packets.where(of_flow & joined.packets.delivered)
        assert np.all(np.diff(ours.arrival) >= -1e-6)


RATE = [("rate", "20Mbit/s"), ("queue", "droptail:packets=60")]


@pytest.mark.parametrize("loss", ["2%", None])
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
    for direction, crossed in enumerate((found.uplink, found.downlink)):
        check_fates(found, log, direction)
        check_order(found, direction)
        assert (crossed.duplicates, crossed.strangers) == (0, 0)
        dropped = log.dropped & (log.flow > 0) & (log.direction == direction)
        assert crossed.dropped + crossed.held == np.count_nonzero(dropped)
    assert found.uplink.dropped > 0 or loss is None
    found.check_delays()
    assert found.clocks.skew is not None
    for piece in found.clocks.pieces:
        assert piece.offset is not None
        assert piece.offset.low <= 1000 + 20e-6 * piece.middle <= piece.offset.high
        assert piece.round_trip >= 0.0299


SHORT = """
import socket, sys, time
for number in range(20):
    with socket.create_connection((sys.argv[1], 5001)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(bytes([number]) * 1744)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)
time.sleep(0.5)
"""
TAKER = """
import socket
listener = socket.create_server(("", 5001))
print("ready", flush=True)
while True:
    connection, _ = listener.accept()
    while connection.recv(1 << 16):
        pass
    connection.close()
"""


def test_two_segments_that_leave_as_one_frame_arrive_as_two(tmp_path: Path):
    """On a slow link the second is due 12 ms later, so that nothing joins them again."""
    path = _linux.Path([[("rate", "1Mbit/s")]], [[("delay", "1ms")]], directory=tmp_path, seed=1)
    try:
        with (
            running(at(path, "sender"), CAPTURE, str(tmp_path / "sender")) as one,
            running(at(path, "receiver"), CAPTURE, str(tmp_path / "receiver")) as other,
            running(at(path, "receiver"), TAKER),
        ):
            client = [*at(path, "sender"), sys.executable, "-c", SHORT]
            subprocess.run([*client, path.address("receiver")], check=True, timeout=120)
            counts = [counts_of(each) for each in (one, other)]
    finally:
        path.close()
    assert counts[0][3] >= 40
    assert counts[1][3] == 0
    found = join_sightings(*(read_sightings(tmp_path / end) for end in ENDS), seed=1)
    for crossed in (found.uplink, found.downlink):
        assert crossed.sent == crossed.delivered > 40
        assert crossed.strangers == 0


BY_HAND = """
import os, socket, sys
(device,) = [name for _, name in socket.if_nameindex() if name != "lo"]
print("ready", flush=True)
os.execvp(sys.argv[1], [*sys.argv[1:], "--interface", device])
"""


def test_the_commands_of_both_ends(tmp_path: Path):
    """As a user does it: a capture at each end until INT, then `packets`."""
    path = _linux.Path([RATE, [("delay", "15ms")]], [[("delay", "15ms")]], directory=tmp_path, seed=1)
    try:
        words = [
            [
                *TRIALWISE,
                "capture",
                "--run",
                "x",
                "--port",
                "5001",
                "--port",
                "5002",
                "--out",
                str(tmp_path / end),
            ]
            for end in ENDS
        ]
        with (
            running(at(path, "sender"), BY_HAND, *words[0]) as one,
            running(at(path, "receiver"), BY_HAND, *words[1]) as other,
            running(at(path, "receiver"), SERVER),
        ):
            for end in ENDS:
                wait_until((tmp_path / end).exists)
            client = [*at(path, "sender"), sys.executable, "-c", CLIENT]
            subprocess.run([*client, path.address("receiver"), "1"], check=True, timeout=120)
            for each in (one, other):
                each.send_signal(signal.SIGINT)
                assert each.wait(timeout=60) == 0
    finally:
        path.close()
    words = [
        *TRIALWISE,
        "packets",
        str(tmp_path / "sender"),
        str(tmp_path / "receiver"),
        "--json",
    ]
    found = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    assert {one["flow"] for one in found["metrics"]} == {None, 1, 2}
    assert found["ends"]["round_trip"] >= 29.9
    assert found["ends"]["lost"] == 0
    assert found["ends"]["uplink"]["delivered"] > 100
    again = subprocess.run(
        [*TRIALWISE, "capture", "--interface", "lo", "--run", "x", "--out", str(tmp_path / "sender")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 2
    assert "captures are not overwritten" in again.stderr


def wait_until(what: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_delivered_packets_of_a_killed_capture_are_known(tmp_path: Path):
    path = _linux.Path([RATE], [[("delay", "1ms")]], directory=tmp_path, seed=1)
    try:
        with (
            running(at(path, "sender"), CAPTURE, str(tmp_path / "sender")) as process,
            running(at(path, "receiver"), SERVER),
        ):
            client = [*at(path, "sender"), sys.executable, "-c", CLIENT]
            subprocess.run([*client, path.address("receiver"), "2"], check=True, timeout=120)
            wait_until(lambda: (tmp_path / "sender").stat().st_size > 64 + 32 * 100)
            process.kill()
            process.wait()
    finally:
        path.close()
    found = read_sightings(tmp_path / "sender")
    assert found.lost is None
    assert len(found) >= 100


NAT = """
table ip nat {
    chain post {
        type nat hook postrouting priority 100;
        masquerade random;
    }
}
"""


def run(*words: str, text: str | None = None) -> None:
    subprocess.run(words, input=text, text=True, check=True, capture_output=True)


@pytest.fixture
def natted() -> Iterator[tuple[list[str], list[str]]]:
    """The words that lead inside and outside: outside (10.79.0.2) has no route to inside, but for a gate with NAT."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "nft"))):
        pytest.skip("needs root, ip and nft")
    inside, gate, outside = names = [f"tw-nat-{os.getpid()}-{side}" for side in "igo"]
    made: list[str] = []
    try:
        for name in names:
            run("ip", "netns", "add", name)
            made.append(name)
        for end, device, here, there in (
            (inside, "in", "10.78.0.2", "10.78.0.1"),
            (outside, "out", "10.79.0.2", "10.79.0.1"),
        ):
            run("ip", "-n", end, "link", "add", device, "type", "veth", "peer", "name", device, "netns", gate)
            for namespace, address in ((end, here), (gate, there)):
                run("ip", "-n", namespace, "addr", "add", f"{address}/24", "dev", device)
                run("ip", "-n", namespace, "link", "set", device, "up")
        run("ip", "-n", inside, "route", "add", "default", "via", "10.78.0.1")
        run("ip", "netns", "exec", gate, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        run("ip", "netns", "exec", gate, "nft", "-f", "-", text=NAT)
        yield ["ip", "netns", "exec", inside], ["ip", "netns", "exec", outside]
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no namespaces with NAT here: {error.stderr}")
    finally:
        for name in made:
            run("ip", "netns", "del", name)


def test_through_nat_with_a_clock_of_another_boot(natted: tuple[list[str], list[str]], tmp_path: Path):
    """Addresses, ports and hops change on the way; the clock of the outer end shows a thousand seconds more."""
    inside, outside = natted
    files = tmp_path / "inside", tmp_path / "outside"
    later = ["unshare", "--time", "--monotonic", "1000", "--fork", "--kill-child"]
    with (
        running(inside, CAPTURE, str(files[0])) as one,
        running([*outside, *later], CAPTURE, str(files[1])) as other,
        running(outside, SERVER),
    ):
        run(*inside, sys.executable, "-c", CLIENT, "10.79.0.2", "6", "1000000")
        counts = [counts_of(each) for each in (one, other)]
    assert [(dropped, steps) for _, dropped, *_, steps in counts] == [(0, 0), (0, 0)]
    ends = [read_sightings(file) for file in files]
    found = join_sightings(*ends, seed=1)
    for crossed in (found.uplink, found.downlink):
        assert crossed.sent == crossed.delivered > 100
        assert (crossed.duplicates, crossed.strangers) == (0, 0)
    hops = [set(end.records["ttl"][end.records["direction"] == CAME].tolist()) for end in ends]
    assert hops == [{63}, {63}]
    for piece in found.clocks.pieces:
        assert piece.offset is not None
        assert piece.offset.value == pytest.approx(1000, abs=5e-3)


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
