"""Many emulated paths at once, each with a TCP connection that fills it and probes of its delay, all from one process.

Traffic costs little here, so that what is measured is the emulator: receivers read in turns instead of being woken for each
packet, and the kernel stamps probes when they arrive.
"""

from __future__ import annotations

import ctypes
import os
import select
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from path_traffic import Pairs, opened
from trialwise import _linux
from trialwise.measurement.packets import Packets, read_packet_log
from trialwise.measurement.path_metrics import throughput

STREAM_PORT, PROBE_PORT = 5001, 5002
PROBE = 172
"""Bytes of payload: IP packets of 200 bytes."""
PROBE_SIZE = PROBE + 28
PROBE_SECONDS = 0.05
READ_SECONDS = 0.01
CONTROL = b"cubic"
BLOCK = bytes(1 << 18)
_SO_TIMESTAMPNS = 35
_CLONE_NEWNET = 0x40000000

Nanoseconds = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Ends:
    """The sockets of one path. What the probes bring is read when all is over."""

    sender: socket.socket
    receiver: socket.socket
    probes: socket.socket
    probed: socket.socket


@dataclass(frozen=True, slots=True)
class Crowd:
    """What some paths at once came to.

    Attributes
    ----------
    errors
        ms by which a probe arrived later than the model has it, of all paths: from its sending to the kernel's stamp at the
        other end, less the delay in its record.
    wire
        Mbit/s of IP packets that each uplink delivered in the steady part.
    processor
        Processors used by the emulator's threads, and by this process in all: traffic, kernel and emulator.
    reports
        What the emulator says of each path.
    """

    errors: npt.NDArray[np.float64]
    wire: npt.NDArray[np.float64]
    processor: tuple[float, float]
    reports: list[_linux.PathReport]

    @property
    def unlogged(self) -> int:
        """Packets lost without a record, on all paths."""
        return sum(each.uplink.unlogged + each.downlink.unlogged for each in self.reports)


