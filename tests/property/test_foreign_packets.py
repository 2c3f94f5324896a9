"""Files of packets, captures, traces and Pantheon folders that nobody's program wrote: read, or refused in a sentence.

Files are made from small sound ones by changing bytes, numbers and lines. Whatever comes out, a reader returns or raises an error of
Trialwise with one line; its memory is bounded by the operating system, so that an array as large as a number in a file fails.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import random
import resource
import struct
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from captures import framed, ipv4, ipv6, pcap, pcapng
from packet_logs import RECORD, flow_word, random_packets, write_log
from trialwise.errors import TrialwiseError
from trialwise.exchange.captures import read_capture
from trialwise.exchange.packet_files import PacketFile, read_packet_file
from trialwise.exchange.pantheon_log import read_tunnel_log
from trialwise.exchange.result_files import read_trials
from trialwise.exchange.trace_files import read_trace, trace_from_departures, trace_from_opportunities
from trialwise.measurement.packets import write_packets
from trialwise.trials.held_files import HeldFiles

NUMBERS = (
    b"-1",
    b"0",
    b"nan",
    b"inf",
    b"1e400",
    b"9" * 400,
    b"4294967296",
    b"9223372036854775808",
    b"0.5",
    b"65536",
    b"",
    b"1e18",
)
MERGED = b"# init timestamp: 1744936429546.000\n0.5 # 1504\n" + b"".join(
    b"%d.000 + 1500 %d\n%d.500 - 1500 20.500 %d\n" % (t, 1 + t % 2, t + 20, 1 + t % 2) for t in range(40)
)
LINK = (
    b"# mahimahi mm-link (Uplink) [t]\n# command line: x\n# queue: droptail [packets=5]\n# init timestamp: 17\n# base timestamp: 3\n"
    + b"".join(b"%d + 1504\n%d # 1504\n%d - 1504 0\n%d d 1 1504\n" % (t, t, t, t) for t in range(40))
)
TUNNEL = b"# 'mm-tunnelserver' ingress: 1795259022262.001\n" + b"".join(
    b"%d.5 - %d - 88\n" % (t, t) for t in range(40)
)
PERF = json.dumps(
    {"cubic": {str(run): {"all": {"tput": 1.5, "delay": 20.0, "loss": 0.01}} for run in range(3)}}
).encode()
METADATA = json.dumps({"runtime": 30, "flows": 1, "cc_schemes": ["cubic"], "run_times": 3}).encode()
PACKETS = [ipv4("10.0.0.1", "10.0.0.2", 100, offset=at % 2) for at in range(6)]
PACKETS += [ipv6("2001:db8::1", "2001:db8::2", 50)] * 3
FRAMES = [(1_795_256_094_000_000_000 + at, framed(one, 1, at % 3)) for at, one in enumerate(PACKETS)]


def packet_log(folder: Path) -> bytes:
    records = np.zeros(30, RECORD)
    records["time"], records["delay"], records["size"] = np.arange(30) * 10**6, 10**5, 1500
    records["flow"] = flow_word(40_000, 5201)
    return write_log(folder / "seed", records).read_bytes()


def parquet(folder: Path) -> bytes:
    write_packets(folder / "seed", random_packets(1, 50))
    return (folder / "seed").read_bytes()


def archive(folder: Path) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in (("cubic_datalink_run1.log", MERGED), ("pantheon_metadata.json", METADATA)):
            info = tarfile.TarInfo(f"x/{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def used(found: PacketFile) -> None:
    """What commands do with what was read."""
    found.packets.flows()
    gone = found.packets.where(found.packets.delivered)
    trace_from_departures((gone.time * 1e9).round().astype("int64"), gone.size.astype("int64"), "x")
    if found.opportunities is not None and found.opportunities.size:
        trace_from_opportunities(found.opportunities, found.base, "x")


def in_a_folder(path: Path, name: str) -> None:
    folder = path.with_name("folder")
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    (folder / "cubic_datalink_run1.log").write_bytes(MERGED)
    (folder / name).write_bytes(path.read_bytes())
    read_trials(folder)


def repacked(path: Path, pack: Callable[[bytes], bytes], ending: str) -> None:
    packed = path.with_name(f"x.tar.{ending}")
    packed.write_bytes(pack(path.read_bytes()))
    read_trials(packed)


def captured(path: Path) -> None:
    found = read_capture(path)
    chosen = found.selected("10.0.0.1", 5201, "to") | found.selected(None, 1, None)
    trace_from_departures(found.time[chosen], found.size[chosen], "x")


READERS: dict[str, tuple[Callable[[Path], bytes], Callable[[Path], object]]] = {
    "merged log": (lambda _: MERGED, lambda path: used(read_packet_file(path))),
    "mm-link log": (lambda _: LINK, lambda path: used(read_packet_file(path))),
    "tunnel log": (lambda _: TUNNEL, read_tunnel_log),
    "packet log": (packet_log, lambda path: used(read_packet_file(path, flow_of_port={5201: 1}))),
    "parquet": (parquet, lambda path: used(read_packet_file(path))),
    "pcap": (lambda _: pcap(FRAMES, 1), captured),
    "pcapng": (lambda _: pcapng(FRAMES, 1), captured),
    "trace": (lambda _: b"".join(b"%d\n" % t for t in range(1, 60)), read_trace),
    "folder's log": (lambda _: MERGED, lambda path: in_a_folder(path, "bbr_datalink_run1.log")),
    "folder's link log": (lambda _: LINK, lambda path: in_a_folder(path, "bbr_mm_datalink_run1.log")),
    "perf": (lambda _: PERF, lambda path: in_a_folder(path, "pantheon_perf.json")),
    "metadata": (lambda _: METADATA, lambda path: in_a_folder(path, "pantheon_metadata.json")),
    "tar in xz": (archive, lambda path: repacked(path, lzma.compress, "xz")),
    "tar in gz": (archive, lambda path: repacked(path, gzip.compress, "gz")),
    "tar": (archive, lambda path: repacked(path, bytes, "gz")),
    "packed": (lambda folder: lzma.compress(archive(folder)), lambda path: repacked(path, bytes, "xz")),
}


def changed(seed: bytes, rng: random.Random) -> bytes:
    """A file near the seed."""
    content = bytearray(seed)
    for _ in range(rng.randrange(1, 4)):
        place = rng.randrange(len(content) + 1)
        match rng.randrange(6):
            case 0 if content:
                content[min(place, len(content) - 1)] = rng.randrange(256)
            case 1:
                del content[place : place + rng.choice([1, 2, 30, 10_000])]
            case 2:
                content[place:place] = bytes(content[place : place + rng.choice([1, 20, 200])])
            case 3:
                content[place : place + 4] = struct.pack("<I", rng.choice([0, 1, 2**31, 2**32 - 1, 65535]))
            case 4:
                content[place : place + 8] = struct.pack("<Q", rng.choice([0, 2**63, 2**64 - 1, 2**40]))
            case _:
                words = bytes(content).split(b" ")
                words[rng.randrange(len(words))] = rng.choice(NUMBERS)
                content = bytearray(b" ".join(words))
    return bytes(content)


@pytest.fixture(scope="module", autouse=True)
def little_memory() -> Iterator[None]:
    """Two GiB beyond what there is."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + 2**31, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def read_or_refused(name: str, folder: Path, rng: random.Random) -> None:
    make, read = READERS[name]
    path = folder / "x.log"
    path.write_bytes(changed(make(folder), rng))
    try:
        read(path)
    except TrialwiseError as error:
        said = error.message
    else:
        said = "read"
    assert said
    assert "\n" not in said


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rng=st.randoms(use_true_random=False))
def test_a_changed_file_is_read_or_refused(name: str, tmp_path: Path, rng: random.Random):
    read_or_refused(name, tmp_path, rng)


