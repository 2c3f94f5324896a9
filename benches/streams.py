"""What the collector takes in, holds and loses, by the release builds of the crates' examples.

    .venv/bin/python benches/streams.py [SECONDS]

- rows per CPU-second of the collector's threads, from the socket to the spool, to SQLite, to Parquet, from 1 and 4 clients: at least
  5, 1.2 and 3 million;
- 200,000 rows/s from each of 1 and 2 clients with default settings, by OML text, OML binary and native: every row is in the database;
- twice the load that SQLite stores, for SECONDS (60): the memory of the collector does not grow.

Kept in benches/results/streams.json. Restarts (50 at 50,000 rows/s) and 1,000 runs of 2 to 16 threads are soak tests: `make soak` runs
`fifty_restarts_at_full_load_lose_and_double_nothing` (crates/collector/tests/restarts.rs) and
`a_thousand_short_runs_end_with_every_row_whole` (crates/streams/tests/delivery.rs). benches/inject_cost.py has the cost of an inject.
"""

from __future__ import annotations

import re
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from measuring import write

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "target" / "release" / "examples"
Row = dict[str, object]

LEAST = {"spool": 5e6, "sqlite": 1.2e6, "parquet": 3e6}
INGEST = re.compile(
    r"(?:(?P<store>\w+), )?(?P<clients>\d) client\(s\), (?P<rows>\d+) rows.*\n"
    r"  spool +(?P<spool>\d+) rows/CPU-s.*\n  \w+ +(?P<stored>\d+) rows/CPU-s, +(?P<rate>\d+) rows/s"
)
SUSTAINED = re.compile(r"(.+): (\d+) rows sent at (\d+) rows/s from \d+ threads, (\d+) lost")


def build() -> None:
    for package in ("streams", "collector"):
        command = ["cargo", "build", "--release", "--quiet", "--locked", "-p", f"trialwise-{package}"]
        subprocess.run([*command, "--examples"], cwd=ROOT, check=True)


# ---- rows per CPU-second ----


def ingest() -> tuple[list[Row], float]:
    """The figures, and the rows that SQLite stores in a second of this machine's time from one client."""
    printed = subprocess.run([EXAMPLES / "ingest_rate"], check=True, capture_output=True, text=True).stdout
    found = list(INGEST.finditer(printed))
    rows: list[Row] = []
    for one in found:
        store = one["store"] or "sqlite"
        for what, key in (("spool", "spool"), (store, "stored")):
            rows.append(
                {
                    "what": f"{what} ({store})" if what == "spool" else what,
                    "clients": int(one["clients"]),
                    "rows_per_cpu_second": int(one[key]),
                    "at_least": LEAST[what],
                    "n": int(one["rows"]),
                    "kept": int(one[key]) >= LEAST[what],
                }
            )
    sqlite = [
        float(one["rate"])
        for one in found
        if (one["store"] or "sqlite") == "sqlite" and one["clients"] == "1"
    ]
    return rows, sqlite[0]


# ---- a collector of its own process ----


