"""Every reader of files that others make, beside a small sound file of its kind, and changes to such files.

Whatever a file holds, a reader returns, or refuses in one line; it takes at most `SECONDS` of processor time and `MEMORY`.
What runs them: `tests/property/test_foreign_readers.py` by chance, `fuzz/readers.py` guided by coverage.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import random
import re
import shlex
import shutil
import sqlite3
import struct
import tarfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import numpy as np

from captures import framed, ipv4, ipv6, pcap, pcapng
from example_directory import write_example
from foreign_formats import FORMATS, TOGETHER
from packet_logs import RECORD, flow_word, random_packets, write_log
from trialwise import _core, _linux, study
from trialwise.analysis.conditions.table import read_conditions
from trialwise.analysis.effects.table import EffectColumns, read_effects_table
from trialwise.analysis.order.trials import OrderColumns, read_order_table
from trialwise.errors import TrialwiseError
from trialwise.exchange.capture_points import read_two_points
from trialwise.exchange.captures import read_capture
from trialwise.exchange.ordersage import experiment_text, read_ordersage
from trialwise.exchange.packet_files import PacketFile, read_packet_file
from trialwise.exchange.pantheon_log import read_tunnel_log
from trialwise.exchange.path_sources import SOURCES, filled
from trialwise.exchange.path_texts import Options, Source
from trialwise.exchange.recording_files import read_recording, recording_text
from trialwise.exchange.result_files import read_results, read_trials
from trialwise.exchange.trace_files import (
    read_trace,
    text_of,
    trace_from_departures,
    trace_from_opportunities,
)
from trialwise.exchange.trials_table import TrialColumns
from trialwise.experiment.mahimahi import read_shells
from trialwise.experiment.quantity import seconds
from trialwise.experiment.reading import read_experiment
from trialwise.experiment.sources import TextSource
from trialwise.measurement.packets import write_packets
from trialwise.measurement.recordings import compared, cut, joined, scaled, summary
from trialwise.measurement.reported import from_output
from trialwise.measurement.scaffold import read_description, skeleton
from trialwise.measurement.sources import read_source
from trialwise.readers.tables.table import read_table
from trialwise.schemes.reading import read_scheme
from trialwise.trials.loads import parse_load
from trialwise.trials.trial_counts import bits_per_second, whole_bytes

SECONDS = 10.0
MEMORY = 512
"""MiB that a reader may hold beside what there was before."""
ADDRESS_SPACE = 2 << 30
"""Bytes that the process may ask the system for beside what it has: an array as large as a number in a file fails."""

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
EGRESS = b"# 'mm-tunnelclient' egress: 1795259022242.001\n" + b"".join(
    b"%d.5 - %d - 88\n" % (t, t) for t in range(40)
)
STATS = b"Start at: 2026-11-26 09:00:00\nEnd at: 2026-11-26 09:00:08\nLocal clock offset: 1.5 ms\nRemote clock offset: -4 ms\n"
PERF = json.dumps(
    {"cubic": {str(run): {"all": {"tput": 1.5, "delay": 20.0, "loss": 0.01}} for run in range(3)}}
).encode()
METADATA = json.dumps({"runtime": 30, "flows": 1, "cc_schemes": ["cubic"], "run_times": 3}).encode()
PACKETS = [
    *(ipv4("10.0.0.1", "10.0.0.2", 100, offset=at % 2) for at in range(6)),
    *[ipv6("2001:db8::1", "2001:db8::2", 50)] * 3,
]
DIFFERENT = [
    (1_795_256_094_000_000_000 + at * 1_000_000, framed(ipv4(*ends, 100 + at), 1))
    for at in range(12)
    for ends in [("10.0.0.1", "10.0.0.2"), ("10.0.0.2", "10.0.0.1")][at % 3 == 2 :][:1]
]
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


def in_a_run(path: Path, name: str) -> None:
    """Read a folder of a run whose tunnel is not merged yet, in which this is one of the files."""
    folder = path.with_name("run")
    folder.mkdir(exist_ok=True)
    run = "cubic_datalink_run1_flow1_uid5.log"
    for each, content in (
        (f"{run}.egress", EGRESS),
        (f"{run}.ingress", TUNNEL),
        ("cubic_stats_run1.log", STATS),
    ):
        (folder / each).write_bytes(path.read_bytes() if each.endswith(name) else content)
    (folder / "pantheon_metadata.json").write_bytes(b'{"sender_side": "local"}')
    read_results([folder]).order()


def of_both_ends(path: Path) -> None:
    other = path.with_name("other.pcap")
    other.write_bytes(pcap(DIFFERENT, 1))
    read_two_points(other, path, None, {1: 1})


def repacked(path: Path, pack: Callable[[bytes], bytes], ending: str) -> None:
    packed = path.with_name(f"x.tar.{ending}")
    packed.write_bytes(pack(path.read_bytes()))
    read_trials(packed)


def captured(path: Path) -> None:
    found = read_capture(path)
    chosen = found.selected("10.0.0.1", 5201, "to") | found.selected(None, 1, None)
    trace_from_departures(found.time[chosen], found.size[chosen], "x")


ROOT = Path(__file__).parents[1]
CSV = b"scheme,run,position,time,delay [ms]\n" + b"".join(
    b"%s,%d,%d,2026-11-25 12:%02d:00,%d.5\n" % (b"ab"[at % 2 : at % 2 + 1], at // 2, at % 2, at, 10 + at)
    for at in range(24)
)
EUROPEAN = b"lauf;zeit;wert\n" + b"".join(
    b"%d;%02d.11.2026 08:00;1.%03d,5\n" % (at, at, at) for at in range(1, 25)
)
LINES = b"".join(b"line %d\n" % at for at in range(20)) + b"rtt = 4.25e1 ms\n"
DOCUMENT = json.dumps({"t": list(range(20)), "runs": {"rtt": [at + 0.5 for at in range(20)]}}).encode()
TOPOLOGY = b"6 2 5\n4 5\n0 4 100Gbps 0.001ms 0\n1 4 100Gbps 0.001ms 0\n2 5 100Gbps 0.001ms 0\n4 5 400Gbps 0.001ms 0\n3 5 1Gbps 1us 0\n"
HPCC = b"3\n0 1 3 100 10000 2.0\n1 2 3 100 20000 2.001\n2 0 3 100 30000 2.002\n"
MATRIX = b"Nodes 4\nConnections 2\n0->1 id 1 start 0 size 100000\n2->1 id 2 start 1000000 size 100000\n"
SIZES = b"0 0\n1000 20\n10000 60\n1000000 100\n"
STARTS = b"start_ns,size_bytes\n" + b"".join(b"%d,%d\n" % (at * 1000, 1500 * at + 1) for at in range(20))
RUBY = b"""defApplication('oml:app:gen', 'gen') do |a|
  a.version(2, 9, 1)
  a.shortDescription = "Makes numbers"
  a.defProperty('udp:host', 'Where to', '-d', {:type => :string, :default => 'localhost'})
  a.defMeasurement("wave") { |m|
    m.defMetric('label', :string)
    m.defMetric('value', :double, 'V', 'height')
  }
