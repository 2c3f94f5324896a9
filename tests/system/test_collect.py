"""`trialwise collect` as a process: what it stores, what it says, and what it refuses."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl
import pytest
from tests.system import postgresql
from tests.system.conftest import TRIALWISE

RECORDED = Path(__file__).parents[3] / "shared" / "data" / "oml"
PATIENCE = 120.0


class Running:
    """A collector, and what it printed."""

    def __init__(self, process: subprocess.Popen[str], first: list[dict]) -> None:
        self.process = process
        self.first = first
        self.address = first[-1]["address"]

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def send(self, data: bytes) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as peer:
            peer.sendall(data)
            peer.shutdown(socket.SHUT_WR)
            while peer.recv(65536):
                pass

    def status(self) -> dict:
        return json.loads(told("collect", "--status", self.address, "--json").stdout)

    def wait(self, done, what: str = "") -> dict:
        deadline = time.monotonic() + PATIENCE
        while not done(status := self.status()):
            assert time.monotonic() < deadline, f"{what} {status}"
            time.sleep(0.05)
        return status

    def next_event(self, kind: str) -> dict:
        """Read what it prints until there is such an event."""
        while (event := json.loads(self.process.stdout.readline()))["event"] != kind:
            pass
        return event

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, list[dict]]:
        began = time.monotonic()
        self.process.send_signal(number)
        out = self.process.stdout.read()
        self.process.wait(timeout=PATIENCE)
        assert time.monotonic() - began < 15
        return self.process.returncode, [json.loads(line) for line in out.splitlines()]


def told(*words: str, **settings) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*TRIALWISE, *words], capture_output=True, text=True, timeout=PATIENCE, check=False, **settings
    )


@contextmanager
def collector(*words: str | Path, listen: str = "127.0.0.1:0", **settings) -> Iterator[Running]:
    process = subprocess.Popen(
        [*TRIALWISE, "collect", "--listen", listen, "--json", *map(str, words)],
        stdout=subprocess.PIPE, text=True, **settings,
    )  # fmt: skip
    try:
        first = [json.loads(process.stdout.readline())]
        while first[-1]["event"] == "warning":
            first.append(json.loads(process.stdout.readline()))
        assert first[-1]["event"] == "listening"
        yield Running(process, first)
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


def header(
    domain: str = "d", sender: str = "s", schema: str = "1 app_m n:int32", content: str = "text"
) -> str:
    return (
        f"protocol: 5\ndomain: {domain}\nstart-time: 1000\nsender-id: {sender}\napp-name: app\n"
        f"schema: {schema}\ncontent: {content}\n\n"
    )


def query(file: Path, sql: str) -> list[tuple]:
    database = sqlite3.connect(file)
    try:
        return database.execute(sql).fetchall()
    finally:
        database.close()


def test_rows_come_out_and_a_term_is_answered(tmp_path: Path):
    with collector("--store", f"sqlite:{tmp_path}") as running:
        running.send((header() + "1\t1\t1\t5\n1\t1\t2\tx\n1\t1\t3\t1\t2\n1\t1\t9\t7\n").encode())
        status = running.wait(lambda status: status["counters"]["rows"] == 3)
        code, events = running.stop()
    assert code == 0
    assert query(tmp_path / "d.sq3", "SELECT oml_seq, n FROM app_m") == [(1, 5), (2, None), (9, 7)]
    assert status["counters"]["damaged"] == {"fields": 1}
    (sender,) = status["senders"]
    assert (sender["domain"], sender["sender"], sender["damaged"], sender["nulled"], sender["rows"]) == (
        "d",
        "s",
        1,
        1,
        3,
    )
    assert sender["missing"] == 6, "the damaged one is none of the stored"
    assert sender["clock"]["method"] == "upper_bound"
    assert events[-1]["event"] == "stopped"
    assert (events[-1]["rows"], events[-1]["backlog"], events[-1]["failure"]) == (3, 0, None)


def test_rows_come_out_of_parquet(tmp_path: Path):
    with collector("--store", f"parquet:{tmp_path}") as running:
        running.send((header() + "".join(f"1\t1\t{n}\t{n}\n" for n in range(1000))).encode())
        status = running.wait(lambda status: status["counters"]["rows"] == 1000)
        rows = pl.read_parquet(tmp_path / "d" / "app_m" / "*.parquet")
        assert (rows["n"].to_list(), rows["n"].dtype) == (list(range(1000)), pl.Int32), "while it runs"
        running.send((header(sender="t") + "1\t1\t1\t-1\n").encode())
        code, events = running.stop()
    assert (code, status["troubles"]) == (0, {})
    assert (events[-1]["rows"], events[-1]["backlog"]) == (1001, 0), "a stop commits what was put off"
    assert pl.read_parquet(tmp_path / "d" / "app_m" / "*.parquet")["n"].sum() == 499_499
    assert pl.read_parquet(tmp_path / "d" / "_senders" / "*.parquet").rows() == [("s", 1), ("t", 2)]


@pytest.mark.skipif(postgresql.programs() is None, reason="no PostgreSQL; apt-get install postgresql")
def test_rows_come_out_of_postgresql_also_after_it_was_away(tmp_path: Path):
    with (
        postgresql.server() as server,
        (tmp_path / "said").open("w") as said,
        collector("--store", server.url, "--spool", tmp_path / "spool", stderr=said) as running,
    ):
        running.send((header() + "1\t1\t1\t5\n").encode())
        running.wait(lambda status: status["counters"]["rows"] == 1)
        assert server.select("SELECT oml_seq, n FROM d.app_m") == ["1|5"]
        server.stop()
        running.send((header(sender="t") + "1\t1\t2\t7\n").encode())
        status = running.wait(lambda status: "PostgreSQL" in status["troubles"].get("d", ""))
        assert status["counters"]["backlog"] > 0
        shown = told("collect", "--status", running.address).stdout
        assert "domain d cannot be stored now, its rows wait in the spool: PostgreSQL: " in shown, shown
        server.start()
        running.wait(lambda status: status["counters"]["rows"] == 2 and not status["troubles"])
        code, events = running.stop()
        assert server.select("SELECT name, n FROM d.app_m JOIN d._senders ON id = oml_sender_id") == [
            "s|5",
            "t|7",
        ]
        assert (code, events[-1]["backlog"]) == (0, 0)
        events = running.first + events
        warnings = [event["text"] for event in events if event["event"] == "warning"]
        assert "PGPASSWORD" in warnings[0]
        assert any("domain d cannot be stored now" in text for text in warnings)
        assert "not-asked" not in f"{events} {(tmp_path / 'said').read_text()}"


@pytest.mark.skipif(not RECORDED.exists(), reason="no ../shared/data/oml beside the repository")
def test_recorded_streams_of_oml_come_out(tmp_path: Path):
    manifest = json.loads((RECORDED / "MANIFEST.json").read_text())
    streams = [
        "scalars_text.txt",
        "scalars_binary.bin",
        "vectors_binary.bin",
        "hand_v1_text.txt",
        "long_text.txt",
    ]
    assert manifest
    with collector("--store", f"sqlite:{tmp_path}") as running:
        for name in streams:
            running.send((RECORDED / name).read_bytes())
        status = running.wait(lambda status: status["counters"]["connections"] == len(streams))
        running.wait(lambda status: status["counters"]["backlog"] == 0)
        assert running.stop()[0] == 0
    assert status["counters"]["refused"] == 0
    assert list(tmp_path.glob("*.sq3"))


OML4PY = """
import oml4py, sys
client = oml4py.OMLBase("app", "python", "node", "tcp:" + sys.argv[1])
client.addmp("m", "number:int32 value:double text:string")
client.start()
for n in range(200):
    client.inject("m", [n, n / 8, "tab\\there"])