@pytest.mark.soak
@pytest.mark.parametrize("name", READERS)
def test_changed_files_for_ten_minutes(name: str, tmp_path: Path):
    rng = random.Random(17)
    until = time.monotonic() + 600
    while time.monotonic() < until:
        state = rng.getstate()
        try:
            read_or_refused(name, tmp_path, rng)
        except BaseException as error:
            error.add_note(f"{name}: random state {hash(state)}; the file is {tmp_path / 'x.log'}")
            raise


def test_links_that_name_a_changed_file_are_made_or_refused(tmp_path: Path):
    from trialwise import _core

    rng = random.Random(5)
    seeds = {
        "trace:x": b"1\n2\n5\n",
        "series:x": b"0 1ms\n5 20ms\n",
        "loss": b"0 1%\n9 20%\n",
        "pattern": b"0001\n",
    }
    for _ in range(300):
        name = rng.choice(list(seeds))
        (tmp_path / "x").write_bytes(changed(seeds[name], rng))
        key = {"trace:x": "rate", "series:x": "delay"}.get(name, "loss")
        text = {"loss": "series:x", "pattern": "trace:x"}.get(name, name)
        files = HeldFiles()
        said = ""
        try:
            _core.check_link(files.groups((((key, text),),), str(tmp_path)), ".", 0.1)
        except (TrialwiseError, ValueError) as error:
            said = files.in_own_words(str(error))
        assert "/proc/" not in said
