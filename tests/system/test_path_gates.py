"""What paths do to real packets besides carrying them: copies, changed bits, black holes, jumbo frames and the ECN field."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tests.system.paths import needs_paths

from trialwise import _linux
from trialwise.measurement.packets import CE, ECT_0, ECT_1, EVENTS, Packets, read_packet_log

pytestmark = [needs_paths, pytest.mark.alone]

IPV4, IPV6 = ("100.64.0.1", "100.64.0.2"), ("fd74:7269:616c::1", "fd74:7269:616c::2")
PORT = 5001
RECEIVE = """
import json, socket, sys
version, port, quiet = sys.argv[1:]
taken = socket.socket(socket.AF_INET6 if version == "6" else socket.AF_INET, socket.SOCK_DGRAM)
taken.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
taken.bind(("::" if version == "6" else "0.0.0.0", int(port)))
print("ready", flush=True)
found = []
taken.settimeout(5)
try:
    while True:
        found.append(taken.recv(65536).hex())
        taken.settimeout(float(quiet))
except TimeoutError:
    pass
errors = [line.split() for line in open("/proc/net/snmp") if line.startswith("Udp:")]
named = dict(zip(*errors))
six = dict(line.split() for line in open("/proc/net/snmp6")) if version == "6" else {}
print(json.dumps([found, int(named["InCsumErrors"]) + int(six.get("Udp6InCsumErrors", 0))]))
"""
SEND = """
import fcntl, socket, struct, sys, time
peer, port, count, size, tos, open_checksums = sys.argv[1:]
if open_checksums == "no":  # ETHTOOL_STXCSUM: the kernel itself computes checksums
    value = bytearray(struct.pack("II", 0x17, 0))
    import array
    place = array.array("B", value)
    request = struct.pack("16sP", b"path0", place.buffer_info()[0])
    fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8946, request)
version = socket.AF_INET6 if ":" in peer else socket.AF_INET
sender = socket.socket(version, socket.SOCK_DGRAM)
if version == socket.AF_INET6:
    sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, int(tos))
else:
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(tos))
for number in range(int(count)):
    sender.sendto(struct.pack("!I", number) + bytes((number * 7 + place) % 256 for place in range(int(size) - 4)), (peer, int(port)))
    time.sleep(0.0005)
"""
TAKE = """
import hashlib, json, socket, sys
listener = socket.create_server(("", int(sys.argv[1])))
listener.settimeout(30)
print("ready", flush=True)
connection, _ = listener.accept()
connection.settimeout(30)
whole = bytearray()
while part := connection.recv(1 << 20):
    whole += part
