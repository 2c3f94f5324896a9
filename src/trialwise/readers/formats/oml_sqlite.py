"""The databases of OML's server, and of `trialwise collect`: one sender is one trial, and the rows of a table are its samples.

The layout is that of oml2-server's SQLite backend. A database is foreign input: it is opened in memory from its bytes, tables alone
are read, and SQLite's limits bound what it may take. Nothing tells units or directions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import number
from trialwise.readers.records import Inside
from trialwise.readers.trial import Trial, mean

_MAGIC = b"SQLite format 3\0"
_HEAD = 1 << 20
_WRITE_AHEAD = slice(18, 20)
"""Versions of the file for writing and reading: 2 with a write-ahead log, 1 without."""
_OWN = ("oml_tuple_id", "oml_sender_id", "oml_seq", "oml_ts_client", "oml_ts_server")
_BITS = {"UNSIGNED INTEGER": 32, "UNSIGNED BIGINT": 64}
"""Types whose upper half the server stores as negative numbers."""
_NUMBERS = {"INTEGER", "BIGINT", "REAL", *_BITS}
_MOST_TABLES = 1000
_MOST_SENDERS = 10_000
_MOST_VALUES = 10_000_000
_STEP = 1_000_000
_MOST_STEPS = 5000
"""After so many steps of SQLite's machine, of `_STEP` instructions each, reading ends."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 10_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 2000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
}


def _fits(content: Content) -> bool:
    head = content.data[:_HEAD]
    return head.startswith(_MAGIC) and b"_senders" in head and b"_experiment_metadata" in head


def _read(content: Content, found: Found) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        try:
            _open(database, content)
            _read_all(database, found)
        except sqlite3.Error as error:
            raise found.wrong(f"cannot be read as a database of OML: {error}") from error


def _open(database: sqlite3.Connection, content: Content) -> None:
    for category, limit in _LIMITS.items():
        database.setlimit(category, limit)
    database.set_progress_handler(_patience(), _STEP)
    data = bytearray(content.data)
    data[_WRITE_AHEAD] = b"\1\1"
    database.deserialize(bytes(data))
    database.text_factory = _text
    for setting in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
        database.execute(f"PRAGMA {setting}")


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _patience() -> Callable[[], int]:
    """Return what SQLite asks whether to end."""
    steps = iter(range(_MOST_STEPS))
    return lambda: int(next(steps, None) is None)


def _read_all(database: sqlite3.Connection, found: Found) -> None:
    senders = {
        identity: str(name)
        for name, identity in database.execute("SELECT name, id FROM _senders").fetchmany(_MOST_SENDERS)
    }
    began = _began(database)
    left = _MOST_VALUES
    for table in _tables(database):
        columns = _columns(database, table)
        if not columns or left <= 0:
            continue
        for identity, series in _by_sender(database, table, columns, left).items():
            left -= sum(len(values) for values, _ in series.values())
            sender = senders.get(identity, str(identity))
            trial = Trial(found=found, levels={"host": sender}, start=began)
            for name, (values, times) in series.items():
                _add(trial, f"{table}.{name}", values, [(began or 0.0) + each for each in times])
    if left <= 0:
        found.note("partial", what=f"it holds more than {_MOST_VALUES:,} values")


def _began(database: sqlite3.Connection) -> float | None:
    row = database.execute("SELECT value FROM _experiment_metadata WHERE key = 'start_time'").fetchone()
    return None if row is None else number(str(row[0]))


def _tables(database: sqlite3.Connection) -> list[str]:
    """Return the measurement points: ordinary tables, without those of metadata and of the client's own counters."""
    told = database.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' ORDER BY name"
    )
    return [name for (name,) in told.fetchmany(_MOST_TABLES) if not name.startswith(("_", "sqlite_"))]


def _columns(database: sqlite3.Connection, table: str) -> dict[str, str]:
    """Return the types of the columns of numbers; none if it is no table of OML. What is computed on reading is left out."""
    told = database.execute("SELECT name, type, hidden FROM pragma_table_xinfo(?)", (table,)).fetchall()
    kinds = {name: kind.upper() for name, kind, hidden in told if not hidden}
    if not set(_OWN) <= set(kinds):
        return {}
    others = _no_numbers(database, table)
    return {
        name: kind
        for name, kind in kinds.items()
        if name not in _OWN and kind in _NUMBERS and name not in others
    }


def _no_numbers(database: sqlite3.Connection, table: str) -> set[str]:
    """Return the columns of truth values and identities, which SQLite keeps as numbers: the schema in the metadata tells them."""
    told = database.execute("SELECT value FROM _experiment_metadata WHERE key = ?", (f"table_{table}",))
    fields = [field.partition(":") for row in told.fetchmany(1) for field in str(row[0]).split()]
    return {name for name, _, kind in fields if kind in ("bool", "guid")}


def _by_sender(
    database: sqlite3.Connection, table: str, columns: Mapping[str, str], most: int
) -> dict[Any, dict[str, tuple[list[float], list[float]]]]:
    """Return the values of each sender by column, with their times in seconds since the beginning."""
    names = ", ".join(map(_quoted, ("oml_sender_id", "oml_ts_client", *columns)))
    rows = database.execute(f"SELECT {names} FROM {_quoted(table)} ORDER BY oml_tuple_id")  # noqa: S608
    found: dict[Any, dict[str, tuple[list[float], list[float]]]] = {}
    for identity, moment, *cells in _some(rows, most // len(columns) + 1):
        series = found.setdefault(identity, {name: ([], []) for name in columns})
        for (name, kind), cell in zip(columns.items(), cells, strict=True):
            if isinstance(cell, int | float) and isinstance(moment, int | float):
                values, times = series[name]
                values.append(_unsigned(cell, kind))
                times.append(moment)
    return found


def _some(rows: sqlite3.Cursor, most: int) -> Iterator[tuple[Any, ...]]:
    while most > 0 and (part := rows.fetchmany(min(most, 10_000))):
        yield from part
        most -= len(part)


def _unsigned(value: float, kind: str) -> float:
    return float(value + 2 ** _BITS[kind] if value < 0 and kind in _BITS else value)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _add(trial: Trial, metric: str, values: list[float], times: list[float]) -> None:
    reason = "" if values else "there is no value"
    samples = Inside("tuple", values, times) if values else None
    trial.add(metric, mean(values), "", reason=reason, samples=samples)
    trial.found.gather("unit_unknown", metric)


READERS = (
    Reader(
        name="oml-sqlite",
        tool="OML",
        how="the file `DOMAIN.sq3` of oml2-server, or of `trialwise collect`",
        replicated="file",
        unit="file",
        fits=_fits,
        read=_read,
    ),
)