client.close()
"""


@pytest.mark.skipif(importlib.util.find_spec("oml4py") is None, reason="pip install oml4py")
def test_oml4py_streams_to_it(tmp_path: Path):
    with collector("--store", f"sqlite:{tmp_path}") as running:
        subprocess.run([sys.executable, "-W", "ignore", "-c", OML4PY, running.address], check=True)
        running.wait(lambda status: status["counters"]["rows"] >= 200)
        assert running.stop(signal.SIGINT)[0] == 0
    assert query(
        tmp_path / "python.sq3", "SELECT count(*), sum(number), sum(value), max(text) FROM app_m"
    ) == [(200, 19900, 2487.5, "tab\there")]


def test_metrics_are_openmetrics(tmp_path: Path):
    parser = pytest.importorskip(
        "prometheus_client.openmetrics.parser", reason="pip install prometheus-client"
    )
    import urllib.request

    with collector("--store", f"sqlite:{tmp_path}") as running:
        running.send((header(sender='a "b" \\c') + "1\t1\t1\t5\n1\t1\t2\tx\n1\t1\t3\t1\t2\n").encode())
        running.wait(lambda status: status["counters"]["rows"] == 2)
        with urllib.request.urlopen(f"http://{running.address}/metrics") as answer:
            assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
            text = answer.read().decode()
    families = {family.name: family for family in parser.text_string_to_metric_families(text)}
    (rows,) = families["trialwise_collector_sender_rows"].samples
    assert (rows.value, rows.labels) == (2, {"domain": "d", "sender": 'a "b" \\c'})
    (damaged,) = families["trialwise_collector_damaged_rows"].samples
    assert (damaged.labels, damaged.value) == ({"reason": "fields"}, 1)
    assert families["trialwise_collector_rows"].samples[0].value == 2
    assert families["trialwise_collector_nulled_rows"].samples[0].value == 1


def test_what_cannot_start_says_why(tmp_path: Path):
    store = f"sqlite:{tmp_path}"
    with collector("--store", store) as running:
        for words, code, said in [
            (["--listen", running.address, "--store", f"sqlite:{tmp_path}/b"], 2, "Address already in use"),
            (["--listen", "127.0.0.1:0", "--store", store], 5, "in use by another collector"),
            (["--listen", "127.0.0.1:0", "--store", "x:y"], 2, "is unknown"),
            (["--listen", "127.0.0.1:0"], 2, "--store"),
            (["--listen", "nowhere", "--store", store], 2, "HOST:PORT"),
            (["--listen", "127.0.0.1:0", "--store", "sqlite:/dev/null/x"], 5, "/dev/null/x"),
            (["--listen", "127.0.0.1:0", "--store", "parquet:/dev/null/x"], 5, "/dev/null/x"),
            (
                ["--store", "postgresql://h:many/d", "--spool", f"{tmp_path}/c", "--listen", "127.0.0.1:0"],
                2,
                "port",
            ),
            (
                ["--store", "postgresql://me:sesame@h/d?sslmode=never", "--listen", "127.0.0.1:0"],
                2,
                "sslmode",
            ),
            (["--store", "postgresql://me:sesame@/d", "--listen", "127.0.0.1:0"], 2, "no host"),
            (["--store", store, "--spool-capacity", "many"], 2, "bytes"),
            (["--status", "127.0.0.1:1"], 6, "no collector answers"),
            (["--status", "host:port"], 2, "is not a valid address"),
            (["--status", "127.0.0.1:99999"], 2, "is not a valid address"),
        ]:
            done = told("collect", *words)
            assert (done.returncode, said in done.stderr) == (code, True), (words, done)
            assert "Traceback" not in done.stderr
            assert "sesame" not in done.stdout + done.stderr


def test_other_machines_and_no_token_is_worth_a_warning(tmp_path: Path):
    with collector("--store", f"sqlite:{tmp_path}", listen="0.0.0.0:0") as running:
        _, events = running.stop()
    assert [event["event"] for event in events if event["event"] == "warning"] == ["warning"]
    assert "token" in next(event for event in events if event["event"] == "warning")["text"]


def test_a_kill_loses_no_acknowledged_row_and_the_next_start_goes_on(tmp_path: Path):
    words = ["--store", f"sqlite:{tmp_path}"]
    with collector(*words) as running:
        running.send((header() + "".join(f"1\t1\t{n}\t{n}\n" for n in range(50_000))).encode())
        running.wait(lambda status: status["counters"]["bytes"] > 500_000)
        time.sleep(0.1)
        os.kill(running.process.pid, signal.SIGKILL)
    with collector(*words) as running:
        running.wait(lambda status: status["counters"]["backlog"] == 0)
        running.stop()
    assert query(tmp_path / "d.sq3", "SELECT count(*), count(DISTINCT n), max(n) FROM app_m") == [
        (50_000, 50_000, 49_999)
    ]


BAD = {
    "version": header().replace("protocol: 5", "protocol: 6"),
    "crlf": header().replace("\n", "\r\n"),
    "no domain": header().replace("domain: d\n", ""),
    "climbing": header("../up"),
    "quote": header("quo'te"),
    "double quote": header('quo"te'),
    "long": header("a" * 10_000),
    "sender": header(sender="a" * 10_000),
    "type": header(schema="1 app_m n:quaternion"),
    "content": header(content="json"),
    "garbage": "\xff" * 1000,
}


def test_bad_headers_are_counted_and_harm_nobody(tmp_path: Path):
    with (
        collector("--store", f"sqlite:{tmp_path}/store") as running,
        socket.create_connection(("127.0.0.1", running.port)) as other,
    ):
        other.sendall((header("good") + "1\t1\t1\t1\n").encode())
        for text in BAD.values():
            with suppress(ConnectionResetError, BrokenPipeError):
                running.send(text.encode("latin-1"))
        other.sendall(b"1\t1\t2\t2\n")
        running.wait(lambda status: status["counters"]["rows"] == 2)
        running.wait(lambda status: status["counters"]["refused_for"] == {"header": len(BAD)})
        running.stop()
    assert [path.name for path in (tmp_path / "store").iterdir() if path.name[0] != "."] == ["good.sq3"]
    assert not (tmp_path / "up.sq3").exists()


def test_rows_that_make_no_sense_are_counted_by_reason(tmp_path: Path):
    lying = b"\xaa\xaa\x02\x7f\xff\xff\xff\x01\x01"
    good = b"\xaa\xaa\x01\x00\x12\x01\x01\x05\x00\x00\x00\x02\x02\x00\x00\x00\x00\x00\x05\x00\x00\x00\x09"
    with collector("--store", f"sqlite:{tmp_path}") as running:
        running.send((header(sender="endless") + "9" * 6_000_000 + "\n1\t1\t1\t5\n").encode())
        running.send(header(sender="lying", content="binary").encode() + lying + good)
        late = "1\t0\t1\t.\tschema\t1 app_m n:int32 text:string\n"
        running.send((header(sender="changes") + f"1\t1\t1\t1\n{late}1\t1\t2\t2\tx\n").encode())
        status = running.wait(lambda status: status["counters"]["rows"] >= 4)
        running.stop()
    assert status["counters"]["damaged"] == {"toolong": 2}
    assert query(tmp_path / "d.sq3", "SELECT count(*) FROM app_m") == [(3,)]
    assert query(tmp_path / "d.sq3", "SELECT n, text FROM app_m_2") == [(2, "x")]


def resident(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) << 10


def test_two_thousand_clients_on_a_few_threads(tmp_path: Path):
    with collector("--store", f"sqlite:{tmp_path}") as running:
        peers = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(2000)]
        try:
            for number, peer in enumerate(peers):
                peer.sendall(header(sender=f"s{number}").encode())
            running.wait(lambda status: status["counters"]["open"] == 2000)
            time.sleep(1)
            before = resident(running.process.pid)
            for sequence in range(20):
                for peer in peers:
                    peer.sendall(b"1\t1\t%d\t%d\n" % (sequence, sequence))
            running.wait(lambda status: status["counters"]["rows"] == 40_000)
            assert resident(running.process.pid) - before < 64 << 20
            assert len(list(Path(f"/proc/{running.process.pid}/task").iterdir())) <= 8
        finally:
            for peer in peers:
                peer.close()
        assert running.stop()[0] == 0


def test_a_collector_that_forwards_brings_everything_there(tmp_path: Path):
    with collector("--store", f"sqlite:{tmp_path}/store") as far:
        tokens = tmp_path / "tokens"
        tokens.write_text("# who may send\nopen-sesame\nmine secret\n")
        tokens.chmod(0o600)
        near_words = ["--forward", far.address, "--spool", tmp_path / "spool", "--forward-token-file", tokens]
        with collector(*near_words) as near:
            rows = "".join(f"1\t1\t{n}\t{n}\n" for n in range(5000))
            near.send((header(domain="mine") + rows).encode())
            assert told("collect", "--pause", near.address).returncode == 0
            near.send((header(domain="late") + rows).encode())
            far.wait(lambda status: status["counters"]["rows"] >= 0)
            assert near.status()["forward"]["paused"]
            assert told("collect", "--resume", near.address).returncode == 0
            far.wait(lambda status: status["counters"]["rows"] == 10_000)
            near.wait(lambda status: status["counters"]["backlog"] == 0)
            code, events = near.stop()
        assert (code, events[-1]["rows"], events[-1]["backlog"]) == (0, 10_000, 0)
        assert told("collect", "--pause", far.address).returncode == 6, "it forwards nothing"
        assert {sender["protocol"] for sender in far.status()["senders"]} == {"relayed"}
        far.stop()
    for domain in ("mine", "late"):
        assert query(tmp_path / "store" / f"{domain}.sq3", "SELECT count(*), sum(n) FROM app_m") == [
            (5000, 12497500)
        ]


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root")
def test_a_forwarder_that_is_refused_says_so_and_keeps_what_it_has(tmp_path: Path):
    (tmp_path / "tokens").write_text("secret\n")
    with collector("--store", f"sqlite:{tmp_path / 'home'}", "--token-file", tmp_path / "tokens") as home:
        words = ("--forward", home.address, "--spool", tmp_path / "spool")
        with collector(*words) as away:
            away.send((header() + "0.5\t1\t1\t7\n").encode())
            events = [away.next_event("warning")]
            time.sleep(1.5)  # it looks every second, and warns once
            code, rest = away.stop()
            events += rest
        warned = [event["text"] for event in events if event["event"] == "warning"]
        assert [text for text in warned if "d is refused by the other collector" in text] == warned[-1:]
        assert "TRIALWISE_FORWARD_TOKEN" in warned[-1]
        assert (code, events[-1]["backlog"] > 0) == (0, True)
        with collector(*words, env={**os.environ, "TRIALWISE_FORWARD_TOKEN": "secret"}):
            home.wait(lambda status: status["counters"]["rows"] == 1)
    assert query(tmp_path / "home" / "d.sq3", "SELECT n FROM app_m") == [(7,)]


def test_a_full_disk_makes_clients_wait_and_nothing_is_lost(tmp_path: Path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        (disk / "ballast").write_bytes(bytes(44 << 20))
        with collector("--store", f"sqlite:{tmp_path}/store", "--spool", disk / "spool") as running:
            rows = "".join(f"1\t1\t{n}\t{n}\n" for n in range(600_000))
            with socket.create_connection(("127.0.0.1", running.port)) as peer:
                peer.settimeout(1.0)
                data = memoryview((header() + rows).encode())
                with suppress(TimeoutError):
                    while data:
                        data = data[peer.send(data[: 1 << 16]) :]
                assert running.status()["failure"] is None, "it waits"
                (disk / "ballast").unlink()
                peer.settimeout(PATIENCE)
                peer.sendall(data)
            running.wait(lambda status: status["counters"]["rows"] == 600_000)
            assert running.stop()[0] == 0
        assert query(tmp_path / "store" / "d.sq3", "SELECT count(*), count(DISTINCT n) FROM app_m") == [
            (600_000, 600_000)
        ]
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)