connection.close()
print(json.dumps(whole.hex()))
"""
GIVE = """
import pathlib, socket, sys
peer, port, size, probing = sys.argv[1:]
pathlib.Path("/proc/sys/net/ipv4/tcp_mtu_probing").write_text(probing)
giver = socket.create_connection((peer, int(port)), timeout=float(20))
giver.settimeout(6)
giver.sendall(bytes(place * place % 251 for place in range(int(size))))
giver.shutdown(socket.SHUT_WR)
giver.recv(1)
"""
SENT = bytes(place * place % 251 for place in range(300_000))


class Crossed:
    """A path that programs cross, and after its end what it says."""

    def __init__(self, path: _linux.Path, log: Path) -> None:
        self._path, self._log = path, log
        self.report: _linux.PathReport

    def start(self, end: str, *program: object) -> subprocess.Popen[str]:
        words = [*self._path.prefix(end), "python3", "-c", *(str(word) for word in program)]
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def exchange(self, taken: tuple[object, ...], given: tuple[object, ...]) -> tuple[str, int, str]:
        """Run a program at the receiver until it is ready, then one at the sender; what the first printed, how the other ended."""
        with self.start("receiver", *taken) as taker:
            assert taker.stdout
            assert taker.stdout.readline() == "ready\n"
            with self.start("sender", *given) as giver:
                said, _ = giver.communicate()
            if giver.returncode != 0:
                taker.kill()
            return taker.stdout.read(), giver.returncode, said

    def datagrams(
        self,
        count: int,
        size: int,
        *,
        version: int = 4,
        tos: int = 0,
        open_checksums: bool = True,
    ) -> tuple[list[bytes], int]:
        """Send datagrams; what arrived, and how many checksums were wrong."""
        peer = (IPV6 if version == 6 else IPV4)[1]
        printed, ended, said = self.exchange(
            (RECEIVE, version, PORT, 0.5),
            (SEND, peer, PORT, count, size, tos, "yes" if open_checksums else "no"),
        )
        assert ended == 0, said
        found, errors = json.loads(printed)
        return [bytes.fromhex(text) for text in found], errors

    def stream(self, size: int, *, probing: int = 0) -> bytes | None:
        """Send bytes over TCP; what arrived, or None if they did not within six seconds."""
        printed, ended, _ = self.exchange((TAKE, PORT), (GIVE, IPV4[1], PORT, size, probing))
        return bytes.fromhex(json.loads(printed)) if ended == 0 else None

    def close(self) -> None:
        self.report = self._path.close()

    def packets(self) -> Packets:
        return read_packet_log(self._log)


@contextmanager
def crossed(folder: Path, uplink: Sequence[tuple[str, str]], *, mtu: int = 1500) -> Generator[Crossed]:
    log = folder / "packets.log"
    delay = [("delay", "1ms")]
    path = _linux.Path([[*uplink, *delay]], [delay], directory=".", seed=7, mtu=mtu, log=log, bound=1.0)
    found = Crossed(path, log)
    try:
        yield found
    finally:
        found.close()


def events(packets: Packets) -> Counter[str]:
    return Counter(EVENTS[int(event)] for event in packets.event)


def balanced(way: _linux.LinkReport) -> bool:
    return way.arrived + way.copied == way.delivered + way.dropped + way.held


def test_datagrams_arrive_twice_as_often_as_the_log_says(tmp_path: Path):
    with crossed(tmp_path, [("duplicate", "20%,after=0ms..5ms"), ("loss", "10%")]) as path:
        found, _ = path.datagrams(1000, 200)
    way, log = path.report.uplink, events(path.packets().of("uplink"))
    assert balanced(way)
    assert balanced(path.report.downlink)
    copies = Counter(found)
    assert max(copies.values()) == 2
    assert len(found) == way.delivered == log["delivered"] + log["duplicate"]
    assert sum(count == 2 for count in copies.values()) == way.copied == log["duplicate"]
    assert len(copies) == log["delivered"] == 1000 - log["dropped:loss"]
    # 900 packets reach the copier: five standard errors of 12.
    assert abs(way.copied - 180) < 60


@pytest.mark.parametrize("after", ["0ms", "0..3ms"])
def test_a_stream_survives_copies_of_its_segments(tmp_path: Path, after: str):
    with crossed(tmp_path, [("rate", "50Mbit/s"), ("duplicate", f"10%,after={after}")]) as path:
        assert path.stream(len(SENT)) == SENT
    assert path.report.uplink.copied > 5
    assert balanced(path.report.uplink)


@pytest.mark.parametrize(
    ("version", "size", "open_checksums"),
    [(4, 500, True), (4, 500, False), (4, 3000, False), (4, 5, False), (6, 501, False), (6, 3000, True)],
)
def test_a_changed_bit_reaches_the_program(tmp_path: Path, version: int, size: int, open_checksums: bool):
    """Whole datagrams and such of fragments, with checksums that the kernel computed, or left to whoever sends on."""
    with crossed(tmp_path, [("corrupt", "30%,checksum=fix")]) as path:
        found, errors = path.datagrams(200, size, version=version, open_checksums=open_checksums)
    assert (len(found), errors) == (200, 0)
    sent = [
        number.to_bytes(4, "big") + bytes((number * 7 + place) % 256 for place in range(size - 4))
        for number in range(200)
    ]
    different = [(one, other) for one, other in zip(sent, found, strict=True) if one != other]
    assert path.report.uplink.dropped == 0
    if size < 1400:
        assert {_bits(one, other) for one, other in different} == {1}
        assert len(different) == path.report.uplink.changed
    assert 0.2 * 200 < len(different) < 0.8 * 200


def _bits(one: bytes, other: bytes) -> int:
    return sum((a ^ b).bit_count() for a, b in zip(one, other, strict=True))


def test_a_changed_bit_of_a_stream_reaches_the_program(tmp_path: Path):
    with crossed(tmp_path, [("rate", "50Mbit/s"), ("corrupt", "10%,checksum=fix")]) as path:
        found = path.stream(len(SENT))
    assert found is not None
    assert len(found) == len(SENT)
    assert 0 < _bits(found, SENT) <= path.report.uplink.changed


def test_corruption_that_nobody_mends_is_dropped_as_before(tmp_path: Path):
    with crossed(tmp_path, [("corrupt", "30%")]) as path:
        found, _ = path.datagrams(200, 100)
    assert len(found) == 200 - events(path.packets().of("uplink"))["dropped:corrupt"] < 200
    assert path.report.uplink.changed == 0


@pytest.mark.parametrize("mtu", [576, 1280, 4000, 9000])
def test_packets_have_the_size_of_the_path(tmp_path: Path, mtu: int):
    with crossed(tmp_path, [("rate", "100Mbit/s"), ("queue", "droptail:bytes=100kB")], mtu=mtu) as path:
        assert path.stream(len(SENT)) == SENT
        datagrams, _ = path.datagrams(20, mtu - 28)
    assert [len(datagram) for datagram in datagrams] == [mtu - 28] * 20
    sizes = path.packets().of("uplink").size
    assert sizes.max() == mtu
    assert (sizes == mtu).sum() > 0.9 * len(SENT) / mtu
    assert path.report.uplink.unlogged == 0


def test_jumbo_frames_take_six_opportunities_of_a_trace(tmp_path: Path):
    trace = tmp_path / "steady.trace"
    trace.write_text("1\n")
    with crossed(tmp_path, [("rate", f"trace:{trace}")], mtu=9000) as path:
        datagrams, _ = path.datagrams(40, 8972)
    assert len(datagrams) == 40
    packets = path.packets().of("uplink")
    large = packets.where(packets.size == 9000)
    gaps = np.diff(np.sort(large.time))[5:]
    # An opportunity each millisecond; sent one each half of it, they wait for one another.
    assert np.allclose(gaps, 0.006)


@pytest.mark.parametrize("mtu", [575, 9001])
def test_sizes_beyond_are_refused(tmp_path: Path, mtu: int):
    with pytest.raises(ValueError, match="576 to 9000"), crossed(tmp_path, [], mtu=mtu):
        pass


def test_a_black_hole_swallows_a_stream_that_does_not_probe(tmp_path: Path):
    with crossed(tmp_path, [("pmtu", "1400")], mtu=9000) as path:
        assert path.stream(len(SENT)) is None
        small, _ = path.datagrams(5, 1372)
    assert len(small) == 5
    packets = path.packets().of("uplink")
    assert packets.size[packets.delivered].max() == 1400
    assert events(packets)["dropped:filtered"] > 0
    assert packets.size[packets.dropped].min() > 1400


def test_a_stream_that_probes_gets_through_a_black_hole(tmp_path: Path):
    with crossed(tmp_path, [("pmtu", "1400,icmp=no")]) as path:
        assert path.stream(100_000, probing=2) == SENT[:100_000]
    packets = path.packets().of("uplink")
    assert packets.size[packets.delivered].max() <= 1400


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize(
    ("gate", "after"),
    [("", {ECT_1: ECT_1, ECT_0: ECT_0, CE: CE}), ("bleach", {}), ("drop-ect1", {ECT_0: ECT_0, CE: CE})],
)
def test_fields_are_counted_apart(tmp_path: Path, version: int, gate: str, after: dict[int, int]):
    with crossed(tmp_path, [("ecn", gate)] if gate else []) as path:
        for field, count in ((ECT_1, 11), (ECT_0, 13), (CE, 17)):
            path.datagrams(count, 100, version=version, tos=field)
    way = path.report.uplink
    sent = np.array([0, 11, 13, 17])
    expected = np.zeros(4, np.int64)
    for field, count in enumerate(sent):
        expected[after.get(field, 0)] += count
    if gate == "drop-ect1":
        expected[0] = 0
    assert way.arrived_ecn == list(sent)
    assert way.delivered_ecn == list(expected)
    packets = path.packets().of("uplink")
    logged = np.bincount(packets.ecn[packets.delivered], minlength=4)
    assert list(logged) == list(expected)
    assert events(packets)["dropped:filtered"] == (11 if gate == "drop-ect1" else 0)