@dataclass
class Collector:
    process: subprocess.Popen[str]
    address: str
    folder: Path

    def memory(self) -> int:
        """Resident bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024  # type: ignore[index]

    def count(self, domain: str, table: str) -> int:
        with closing(sqlite3.connect(f"file:{self.folder / domain}.sq3?mode=ro", uri=True)) as database:
            return database.execute(f"SELECT coalesce(max(oml_tuple_id), 0) FROM {table}").fetchone()[0]  # noqa: S608


@contextmanager
def collector() -> Generator[Collector]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [EXAMPLES / "collect", "127.0.0.1:0", f"sqlite:{folder}"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            address = process.stderr.readline().removeprefix("listening at ").strip()
            yield Collector(process, address, Path(folder))
        finally:
            process.kill()
            process.wait()


# ---- nothing lost with default settings ----

RATE, SECONDS = 200_000, 5


def sustained(clients: int) -> list[Row]:
    with collector() as server:
        command = [EXAMPLES / "sustained_rate", str(RATE), str(SECONDS), "1", server.address]
        started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(clients)]
        printed = "".join(process.communicate()[0] for process in started)
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(30)
        stored = server.count("rate", "rate_m")
    found = SUSTAINED.findall(printed)
    rows: list[Row] = [
        {
            "what": f"{name}, {RATE} rows/s for {SECONDS} s",
            "clients": clients,
            "rate": int(rate),
            "lost": int(lost),
            "n": int(sent),
            "kept": int(lost) == 0 and int(rate) > 0.95 * RATE,
        }
        for name, sent, rate, lost in found
    ]
    sent = sum(int(row[1]) for row in found)
    what = "in the database, of all rows of these"
    rows.append({"what": what, "clients": clients, "lost": sent - stored, "n": sent, "kept": sent == stored})
    return rows


# ---- memory under twice the load ----

HEAD = (
    b"protocol: 5\ndomain: flood\nstart-time: 1\nsender-id: %d\napp-name: a\n"
    b"schema: 1 a_m a:int32 b:int32 c:int32\ncontent: binary\n\n"
)
BLOCK = 10_000


def block() -> bytes:
    """Rows of three int32."""
    values = b"".join(b"\x05" + struct.pack(">i", value) for value in (7, -7, 1 << 20))
    row = b"\x03\x01\x05%s\x02" + struct.pack(">ib", 1 << 29, 1) + values
    contents = (row.replace(b"%s", struct.pack(">i", number)) for number in range(BLOCK))
    return b"".join(b"\xaa\xaa\x01" + struct.pack(">H", len(content)) + content for content in contents)


@dataclass
class Load:
    """Rows in a second from each of two clients, and what they have sent."""

    rate: float
    sent: list[int]


def flood(address: str, sender: int, load: Load, seconds: float) -> None:
    """Send as the load says, if the collector takes it."""
    host, port = address.rsplit(":", 1)
    rows, begin = block(), time.monotonic()
    with socket.create_connection((host, int(port))) as peer:
        peer.sendall(HEAD % sender)
        while (elapsed := time.monotonic() - begin) < seconds:
            if load.sent[sender] > elapsed * load.rate:
                time.sleep(0.005)
                continue
            peer.sendall(rows)
            load.sent[sender] += BLOCK


def watch(server: Collector, threads: list[threading.Thread], load: Load) -> list[int]:
    """The memory, four times a second, while the load follows what is stored: twice that, and a tenth more."""
    memory, begin = [], time.monotonic()
    while any(thread.is_alive() for thread in threads):
        memory.append(server.memory())
        time.sleep(0.25)
        if (elapsed := time.monotonic() - begin) > 2:
            load.rate = max(load.rate, 1.1 * server.count("flood", "a_m") / elapsed)
    return memory


def overload(stored_rate: float, seconds: float) -> Row:
    """Memory while two clients send twice what is stored."""
    with collector() as server:
        load = Load(stored_rate, [0, 0])
        threads = [
            threading.Thread(target=flood, args=(server.address, sender, load, seconds)) for sender in (0, 1)
        ]
        for thread in threads:
            thread.start()
        memory = watch(server, threads, load)
        stored, alive = server.count("flood", "a_m"), server.process.poll() is None
    half, sent = len(memory) // 2, sum(load.sent)
    # Gigabytes wait at the end; what the allocator keeps settles within some MiB.
    early, late = max(memory[:half]), max(memory[half:])
    return {
        "what": f"memory at twice the load for {seconds:g} s",
        "clients": 2,
        "sent_per_second": round(sent / seconds),
        "stored_per_second": round(stored / seconds),
        "sent_of_stored": round(sent / stored, 2),
        "first_half_mib": round(early / 2**20, 1),
        "second_half_mib": round(late / 2**20, 1),
        "n": len(memory),
        "kept": alive and late < 1.25 * early and sent >= 1.9 * stored,
    }


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    build()
    rows, stored_rate = ingest()
    rows += [row for clients in (1, 2) for row in sustained(clients)]
    rows.append(overload(stored_rate, seconds))
    write("streams", rows)
    sys.exit(not all(row["kept"] for row in rows))


if __name__ == "__main__":
    main()
