"""A load for memcached: one of four tests, measured and printed as JSON.

Usage: load.py cmd_set|cmd_get|get_hits|cache SEED, or load.py fresh

The first three are named after the tests of memcached's own mc-crusher that OrderSage's study ran. The tests share a server and
its memory, and no keys:

cmd_set   stores 100,000 values of 700 bytes, more than the memory holds, each under its own key
cmd_get   asks 100,000 times for keys that nobody has stored
get_hits  stores 20,000 values of 100 bytes, then (this is measured) asks 100,000 times for one of them, all equally likely
cache     asks 50,000 times for one of 50,000 keys, of Zipf's popularity, and stores what was not there; 10 to 1000 bytes,
          uniform in the logarithm, each key always the same

Requests go over four connections, fifty at a time on each. `fresh` succeeds when the server answers and has seen no request that
reads or stores yet.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

SOCKET = "memcached.sock"
REQUESTS = 100_000
CONNECTIONS = 4
BATCH = 50
WAIT_SECONDS = 10.0

Batch = list[bytes]


class Connection:
    """Sends requests together and reads all of their replies."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(WAIT_SECONDS)
        self._socket.connect(SOCKET)

    def send(self, requests: Batch) -> None:
        self._socket.sendall(b"".join(requests))

    def replies(self, end: bytes, count: int) -> bytes:
        """What comes until `end` was there `count` times."""
        read = b""
        while read.count(end) < count:
            part = self._socket.recv(1 << 18)
            if not part:
                raise ConnectionError("memcached closed the connection")
            read += part
        return read

    def stats(self) -> dict[str, str]:
        self.send([b"stats\r\n"])
        lines = self.replies(b"END\r\n", 1).decode().splitlines()
        return dict(line.split(maxsplit=2)[1:] for line in lines if line.startswith("STAT "))


def put(key: str, size: int) -> bytes:
    return f"set {key} 0 0 {size}\r\n{'x' * size}\r\n".encode()


def ask(key: str) -> bytes:
    return f"get {key}\r\n".encode()


def batches(requests: Iterator[bytes]) -> list[Batch]:
    return list(iter(lambda: list(itertools.islice(requests, BATCH)), []))


def store(connections: list[Connection], work: list[Batch]) -> int:
    """How many of the values were stored."""
    return sum(read.count(b"STORED") for _, read in exchange(connections, work, b"\r\n"))


def fetch(connections: list[Connection], work: list[Batch]) -> int:
    """How many of the keys were found."""
    return sum(read.count(b"VALUE ") for _, read in exchange(connections, work, b"END\r\n"))


def fetch_or_store(connections: list[Connection], work: list[Batch], sizes: dict[bytes, int]) -> int:
    """How many of the keys were found; the others are stored."""
    found = 0
    missing: list[Batch] = []
    for batch, read in exchange(connections, work, b"END\r\n"):
        there = set(re.findall(rb"VALUE (\S+)", read))
        asked = [request.split()[1] for request in batch]
        absent = [key for key in asked if key not in there]
        found += len(asked) - len(absent)
        missing.append([put(key.decode(), sizes[key]) for key in absent])
        if len(missing) == CONNECTIONS:
            store(connections, [batch for batch in missing if batch])
            missing = []
    store(connections, [batch for batch in missing if batch])
    return found


def exchange(connections: list[Connection], work: list[Batch], end: bytes) -> Iterator[tuple[Batch, bytes]]:
    """Each batch with its replies; all connections have one under way before the first is read."""
    for start in range(0, len(work), len(connections)):
        pairs = list(zip(connections, work[start : start + len(connections)], strict=False))
        for connection, batch in pairs:
            connection.send(batch)
        for connection, batch in pairs:
            yield batch, connection.replies(end, len(batch))


def prepared(test: str, seed: int, connections: list[Connection]) -> tuple[Callable[[], int], int]:
    """What is to be measured, which returns how many requests were served, and how many there are."""
    rng = random.Random(seed)  # noqa: S311
    if test == "cmd_set":
        work = batches(put(f"set-{number}", 700) for number in range(REQUESTS))
        return lambda: store(connections, work), REQUESTS
    if test == "cmd_get":
        work = batches(ask(f"get-{number}") for number in range(REQUESTS))
        return lambda: fetch(connections, work), REQUESTS
    if test == "get_hits":
        store(connections, batches(put(f"hits-{number}", 100) for number in range(20_000)))
        work = batches(ask(f"hits-{number}") for number in rng.choices(range(20_000), k=REQUESTS))
        return lambda: fetch(connections, work), REQUESTS
    popularity = list(itertools.accumulate(1 / rank for rank in range(1, 50_001)))
    sizes = {
        f"cache-{number}".encode(): round(10 ** random.Random(number).uniform(1, 3))  # noqa: S311
        for number in range(50_000)
    }
    chosen = rng.choices(range(50_000), cum_weights=popularity, k=REQUESTS // 2)
    work = batches(ask(f"cache-{number}") for number in chosen)
    return lambda: fetch_or_store(connections, work, sizes), REQUESTS // 2


def cpu_seconds(stats: dict[str, str]) -> float:
    return float(stats["rusage_user"]) + float(stats["rusage_system"])


def measure(test: str, seed: int) -> dict[str, float]:
    """Requests for each second, microseconds of the server's CPU for each request, and percent that were served."""
    connections = [Connection() for _ in range(CONNECTIONS)]
    run, count = prepared(test, seed, connections)
    before = cpu_seconds(connections[0].stats())
    start = time.perf_counter()
    served = run()
    seconds = time.perf_counter() - start
    worked = cpu_seconds(connections[0].stats()) - before
    return {"rate": count / seconds, "cpu": 1e6 * worked / count, "served": 100 * served / count}


def main() -> None:
    """Do what the first argument says."""
    what = sys.argv[1]
    try:
        if what == "fresh":
            stats = Connection().stats()
            sys.exit(any(int(stats[name]) for name in ("cmd_get", "cmd_set", "curr_items")))
        else:
            print(json.dumps(measure(what, int(sys.argv[2]))))
    except OSError as error:
        sys.exit(f"load.py: no memcached at {Path(SOCKET).resolve()}: {error}; [service.memcached] starts it")


if __name__ == "__main__":
    main()
