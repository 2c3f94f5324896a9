"""The tunnel of one end, with a test in the place of the other: its header, the ECN field both ways, and strangers."""

import contextlib
import hmac
import json
import os
import platform
import shutil
import socket
import struct
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from trialwise.execution.workers.agent.path_capture import RecorderError
from trialwise.execution.workers.agent.path_socket import PathSocket
from trialwise.execution.workers.agent.path_tunnel import ADDRESSES, Tunnel
from trialwise.measurement.sightings import CAME, SENT, read_sightings

KEY = bytes(range(32))
PORT, FLOW, FRAMES = 5201, 1, 65535
FRAME = b"TWE1" + bytes(60)
NOT_ECT, ECT_1, ECT_0, CE = range(4)
INSIDE = """
import json, socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
sock.bind(("", int(sys.argv[1])))
sock.settimeout(20)
print("ready", flush=True)
while True:
    data, ancillary, _, address = sock.recvmsg(2048, 64)
    if data == b"end":
        break
    tos = ancillary[0][2][0] if ancillary else 0
    print(json.dumps([data.decode(), tos & 3]), flush=True)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
    sock.sendto(data, address)
"""


def rotated(value, by):
    return (value << by | value >> 64 - by) & (1 << 64) - 1


def siphash(key, data):
    """SipHash-2-4 (Aumasson and Bernstein 2012, section 2)."""
    first, second = struct.unpack("<QQ", key)
    state = [
        first ^ 0x736F6D6570736575,
        second ^ 0x646F72616E646F6D,
        first ^ 0x6C7967656E657261,
        second ^ 0x7465646279746573,
    ]

    def turn(v, times):
        for _ in range(times):
            v[0] = v[0] + v[1] & (1 << 64) - 1
            v[1] = rotated(v[1], 13) ^ v[0]
            v[0] = rotated(v[0], 32)
            v[2] = v[2] + v[3] & (1 << 64) - 1
            v[3] = rotated(v[3], 16) ^ v[2]
            v[0] = v[0] + v[3] & (1 << 64) - 1
            v[3] = rotated(v[3], 21) ^ v[0]
            v[2] = v[2] + v[1] & (1 << 64) - 1
            v[1] = rotated(v[1], 17) ^ v[2]
            v[2] = rotated(v[2], 32)

    padded = data + bytes(-(len(data) + 1) % 8) + bytes([len(data) & 255])
    for (word,) in struct.iter_unpack("<Q", padded):
        state[3] ^= word
        turn(state, 2)
        state[0] ^= word
    state[2] ^= 0xFF
    turn(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def code_of(datagram):
    """What stands in the second word of the tunnel's header."""
    big = hmac.new(KEY, b"tunnel", "sha256").digest()[:16]
    key = big[7::-1] + big[:7:-1]  # KEY stands in hexadecimal, so each half has its highest byte first
    return siphash(key, datagram[:4] + datagram[8:]) & 0xFFFFFFFF


def sealed(packet, number, flow=FLOW, sent_by=1):
    datagram = struct.pack("!IIHH", number, 0, flow, sent_by) + packet
    return datagram[:4] + struct.pack("!I", code_of(datagram)) + datagram[8:]


def packet_of(payload, ecn):
    """UDP from the second end to the first, without a checksum (RFC 768); that of IP is right (RFC 1071)."""
    udp = struct.pack("!HHHH", 40000, PORT, 8 + len(payload), 0)
    addresses = [socket.inet_aton(ADDRESSES["ipv4"][each]) for each in ("second", "first")]
    head = struct.pack("!BBHHHBBH4s4s", 0x45, ecn, 28 + len(payload), 7, 0, 64, 17, 0, *addresses)
    total = sum(struct.unpack("!10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    return (
        head[:10]
        + struct.pack("!H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF)
        + head[12:]
        + udp
        + payload
    )


def network_of(process):
    try:
        return Path(f"/proc/{process}/ns/net").readlink()
    except OSError:
        return None


class Near:
    """The first end's tunnel, and a socket in the place of the second end."""

    def __init__(self, folder):
        self.file = folder / "sightings"
        with resources.as_file(
            resources.files("trialwise.execution.ends") / f"trialwise-end.{platform.machine()}"
        ) as file:
            if not file.exists():
                pytest.skip("the program of the ends is not built (make setup)")
            self.program = str(shutil.copy(file, folder / "end"))
        Path(self.program).chmod(0o700)
        self.peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.peer.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        self.peer.bind(("127.0.0.1", 0))
        self.peer.settimeout(10)
        self.socket = PathSocket(4, 0)
        self.address = "127.0.0.1", self.socket.socket.getsockname()[1]
        end = {
            "program": self.program,
            "family": 4,
            "tunnel": {"side": "first", "inside": "ipv4", "mtu": 1460, "frames": FRAMES},
            "ports": [[PORT, FLOW]],
        }
        self.tunnel = Tunnel(end, KEY, self.socket, str(self.file), os.environ)
        self.tunnel.send(FRAME, self.peer.getsockname())
        assert self.peer.recv(100) == FRAME
        self.number = 0

    def counts(self):
        """What the tunnel says of itself when it has ended."""
        assert self.tunnel.stop() is None
        return self.tunnel.counts

    def close(self):
        self.tunnel.stop()
        self.peer.close()
        self.socket.close()

    def send(self, payload, inner=NOT_ECT, outer=NOT_ECT):
        self.number += 1
        self.peer.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, outer)
        self.peer.sendto(sealed(packet_of(payload, inner), self.number), self.address)

    @contextlib.contextmanager
    def inside(self):
        """A program in the tunnel's network that sends back what it gets, as it was marked; the lines that it has printed."""
        words = [*self.tunnel.place.prefix, sys.executable, "-c", INSIDE, str(PORT)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as program:
            assert program.stdout.readline() == "ready\n"
            lines = []
            yield lines
            self.send(b"end")
            lines += [json.loads(line) for line in program.communicate(timeout=20)[0].splitlines()]


@pytest.fixture
def near(tmp_path):
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip("no TUN devices here")
    try:
        near = Near(tmp_path)
    except RecorderError as error:
        pytest.skip(str(error))
    yield near
    near.close()


def test_siphash_of_the_test_is_that_of_its_paper():
    assert siphash(bytes(range(16)), bytes(range(15))) == 0xA129CA6149BE45E5


def test_marks_go_in_and_come_out_as_rfc_6040_says(near):
    # Figure 4 of RFC 6040; None: dropped.
    table = {
        NOT_ECT: {NOT_ECT: NOT_ECT, ECT_0: NOT_ECT, ECT_1: NOT_ECT, CE: None},
        ECT_0: {NOT_ECT: ECT_0, ECT_0: ECT_0, ECT_1: ECT_1, CE: CE},
        ECT_1: {NOT_ECT: ECT_1, ECT_0: ECT_1, ECT_1: ECT_1, CE: CE},
        CE: {NOT_ECT: CE, ECT_0: CE, ECT_1: CE, CE: CE},
    }
    expected, arrived = [], []
    with near.inside() as lines:
        for inner, row in table.items():
            for outer, leaves in row.items():
                name = f"{inner} in {outer}"
                near.send(name.encode(), inner, outer)
                if leaves is None:
                    continue
                expected.append([name, leaves])
                arrived.append(outer)
                data, ancillary, _, _ = near.peer.recvmsg(2048, 64)
                assert code_of(data) == struct.unpack("!I", data[4:8])[0]
                assert struct.unpack("!HH", data[8:12]) == (FLOW, 0)
                assert data[12 + 28 :].decode() == name
                # The outer field of what goes is that of the inner one.
                assert ancillary[0][2][0] & 3 == data[13] & 3 == leaves
    assert lines == expected
    counts = near.counts()
    assert (counts["dropped"], counts["strangers"]) == (0, 0)
    seen = read_sightings(near.file).records
    seen = seen[seen["flow"] == FLOW]
    # The record has the field around the packet: what left, and what the path made of it.
    for direction, fields in ((SENT, [leaves for _, leaves in expected]), (CAME, arrived)):
        ours = seen[seen["direction"] == direction]
        assert ours["ecn"][: len(expected)].tolist() == fields
        assert ours["size"][: len(expected)].tolist() == [28 + len(name) for name, _ in expected]


def test_what_does_not_come_from_the_other_end_gets_nowhere_and_is_counted(near):
    with near.inside() as lines, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        packet = packet_of(b"stranger", NOT_ECT)
        good = sealed(packet, 1000)
        wrong = [
            good[:10],
            b"",
            b"x" * 1400,
            good[:-1] + b"R",
            sealed(packet, 1001, sent_by=0),
            sealed(b"\x45", 1002),
        ]
        for datagram in wrong:
            near.peer.sendto(datagram, near.address)
        stranger.sendto(good, near.address)
        near.send(b"peer")
        assert near.peer.recv(2048)[40:] == b"peer"
    assert lines == [["peer", NOT_ECT]]
    counts = near.counts()
    assert counts["strangers"] == len(wrong) + 1
    assert set(read_sightings(near.file).records["flow"].tolist()) == {FLOW, FRAMES}


def test_frames_of_the_meeting_pass_with_the_address_that_they_came_from(near):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as rebound:
        rebound.bind(("127.0.0.1", 0))
        rebound.settimeout(10)
        rebound.sendto(FRAME, near.address)
        deadline = time.monotonic() + 10
        while (found := near.tunnel.receive()) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert found == (FRAME, rebound.getsockname(), 64)
        # Whoever has the meeting's key believes it, and answers there; packets of that address get in from then on.
        near.tunnel.send(FRAME, found.address)
        assert rebound.recv(100) == FRAME
        with near.inside() as lines:
            near.send(b"from the old address")
            rebound.sendto(sealed(packet_of(b"from the new one", NOT_ECT), 77), near.address)
            assert rebound.recv(2048)[40:] == b"from the new one"
            near.tunnel.send(FRAME, near.peer.getsockname())
            assert near.peer.recv(100) == FRAME
    assert lines == [["from the new one", NOT_ECT]]
    assert near.counts()["strangers"] == 1


def test_a_burst_that_programs_send_in_one_piece_comes_as_packets_of_the_wire(near):
    sends = (
        "import socket\nsock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "sock.setsockopt(17, 103, 1400)\n"  # UDP_SEGMENT (udp(7))
        f"sock.sendto(bytes(14000 + 100), ('{ADDRESSES['ipv4']['second']}', {PORT}))"
    )
    subprocess.run([*near.tunnel.place.prefix, sys.executable, "-c", sends], check=True, timeout=20)
    sizes = [len(near.peer.recv(2048)) - 12 for _ in range(11)]
    assert sizes == [1428] * 10 + [128]
    near.counts()
    seen = read_sightings(near.file).records
    seen = seen[seen["flow"] == FLOW]
    assert seen["size"].tolist() == sizes
    assert len(np.unique(seen["identity"])) == 11


def test_nothing_is_left_of_a_tunnel_that_is_killed(near):
    process = near.tunnel.process
    network = network_of(near.tunnel.ready[0])
    assert network is not None
    process.kill()
    process.wait()
    assert near.tunnel.look() == "it was killed"
    assert network not in [
        network_of(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()
    ]
