"""Ledgers are read without a trace, also while another process writes them."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from example_directory import write_example
from trialwise.store.connection import copy_in_memory
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.untouched import untouched

WRITER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("PRAGMA wal_autocheckpoint = 4")
connection.execute("PRAGMA synchronous = OFF")
for table in ("one", "other"):
    connection.execute(f"CREATE TABLE {table} (row INTEGER PRIMARY KEY, number INTEGER, text TEXT)")
    connection.executemany(f"INSERT INTO {table} VALUES (?, 0, ?)", [(row, "x" * 700) for row in range(2000)])
print("begun", flush=True)
for number in range(1, 1_000_000):
    connection.execute("BEGIN")
    for table in ("one", "other"):
        connection.execute(f"UPDATE {table} SET number = ? WHERE row = ?", (number, number * 7 % 2000))
    connection.execute("COMMIT")
    if number % 200 == 0:
        time.sleep(0.03)
"""
HALVES = ("SELECT number FROM one ORDER BY row", "SELECT number FROM other ORDER BY row")


def test_a_copy_is_of_one_moment_while_the_log_begins_anew_all_the_time(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout is not None
            writer.stdout.readline()
            seen = [latest(path, tmp_path) for _ in range(60)]
        finally:
            writer.kill()
    assert seen == sorted(seen)
    assert seen[-1] > seen[0]


def latest(path: Path, scratch: Path) -> int:
    """The number of the last transaction that a copy holds, of which it has both halves."""
    with untouched(scratch), closing(copy_in_memory(path)) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        one, other = (copy.execute(query).fetchall() for query in HALVES)
        assert one == other
        return max(one)[0]


def test_reading_leaves_nothing_beside_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "made"
    write_example(path)
    with closing(sqlite3.connect(path / "ledger.sqlite")) as last:  # merges the log, and removes it
        last.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = sorted((each.name, each.stat().st_mtime_ns) for each in (path, *path.iterdir()))
    with untouched(tmp_path):
        ledger = ExperimentDirectory(path).ledger()
        assert ledger.counts()
        ledger.close()
    assert sorted((each.name, each.stat().st_mtime_ns) for each in (path, *path.iterdir())) == before