end
"""
CONFIG = b"""workers = ["one.example.org"]
user = "me"
keyfile = "~/.ssh/k"
repo = "https://git.example.org/me/x.git"
exp_script_call = "python3 x.py"
results_dir = "~/x"
results_file = "x.txt"
n_runs = 3
interleave = True
reset = False
seed = 11
"""
SCRIPT = b"""import sys
TESTS = {"set": 3, "get": 2}
def main():
    for name, count in TESTS.items():
        print(f"./run.sh {name} {count:02d}")
    print("./last.sh", "&&", "true")
main()
"""


def of(path: str) -> Callable[[Path], bytes]:
    return lambda _: (ROOT / path).read_bytes()


def described(path: Path, name: str) -> None:
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        return
    program = read_description(text, name)
    for language in ("c", "rust", "python"):
        skeleton(program, language)


def in_text(path: Path, read: Callable[[str], object]) -> None:
    """Of functions whose contract is `ValueError`, and whose callers name the file."""
    try:
        read(path.read_bytes().decode())
    except UnicodeDecodeError:
        return
    except ValueError as error:
        raise TrialwiseError(str(error)) from error


def with_topology(path: Path) -> None:
    try:
        _core.Fabric.from_file(path)
    except (ValueError, OSError) as error:
        raise TrialwiseError(str(error)) from error


def with_script(path: Path, name: str) -> None:
    folder = path.with_name("repository")
    folder.mkdir(exist_ok=True)
    for each, content in (("config.py", CONFIG), ("x.py", SCRIPT)):
        (folder / each).write_bytes(path.read_bytes() if each == name else content)
    experiment_text(read_ordersage(folder), folder / "experiment.toml")


def reported(path: Path, source: TextSource) -> None:
    read_source(source, from_output(path.read_bytes()))


TABLES: dict[str, tuple[Callable[[Path], bytes], Callable[[Path], object]]] = {
    "table": (lambda _: CSV, read_table),
    "table in gzip": (lambda _: gzip.compress(CSV, mtime=0), read_table),
    "table in UTF-16": (lambda _: EUROPEAN.decode().encode("utf-16"), read_table),
    "conditions": (lambda _: CSV, lambda path: read_conditions(path, time=None, value="delay [ms]")),
    "conditions, European": (
        lambda _: EUROPEAN,
        lambda path: read_conditions(path, time="zeit", value="wert"),
    ),
    "trials": (
        lambda _: CSV,
        lambda path: read_trials(path, TrialColumns(values=("delay [ms]",), groups=("scheme",))),
    ),
    "order": (
        lambda _: CSV,
        lambda path: read_order_table(path, OrderColumns(treatment="scheme", value="delay [ms]")),
    ),
    "effects": (
        lambda _: CSV,
        lambda path: read_effects_table(path, EffectColumns(("scheme",), ("delay [ms]",), time="time")),
    ),
    "hyperfine": (of("tests/unit/exchange/results/hyperfine-base.json"), read_trials),
    "pyperf": (of("tests/unit/exchange/results/pyperf-base.json"), read_trials),
}
EXPERIMENTS: dict[str, tuple[Callable[[Path], bytes], Callable[[Path], object]]] = {
    "experiment": (of("examples/compressors/experiment.toml"), read_experiment),
    "experiment of a path": (of("examples/tcp-over-12mbit/experiment.toml"), read_experiment),
    "experiment of a simulation": (of("examples/cceval-fat-tree/experiment.toml"), read_experiment),
    "experiment with an observer": (of("examples/observer-shared-path/experiment.toml"), read_experiment),
    "scheme": (of("src/trialwise/schemes/library/ngtcp2-bbr.toml"), read_scheme),
    "description in Ruby": (lambda _: RUBY, lambda path: described(path, "x.rb")),
    "OrderSage's settings": (lambda _: CONFIG, lambda path: with_script(path, "config.py")),
    "OrderSage's script": (lambda _: SCRIPT, lambda path: with_script(path, "x.py")),
}
SIMULATIONS: dict[str, tuple[Callable[[Path], bytes], Callable[[Path], object]]] = {
    "topology": (lambda _: TOPOLOGY, with_topology),
    "flow list of HPCC": (lambda _: HPCC, lambda path: in_text(path, _core.read_flow_list)),
    "connection matrix": (lambda _: MATRIX, lambda path: in_text(path, _core.read_flow_list)),
    "sizes of flows": (
        lambda _: SIZES,
        lambda path: parse_load(f"flows:poisson,load=50%,sizes={path.name}", path.parent),
    ),
    "starts of flows": (lambda _: STARTS, lambda path: parse_load(f"flows:{path.name}", path.parent)),
}
OUTPUTS: dict[str, tuple[Callable[[Path], bytes], Callable[[Path], object]]] = {
    "output by pattern": (
        lambda _: LINES,
        lambda path: reported(path, TextSource(pattern=r"rtt = ([\d.e+-]+)")),
    ),
    "output in JSON": (
        lambda _: DOCUMENT,
        lambda path: reported(path, TextSource(json="/runs/rtt", time="/t")),
    ),
    "output in CSV": (lambda _: CSV, lambda path: reported(path, TextSource(csv="delay [ms]", time="run"))),
}
RECORDING = b"""# trialwise.path/1 {"origin": "x", "notes": ["y"]}
time_ms,direction,rate_bps,opportunities,base_delay_us,loss,state
0,uplink,12000000,,10000,0.01,on
0,downlink,,2,20000,,
50,uplink,6000000,,,,hold
60,uplink,,,15000,,on
70,downlink,,3,,,
80,uplink,,,,0.5,off
100,uplink,,,,,on
"""
IRISH = b"Timestamp,DL_bitrate,State\n" + b"".join(
    b"2019.12.16_13.40.%02d,%d,D\n" % (at // 2, 100 * at + 1) for at in range(20)
)
FCC = b"".join(b"7,2016-01-01 00:00:%02d,a.com,1.2.3.4,1,2,%d\n" % (at, 1250 * at) for at in range(20))
MONROE = (
    b"nodeid,iccid,timestamp,sequencenumber,bytes,dataid,dataversion,guid,host,operator,rtt\n"
    + b"".join(
        b"48,8946,%d.5,%d,84,MONROE.EXP.PING,2,g,8.8.8.8,T,%d.25\n" % (1463048694 + at, at, 30 + at)
        for at in range(20)
    )
)
NODE = b"".join(
    b'{"NodeId": "48", "Iccid": "8946", "Timestamp": %d.5, "DataId": "MONROE.EXP.HTTP.DOWNLOAD", "Speed": %d.0}\n'
    % (1463048694 + 30 * at, 125000 + at)
    for at in range(20)
)
RATES = b"".join(b"%d %d %d\n" % (at * 1000, at * 1000 + 1, 1000) for at in range(20))


def recorded(path: Path) -> None:
    """What commands do with a recording of a path."""
    found = read_recording(path)
    summary(found, 500)
    compared(found, scaled(found, 2, 5000))
    with suppress(ValueError):
        recording_text(joined([cut(found, 0, found.length / 2), found]))


def imported(path: Path, kind: str, **options: object) -> None:
    text = Source(text_of(path), str(path))
    found = SOURCES[kind]([text], Options(**options)).recording
    for fill in ("constant", "poisson", "cellular"):
        recording_text(filled(found, fill, 1))


PACKETS_AND_PATHS: dict[str, tuple[Callable[[Path], bytes], Callable[[Path], object]]] = {
    "merged log": (lambda _: MERGED, lambda path: used(read_packet_file(path))),
    "mm-link log": (lambda _: LINK, lambda path: used(read_packet_file(path))),
    "tunnel log": (lambda _: TUNNEL, read_tunnel_log),
    "packet log": (packet_log, lambda path: used(read_packet_file(path, flow_of_port={5201: 1}))),
    "parquet": (parquet, lambda path: used(read_packet_file(path))),
    "pcap": (lambda _: pcap(FRAMES, 1), captured),
    "pcapng": (lambda _: pcapng(FRAMES, 1), captured),
    "captures of both ends": (lambda _: pcapng(DIFFERENT, 1), of_both_ends),
    "tunnel's end": (lambda _: TUNNEL, lambda path: in_a_run(path, "ingress")),
    "times of a run": (lambda _: STATS, lambda path: in_a_run(path, "stats_run1.log")),
    "trace": (lambda _: b"".join(b"%d\n" % t for t in range(1, 60)), read_trace),
    "recording of a path": (lambda _: RECORDING, recorded),
    "round trip of Hypatia": (
        lambda _: b"".join(b"%d,76846048.72\n" % (at * 10**8) for at in range(20)),
        lambda path: imported(path, "hypatia", rate=1e6),
    ),
    "Irish table": (lambda _: IRISH, lambda path: imported(path, "irish")),
    "MONROE's table": (lambda _: MONROE, lambda path: imported(path, "monroe")),
    "what a node of MONROE writes": (lambda _: NODE, lambda path: imported(path, "monroe")),
    "FCC's table": (lambda _: FCC, lambda path: imported(path, "fcc")),
    "Norway's log": (lambda _: RATES, lambda path: imported(path, "norway")),
    "table of rates": (
        lambda _: RATES,
        lambda path: imported(path, "columns", columns="time=1,time_unit=ms,rate=2,unit=bit/s"),
    ),
    "folder's log": (lambda _: MERGED, lambda path: in_a_folder(path, "bbr_datalink_run1.log")),
    "folder's link log": (lambda _: LINK, lambda path: in_a_folder(path, "bbr_mm_datalink_run1.log")),
    "perf": (lambda _: PERF, lambda path: in_a_folder(path, "pantheon_perf.json")),
    "metadata": (lambda _: METADATA, lambda path: in_a_folder(path, "pantheon_metadata.json")),
    "tar in xz": (archive, lambda path: repacked(path, lzma.compress, "xz")),
    "tar in gz": (archive, lambda path: repacked(path, gzip.compress, "gz")),
    "tar": (archive, lambda path: repacked(path, bytes, "gz")),
    "packed": (lambda folder: lzma.compress(archive(folder)), lambda path: repacked(path, bytes, "xz")),
}
SHELLS = (
    b"mm-delay 28 mm-loss uplink .004 mm-onoff uplink 1 0.5 "
    b"mm-link --uplink-queue=droptail --uplink-queue-args=packets=50 up down -- cc 1"
)
STREAMS_XML = b"""<?xml version="1.0"?>
<omlc domain="d" id="i"><collect url="tcp:127.0.0.1:1" encoding="text"><stream mp="m" samples="5"><filter field="x"
operation="histogram"><property name="low" value="1.5"/></filter></stream><mp name="n" interval="2"/></collect></omlc>
"""
STREAMS_TOML = b"""domain = "d"
id = "i"
collect = [{ url = "tcp:127.0.0.1:1", encoding = "text", stream = [{ point = "m", samples = 5, filter = [
{ field = "x", operation = "histogram", properties = { low = 1.5, high = "9" } }] }, { point = "n", interval = 2.5 }] }]
"""
AMOUNTS = b"1min 30s\n12Mbit/s\n75kB\n0.4%\n1.5e3us\n2KiB\n"


def experiment_directory(folder: Path) -> Path:
    """A small one, whole, made once for each folder."""
    made = folder / "directory"
    if not made.exists():
        write_example(made, algorithms=("xz", "bz2"), levels=(1,), rounds=4, series=1)
        with closing(sqlite3.connect(made / "ledger.sqlite")) as ledger:
            ledger.execute("PRAGMA journal_mode = DELETE")
    return made


def file_of_directory(name: str) -> Callable[[Path], bytes]:
    return lambda folder: next(experiment_directory(folder).glob(name)).read_bytes()


def analysed(directory: Path) -> None:
    for verb in (study.state, study.trial_set, study.analyse):
        with suppress(TrialwiseError):
            verb(directory)
    study.analyse(directory)


def in_directory(path: Path, name: str) -> None:
    """Analyse an experiment directory in which this is one of the files."""
    directory = path.with_name("copy")
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(experiment_directory(path.parent), directory)
    next(directory.glob(name)).write_bytes(path.read_bytes())
    analysed(directory)


def rows_of_ledger(folder: Path) -> bytes:
    """A line of JSON for each row of a ledger: its table, and its columns."""
    with closing(sqlite3.connect(experiment_directory(folder) / "ledger.sqlite")) as ledger:
        ledger.row_factory = sqlite3.Row
        tables = ("meta", "session", "trial", "value", "event")
        rows = [[table, dict(row)] for table in tables for row in ledger.execute(f"SELECT * FROM {table}")]  # noqa: S608
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def with_rows(path: Path) -> None:
    """Analyse a directory whose ledger has these rows, as far as SQLite takes them."""
    directory = path.with_name("copy")
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(experiment_directory(path.parent), directory)
    with closing(sqlite3.connect(directory / "ledger.sqlite")) as ledger:
        ledger.execute("PRAGMA ignore_check_constraints = ON")
        for table in ("event", "value", "trial", "session", "meta"):
            ledger.execute(f"DELETE FROM {table}")  # noqa: S608
        for line in path.read_bytes().splitlines():
            # What is no row, or none that SQLite takes, is not there.
            with suppress(
                ValueError, TypeError, AttributeError, RecursionError, OverflowError, sqlite3.Error
            ):
                table, row = json.loads(line)
                marks = ", ".join("?" * len(row))
                names = ", ".join(f'"{name}"' for name in row)
                insert = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 what it does is the test's matter
                ledger.execute(insert, tuple(row.values()))
        ledger.commit()
    analysed(directory)


def streamed(path: Path, ending: str) -> None:
    """A file that says what is streamed where, as a program takes it."""
    file = path.with_name(f"streams.{ending}")
    file.write_bytes(path.read_bytes())
    try:
        _linux.StreamClient("app", ["--oml-id=i", "--oml-domain=d", f"--oml-config={file}"], {}).close(0.0)
    except ValueError as error:
        raise TrialwiseError(str(error)) from error


def quantities(text: str) -> None:
    for line in text.splitlines():
        for read in (seconds, bits_per_second, whole_bytes, _core.parse_size, _core.parse_fraction):
            with suppress(ValueError):
                read(line)


DIRECTORIES: dict[str, tuple[Callable[[Path], bytes], Callable[[Path], object]]] = {
    "ledger": (file_of_directory("ledger.sqlite"), lambda path: in_directory(path, "ledger.sqlite")),
    "rows of a ledger": (rows_of_ledger, with_rows),
    "experiment of a directory": (
        file_of_directory("experiment.toml"),
        lambda path: in_directory(path, "experiment.toml"),
    ),
    "samples of a directory": (
        file_of_directory("samples/000001-*"),
        lambda path: in_directory(path, "samples/000001-*"),
    ),
    "environment of a directory": (
        file_of_directory("environments/001.json"),
        lambda path: in_directory(path, "environments/001.json"),
    ),
}
WORDS: dict[str, tuple[Callable[[Path], bytes], Callable[[Path], object]]] = {
    "mahimahi's words": (
        lambda _: SHELLS,
        lambda path: in_text(path, lambda text: read_shells(shlex.split(text))),
    ),
    "streams in XML": (lambda _: STREAMS_XML, lambda path: streamed(path, "xml")),
    "streams in TOML": (lambda _: STREAMS_TOML, lambda path: streamed(path, "toml")),
    "quantities": (lambda _: AMOUNTS, lambda path: in_text(path, quantities)),
}


READERS = {
    **PACKETS_AND_PATHS,
    **TABLES,
    **EXPERIMENTS,
    **SIMULATIONS,
    **OUTPUTS,
    **DIRECTORIES,
    **WORDS,
    **FORMATS,
}
"""By name: what makes a sound file (a folder to work in is given), and what reads one."""
_SHARED = {
    "logs of tunnels": ("merged log", "tunnel log", "folder's log", "tunnel's end", "times of a run"),
    "logs of links": ("mm-link log", "folder's link log"),
    "packets in Parquet": ("parquet", "samples of a directory"),
    "captures": ("pcap", "pcapng", "captures of both ends"),
    "Pantheon's JSON": ("perf", "metadata"),
    "archives": ("tar in xz", "tar in gz", "tar", "packed"),
    "tables": (
        *("table", "table in gzip", "table in UTF-16", "conditions", "conditions, European"),
        *("trials", "order", "effects", "output in CSV"),
    ),
    "benchmarks in JSON": ("hyperfine", "pyperf"),
    "experiments": (
        *(name for name in EXPERIMENTS if name.startswith("experiment")),
        "experiment of a directory",
    ),
    "OrderSage's files": ("OrderSage's settings", "OrderSage's script"),
    "flow lists": ("flow list of HPCC", "connection matrix"),
    "workloads": ("sizes of flows", "starts of flows"),
    "outputs": ("output by pattern", "output in JSON"),
    "ledgers": ("ledger", "rows of a ledger"),
    "lists of rates": (
        "round trip of Hypatia",
        "Irish table",
        "FCC's table",
        "Norway's log",
        "table of rates",
    ),
    "words": ("mahimahi's words", "quantities"),
    **TOGETHER,
}
_ALONE = [name for name in READERS if not any(name in names for names in _SHARED.values())]
PARSERS = {**_SHARED, **{name: (name,) for name in _ALONE}}
"""By name: the readers that share a parser, and are fuzzed together."""
CORPUS = ROOT / "fuzz" / "corpus" / "readers"


def word(name: str) -> str:
    """The name of a parser or target as that of a file."""
    return re.sub(r"\W+", "-", name)


def kept(parser: str) -> Path:
    """Where `fuzz/run.py --keep` puts the inputs of a parser."""
    return CORPUS / f"{word(parser)}.zip"


LISTING = {*EXPERIMENTS, *DIRECTORIES}
"""Readers that list all problems of a file, a line for each."""


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


def read_or_refused(name: str, path: Path, content: bytes) -> float:
    """Let a reader have a content, hold it to what must be true of all, and return how many MiB it held."""
    path.write_bytes(content)
    held = _most_memory(anew=True)
    begun = time.process_time()
    try:
        READERS[name][1](path)
    except TrialwiseError as error:
        said = error.message
    else:
        said = "read"
    lines = said.split("\n") if name in LISTING else [said]
    assert all(line and "\n" not in line for line in lines), said
    assert len(content) > 1 << 20 or time.process_time() - begun < SECONDS
    held = _most_memory() - held
    assert held < MEMORY, said
    return held


def _most_memory(*, anew: bool = False) -> float:
    """MiB that this process held at most, from now on if `anew` (proc(5), clear_refs and VmHWM)."""
    if anew:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split(maxsplit=1)[0]) / 1024