def crowd(both: Pairs, count: int, *, seconds: float, settled: float) -> Crowd:
    """So many paths at once that are alike both ways; what comes before `settled` seconds is left out."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        folders = [Path(folder) / str(number) for number in range(count)]
        paths: list[_linux.Path] = []
        for number, own in enumerate(folders):
            own.mkdir()
            paths.append(opened(both, both, str(own), number + 1))
        ends = [stack.enter_context(_ends_of(path)) for path in paths]
        begun, used = time.monotonic(), time.process_time()
        sent = _traffic(ends, seconds)
        span = time.monotonic() - begun
        whole = (time.process_time() - used) / span
        arrived = [_probed(each.probed) for each in ends]
        reports = [path.close() for path in paths]
        errors: list[npt.NDArray[np.float64]] = []
        wire: list[float] = []
        for own, stamps, stamped in zip(folders, sent, arrived, strict=True):
            packets = read_packet_log(own / "log").of("uplink")
            # Paths are connected one after another; data comes on all at once.
            first = float(packets.time[packets.size > 1000].min()) + settled
            wire.append(throughput(packets, first, first + seconds - settled - 1))
            errors.append(_errors(packets, stamps, stamped)[int(settled / PROBE_SECONDS) :])
        emulator = sum(each.processor_share * each.duration for each in reports) / span
        return Crowd(np.concatenate(errors), np.array(wire), (emulator, whole), reports)


@contextmanager
def _ends_of(path: _linux.Path) -> Generator[Ends]:
    """Sockets at both ends of a path, connected."""
    peer = _linux.Path.address("receiver")
    with ExitStack() as stack:
        with _network(path, "receiver"):
            listener = socket.create_server(("0.0.0.0", STREAM_PORT))  # noqa: S104, the path's own network
            probed = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            probed.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            probed.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            probed.bind(("0.0.0.0", PROBE_PORT))  # noqa: S104
            probed.setblocking(False)
        with _network(path, "sender"):
            sender = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            # Before it connects: a socket that had bbr goes on pacing its packets, whatever it has later.
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONTROL)
            sender.connect((peer, STREAM_PORT))
            probes = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            probes.connect((peer, PROBE_PORT))
        with listener:
            receiver = stack.enter_context(listener.accept()[0])
        sender.setblocking(False)
        receiver.setblocking(False)
        yield Ends(sender, receiver, probes, probed)


@contextmanager
def _network(path: _linux.Path, end: str) -> Generator[None]:
    """This thread in the network of an end for a while: sockets made meanwhile are there."""
    libc = ctypes.CDLL(None, use_errno=True)
    network = path.prefix(end)[3]
    before, there = (os.open(name, os.O_RDONLY) for name in ("/proc/thread-self/ns/net", network))
    try:
        _enter(libc, there)
        yield
    finally:
        _enter(libc, before)
        os.close(before)
        os.close(there)


def _enter(libc: ctypes.CDLL, network: int) -> None:
    if libc.setns(network, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "entering the network of an end")


def _traffic(ends: Sequence[Ends], seconds: float) -> list[Nanoseconds]:
    """Fills all paths for so long; when the probes of each were sent, in ns of the time of day."""
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=work, args=(ends, until)) for work in (_fill, _drain)]
    for thread in threads:
        thread.start()
    sent = _probe(ends, until)
    for thread in threads:
        thread.join()
    time.sleep(0.2)
    return [np.array(each) for each in sent]


def _fill(ends: Sequence[Ends], until: float) -> None:
    poll = select.epoll()
    senders = {each.sender.fileno(): each.sender for each in ends}
    for descriptor in senders:
        poll.register(descriptor, select.EPOLLOUT)
    while (left := until - time.monotonic()) > 0:
        for descriptor, _ in poll.poll(left):
            senders[descriptor].send(BLOCK)
    poll.close()


def _drain(ends: Sequence[Ends], until: float) -> None:
    room = bytearray(1 << 20)
    while (now := time.monotonic()) < until:
        for each in ends:
            try:
                each.receiver.recv_into(room)
            except BlockingIOError:
                continue
        time.sleep(max(0.0, now + READ_SECONDS - time.monotonic()))


def _probe(ends: Sequence[Ends], until: float) -> list[list[int]]:
    """One probe on each path in each period, spread over it."""
    sent: list[list[int]] = [[] for _ in ends]
    due, step = time.monotonic(), PROBE_SECONDS / len(ends)
    while due < until:
        for each, stamps in zip(ends, sent, strict=True):
            time.sleep(max(0.0, due - time.monotonic()))
            packet = struct.pack("q", len(stamps)).ljust(PROBE, b"\0")
            stamps.append(time.clock_gettime_ns(time.CLOCK_REALTIME))
            each.probes.send(packet)
            due += step
    return sent


def _probed(receiver: socket.socket) -> dict[int, int]:
    """When the kernel received each probe, ns of the time of day, by its number."""
    arrived: dict[int, int] = {}
    while True:
        try:
            packet, control, _, _ = receiver.recvmsg(PROBE, socket.CMSG_SPACE(16))
        except BlockingIOError:
            return arrived
        seconds, nanoseconds = struct.unpack("qq", control[0][2])
        arrived[struct.unpack_from("q", packet)[0]] = seconds * 10**9 + nanoseconds


def _errors(packets: Packets, sent: Nanoseconds, arrived: dict[int, int]) -> npt.NDArray[np.float64]:
    """Of the probes of one path that were delivered, ms. Their records are in the order of their sending."""
    probes = packets.where(packets.size == PROBE_SIZE)
    order = np.argsort(probes.arrival, kind="stable")
    if len(order) != len(sent):
        raise RuntimeError(f"{len(sent)} probes were sent, and {len(order)} have a record")
    numbers = [number for number, record in enumerate(order) if probes.delivered[record]]
    took = np.array([arrived[number] - sent[number] for number in numbers]) / 1e6
    return took - probes.delay[order[numbers]] * 1e3
