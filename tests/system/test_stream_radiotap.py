"""`trialwise stream packets` where the kernel says that frames begin with radiotap headers, beside tshark's reading of them."""

from __future__ import annotations

import math
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.system.test_stream_command import PATIENCE, TRIALWISE, rows, run

FEEDER = """
import fcntl, os, struct, subprocess, sys
TUNSETIFF, TUNSETLINK, TAP_WITHOUT_HEADER, RADIOTAP = 0x400454CA, 0x400454CD, 0x1002, 803
tap = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", b"radio0", TAP_WITHOUT_HEADER))
fcntl.ioctl(tap, TUNSETLINK, RADIOTAP)
subprocess.run(["ip", "link", "set", "radio0", "up"], check=True)
print("ready", flush=True)
for line in sys.stdin: os.write(tap, bytes.fromhex(line))
"""
IPV4 = bytes.fromhex("4500 0020 1234 0000 4011 0000 0a000001 0a000002 0035 1f90 000c 0000 01020304")
PACKET = bytes.fromhex("aaaa03 000000 0800") + IPV4
AP, STATION, PEER, FAR = (f"0200000000{number:02x}" for number in range(1, 5))


@dataclass(frozen=True)
class Heard:
    """A frame as the radio gives it, in hexadecimal, and what it says by the definitions of radiotap.org and IEEE 802.11."""

    header: str
    frame: str
    said: Mapping[str, float | str]
    port: str = ""

    @property
    def bytes(self) -> bytes:
        return bytes.fromhex(self.header) + bytes.fromhex(self.frame)


def data(control: str, between: str = "", *, third: str = PEER) -> str:
    """A data frame with a packet of UDP; sequence number 0x123."""
    return f"{control} 0000 {AP} {STATION} {third} 3012 {between} {PACKET.hex()}"


BEACON = f"8000 0000 ffffffffffff {AP} {AP} 4056 0000000000000000 6400 0100 0000"
WHOLE = {"address1": "02:00:00:00:00:01", "address2": "02:00:00:00:00:02", "address3": "02:00:00:00:00:03", "seq": 0x123}  # fmt: skip
BAD = "a wrong checksum: no packet in it is believed"
FRAMES = {
    "one antenna (TSFT, flags, rate, channel, signal, antenna, RX flags), checksum at the end": Heard(
        "0000 1a00 2f480000 6655443322010000 10 02 6c09 a000 d1 01 0000", f"{BEACON} 01020304",
        {"tsft": 0x012233445566, "flags": 0x10, "rate": 1e6, "frequency": 2412, "signal_dbm": -47, "antenna": 1,
         "kind": 0x80, "seq": 0x564, "fragment": 0, "address1": "ff:ff:ff:ff:ff:ff", "address3": "02:00:00:00:00:01"},
    ),
    "a word more for one of several antennas: TSFT is padded to 16": Heard(
        "0000 2400 2f4000a0 20080000 00000000 0100000000000000 00 0c 6c09 c000 c4 00 0000 c3 02", data("0801"),
        WHOLE | {"tsft": 1, "flags": 0, "rate": 6e6, "frequency": 2412, "signal_dbm": -60, "kind": 8}, "53",
    ),
    "a vendor's namespace behind": Heard(
        "0000 1800 220000c0 ff000000 00 b0 001122 00 0400 dddddddd", data("8801", "0000"),
        WHOLE | {"flags": 0, "signal_dbm": -80, "kind": 0x88}, "53",
    ),
    "every field from flags to the noise in dB": Heard(
        "0000 1c00 fa3f0000 00 00 3c14 4001 0102 ba a1 0300 0400 0500 14 03 1e 0a", data("0801"),
        WHOLE | {"flags": 0, "frequency": 5180, "signal_dbm": -70, "noise_dbm": -95, "txpower_dbm": 20, "antenna": 3}, "53",
    ),
    "no field, an acknowledgement": Heard(
        "0000 0800 00000000", f"d400 0000 {AP}",
        {"kind": 0xD4, "seq": 0, "address1": "02:00:00:00:00:01", "address2": "00:00:00:00:00:00"},
    ),
    "RTS has a transmitter": Heard(
        "0000 0800 00000000", f"b400 0000 {AP} {STATION}",
        {"kind": 0xB4, "address1": "02:00:00:00:00:01", "address2": "02:00:00:00:00:02", "address3": "00:00:00:00:00:00"},
    ),
    "a fragment": Heard(
        "0000 0800 00000000", f"0805 0000 {AP} {STATION} {PEER} 3112 {PACKET.hex()}",
        WHOLE | {"kind": 8, "fragment": 1},
    ),
    "padded behind the header": Heard(
        "0000 0900 02000000 20", data("8801", "0000 0000"), WHOLE | {"flags": 0x20, "kind": 0x88}, "53"
    ),
    "with HT Control": Heard("0000 0900 02000000 00", data("8881", "0000 00000000"), WHOLE | {"kind": 0x88}, "53"),
    "between access points": Heard("0000 0900 02000000 00", data("0803", FAR), WHOLE | {"kind": 8}, "53"),
    BAD: Heard(
        "0000 0900 02000000 50", f"{data('0801')} 00000000", WHOLE | {"flags": 0x50, "kind": 8}
    ),
}  # fmt: skip


