"""A database of SQLite that is grown, thinned out, changed, read and tidied: one workload, measured and printed as JSON.

Usage: workloads.py lookup|scan|load|update|delete|vacuum SEED, or workloads.py make, or workloads.py serve, or workloads.py ask
lookup|… SEED

make    writes a database of 20,000 rows of 100 to 300 bytes, with an index on their random names
lookup  reads 5,000 of these by their names, drawn at random
scan    adds up the lengths of all rows
load    inserts 5,000 more rows, with random names
update  makes 2,000 rows, drawn at random, twice as long
delete  deletes 5,000 of the rows that are there, drawn at random
vacuum  VACUUM: writes the database anew, without gaps
serve   keeps the database open, writes it first if it is not there, and executes what it is asked for on the socket work/socket
ask     has the server execute a workload

Each prints the milliseconds of CPU that it took, the thousands of SQLite's own instructions (a count that no other program on the
machine changes), and the megabytes of the file that it found.
"""

from __future__ import annotations

import contextlib
import json
import random
import socket
import sqlite3
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FILE = Path("work/data.sqlite")
SOCKET = Path("work/socket")
ROWS = 20_000
STEP = 100
"""SQLite's instructions between two counts."""

Work = tuple[str, Sequence[tuple[Any, ...]]]


def row(rng: random.Random) -> tuple[str, bytes]:
    return f"{rng.getrandbits(64):016x}", bytes(rng.randrange(100, 300))


def made_rows() -> list[tuple[str, bytes]]:
    rng = random.Random(1)  # noqa: S311
    return [row(rng) for _ in range(ROWS)]


def make(database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, body BLOB)")
    database.execute("CREATE INDEX item_name ON item (name)")
    database.executemany("INSERT INTO item (name, body) VALUES (?, ?)", made_rows())


def chosen(database: sqlite3.Connection, rng: random.Random, count: int) -> list[tuple[int]]:
    return rng.sample(database.execute("SELECT id FROM item").fetchall(), count)


def workload(database: sqlite3.Connection, name: str, rng: random.Random) -> Work:
    """The statement of a workload, and the parameters that it is executed with, one after the other."""
    if name == "lookup":
        names = rng.choices([name for name, _ in made_rows()], k=5_000)
        return "SELECT body FROM item WHERE name = ?", [(name,) for name in names]
    if name == "load":
        return "INSERT INTO item (name, body) VALUES (?, ?)", [row(rng) for _ in range(5_000)]
    if name == "update":
        longer = "UPDATE item SET body = zeroblob(2 * length(body)) WHERE id = ?"
        return longer, chosen(database, rng, 2_000)
    if name == "delete":
        return "DELETE FROM item WHERE id = ?", chosen(database, rng, 5_000)
    return {"scan": "SELECT sum(length(body)) FROM item", "vacuum": "VACUUM"}[name], [()]


def measure(database: sqlite3.Connection, name: str, seed: int) -> dict[str, float]:
    """What the workload cost, with its transaction."""
    size = FILE.stat().st_size
    statement, parameters = workload(database, name, random.Random(seed))  # noqa: S311
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    database.set_progress_handler(count, STEP)
    start = time.process_time()
    with database:
        for values in parameters:
            database.execute(statement, values).fetchall()
    seconds = time.process_time() - start
    return {"cpu": 1e3 * seconds, "steps": steps * STEP / 1e3, "size": size / 1e6}


def make_file() -> None:
    """Write the database anew."""
    FILE.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(FILE)) as database, database:
        make(database)


def serve() -> None:
    """Execute workloads in one process, whose connection keeps its cache, until it is ended."""
    FILE.parent.mkdir(exist_ok=True)
    if not FILE.exists():
        make_file()
    SOCKET.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(FILE)) as database, socket.socket(socket.AF_UNIX) as door:
        door.bind(str(SOCKET))
        door.listen()
        print("ready", flush=True)
        while True:
            connection, _ = door.accept()
            with connection:
                name, seed = connection.recv(100).decode().split()
                connection.sendall(json.dumps(measure(database, name, int(seed))).encode())


def ask(name: str, seed: str) -> str:
    """Have the server execute a workload; what it says."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(SOCKET))
        connection.sendall(f"{name} {seed}".encode())
        connection.shutdown(socket.SHUT_WR)
        return connection.recv(10_000).decode()


def main() -> None:
    """Do what the first argument says."""
    match sys.argv[1:]:
        case ["make"]:
            make_file()
        case ["serve"]:
            serve()
        case ["ask", name, seed]:
            print(ask(name, seed))
        case [name, seed]:
            with contextlib.closing(sqlite3.connect(FILE)) as database:
                print(json.dumps(measure(database, name, int(seed))))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