@pytest.fixture
def namespace() -> Iterator[str]:
    if os.geteuid() != 0 or shutil.which("ip") is None or not Path("/dev/net/tun").exists():
        pytest.skip("needs root, ip and /dev/net/tun")
    name = f"tw-radio-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"no network namespaces here: {made.stderr.decode()}")
    yield name
    run("ip", "netns", "del", name)


def captured(namespace: str, file: Path) -> None:
    """All frames through a device of the kernel's that has radiotap headers, into `file`."""
    inside = ["ip", "netns", "exec", namespace]
    words = ["stream", "packets", "--interface", "radio0", "--count", str(len(FRAMES)), f"--oml-collect=file:{file}"]  # fmt: skip
    feeder = subprocess.Popen(
        [*inside, sys.executable, "-c", FEEDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with feeder:
        assert feeder.stdin is not None
        assert feeder.stdout is not None
        assert feeder.stdout.readline() == "ready\n"
        with subprocess.Popen([*inside, *TRIALWISE, *words], stderr=subprocess.PIPE, text=True) as capture:
            assert capture.stderr is not None
            assert "capturing at radio0" in capture.stderr.readline()
            feeder.stdin.write("".join(f"{heard.bytes.hex()}\n" for heard in FRAMES.values()))
            feeder.stdin.flush()
            assert capture.wait(PATIENCE) == 0
        feeder.stdin.close()


def test_frames_that_the_kernel_gives_are_read_as_their_definitions_say(tmp_path: Path, namespace: str):
    file = tmp_path / "packets.txt"
    captured(namespace, file)
    found = rows(file, "packets_radiotap")
    assert len(found) == len(FRAMES)
    numbers = ("tsft", "flags", "rate", "frequency", "signal_dbm", "noise_dbm", "txpower_dbm", "antenna")
    for (name, heard), row in zip(FRAMES.items(), found, strict=True):
        for key, value in heard.said.items():
            assert row[key] == value if isinstance(value, str) else float(row[key]) == value, (name, key)
        for key in numbers:
            assert key in heard.said or math.isnan(float(row[key])) or key == "flags", (name, key)
        assert row["frame_size"] == str(len(heard.bytes)), name
    udp = {row["pktid"]: row["udp_source"] for row in rows(file, "packets_udp")}
    assert [udp.get(row["pktid"], "") for row in found] == [heard.port for heard in FRAMES.values()]
    of_tshark(tmp_path, found, udp)


TSHARK = {
    "tsft": "radiotap.mactime", "flags": "radiotap.flags", "rate": "radiotap.datarate", "frequency": "radiotap.channel.freq",
    "signal_dbm": "radiotap.dbm_antsignal", "noise_dbm": "radiotap.dbm_antnoise", "txpower_dbm": "radiotap.txpower",
    "address1": "wlan.ra", "address2": "wlan.ta", "seq": "wlan.seq", "fragment": "wlan.frag", "udp_source": "udp.srcport",
}  # fmt: skip
SCALE = {"rate": 1e6}


def of_tshark(tmp_path: Path, found: list[dict[str, str]], udp: dict[str, str]) -> None:
    """Compare with tshark, where it is installed."""
    if shutil.which("tshark") is None:
        return
    file = tmp_path / "radio.pcap"
    link_type = 127
    packets = [struct.pack("=IIII", 0, 0, len(heard.bytes), len(heard.bytes)) + heard.bytes for heard in FRAMES.values()]  # fmt: skip
    file.write_bytes(struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type) + b"".join(packets))
    fields = [word for name in TSHARK.values() for word in ("-e", name)]
    told = run(
        "tshark", "-r", str(file), "-o", "wlan.ignore_wep:No", "-T", "fields", "-E", "occurrence=f", *fields
    )
    for name, row, line in zip(FRAMES, found, told.splitlines(), strict=True):
        ours = row | {"udp_source": udp.get(row["pktid"], "")}
        for key, theirs in zip(TSHARK, line.split("\t"), strict=True):
            if (name, key) == (BAD, "udp_source"):  # tshark reads on
                continue
            assert is_same(key, ours[key], theirs), (name, key, ours[key], theirs)


def is_same(key: str, ours: str, theirs: str) -> bool:
    if key.startswith("address"):
        return (theirs or "00:00:00:00:00:00") == ours
    if key == "udp_source":
        return theirs == ours
    if not theirs:
        return ours in {"NaN", "nan", "0"}
    return float(ours) == SCALE.get(key, 1) * (int(theirs, 0) if "x" in theirs else float(theirs))
