"""The ledger: one SQLite file with a row for every attempt at every trial.

The format is public (docs/reference/ledger.md); `FORMAT` counts its versions. What is finished is durable before the
runner goes on (write-ahead log, one fsync for each finished trial); a claim need not be: a claim that a power cut
takes back is a trial that runs again.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trialwise.errors import StoreError
from trialwise.store.records import Event, Session, Status, TrialRow

FORMAT = 1

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE trial (
    number INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 1,
    status TEXT NOT NULL DEFAULT 'planned'
        CHECK (status IN ('planned', 'running', 'finished', 'failed', 'abandoned', 'invalid')),
    treatment TEXT NOT NULL,
    factors TEXT NOT NULL,
    series INTEGER NOT NULL,
    round INTEGER NOT NULL,
    position INTEGER NOT NULL,
    "order" TEXT NOT NULL,
    seed INTEGER NOT NULL,
    warmup INTEGER NOT NULL DEFAULT 0,
    planned_start REAL,
    epoch INTEGER,
    session INTEGER REFERENCES session (number),
    worker TEXT,
    boot TEXT,
    claimed REAL,
    started REAL,
    finished REAL,
    exit_code INTEGER,
    reason TEXT,
    PRIMARY KEY (number, attempt)
);
CREATE INDEX trial_status ON trial (status, number);
CREATE TABLE value (
    number INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    source TEXT NOT NULL,
    value REAL,
    samples INTEGER NOT NULL DEFAULT 1,
    file TEXT,
    PRIMARY KEY (number, attempt, source),
    FOREIGN KEY (number, attempt) REFERENCES trial (number, attempt)
) WITHOUT ROWID;
CREATE TABLE session (
    number INTEGER PRIMARY KEY,
    started REAL NOT NULL,
    ended REAL,
    ending TEXT,
    epoch INTEGER NOT NULL,
    worker TEXT NOT NULL,
    boot TEXT NOT NULL,
    version TEXT NOT NULL,
    environment TEXT NOT NULL
);
CREATE TABLE event (time REAL NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL);
"""

_TRIAL_COLUMNS = (
    'number, attempt, status, treatment, factors, series, round, position, "order", seed, warmup, planned_start, '
    "epoch, session, worker, boot, claimed, started, finished, exit_code, reason"
)


class Ledger:
    """The open ledger of an experiment directory."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self.path = path

    @classmethod
    def create(cls, path: Path, meta: Mapping[str, str], trials: Iterable[TrialRow]) -> Ledger:
        """Create the ledger with its planned trials: whole under another name, then renamed, so that there is all or none."""
        temporary = path.with_name(path.name + ".tmp")
        temporary.unlink(missing_ok=True)
        ledger = cls(_connect(temporary), temporary)
        with ledger._transaction():
            for statement in _SCHEMA.split(";\n"):
                ledger._connection.execute(statement)
            ledger._connection.executemany(
                "INSERT INTO meta VALUES (?, ?)", [("format", str(FORMAT)), *meta.items()]
            )
            ledger._insert(trials)
        ledger.close()
        temporary.replace(path)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> Ledger:
        """Open an existing ledger.

        Raises
        ------
        StoreError
            When there is none, it is damaged, or it was written by a newer Trialwise.
        """
        if not path.is_file():
            raise StoreError(
                f"{path}: no ledger here", hint="name an experiment directory made by `trialwise run`"
            )
        ledger = cls(_connect(path, read_only=read_only), path)
        if not read_only:
            ledger._write_ahead()
        found = ledger.meta().get("format", "")
        if found != str(FORMAT):
            raise StoreError(
                f"{path}: ledger format {found!r}; this Trialwise reads {FORMAT}",
                hint="use the version that wrote it",
            )
        return ledger

    def close(self) -> None:
        """Close the file; the write-ahead log is folded into it."""
        self._connection.close()

    # Facts in

    def extend(self, trials: Iterable[TrialRow]) -> None:
        """Add planned trials (a longer plan with the same rule)."""
        with self._transaction():
            self._insert(trials)

    def start_session(self, session: Session) -> None:
        """Record a run of the runner."""
        with self._transaction():
            self._connection.execute(
                "INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    session.number,
                    session.started,
                    session.ended,
                    session.ending,
                    session.epoch,
                    session.worker,
                    session.boot,
                    session.version,
                    session.environment,
                ),
            )

    def end_session(self, number: int, ended: float, ending: str) -> None:
        """Record how a run of the runner ended."""
        with self._transaction():
            self._connection.execute(
                "UPDATE session SET ended = ?, ending = ? WHERE number = ?", (ended, ending, number)
            )

    def claim(self, row: TrialRow, session: Session, now: float) -> None:
        """Mark a planned trial as running. Not synced: if it is lost, the trial is planned still."""
        with self._transaction(durable=False):
            self._connection.execute(
                "UPDATE trial SET status = 'running', epoch = ?, session = ?, worker = ?, boot = ?, claimed = ? "
                "WHERE number = ? AND attempt = ?",
                (session.epoch, session.number, session.worker, session.boot, now, row.number, row.attempt),
            )

    def finish(
        self,
        row: TrialRow,
        status: Status,
        *,
        started: float | None,
        finished: float,
        exit_code: int | None,
        reason: str | None,
        values: Sequence[tuple[str, float | None, int, str | None]],
    ) -> None:
        """Record the end of a trial and what it reported, durably, in one transaction.

        `values` holds (source, value, number of samples, file below the directory); many samples are in the file.
        """
        with self._transaction():
            self._connection.execute(
                "UPDATE trial SET status = ?, started = ?, finished = ?, exit_code = ?, reason = ? WHERE number = ? AND attempt = ?",
                (status, started, finished, exit_code, reason, row.number, row.attempt),
            )
            self._connection.executemany(
                "INSERT INTO value (number, attempt, source, value, samples, file) VALUES (?, ?, ?, ?, ?, ?)",
                [(row.number, row.attempt, *value) for value in values],
            )

    def abandon_running(self, reason: str) -> int:
        """Mark every running trial as abandoned and plan it again as a further attempt; return how many."""
        rows = self.trials("running")
        with self._transaction():
            self._connection.executemany(
                "UPDATE trial SET status = 'abandoned', reason = ? WHERE number = ? AND attempt = ?",
                [(reason, row.number, row.attempt) for row in rows],
            )
            self._insert(again(row) for row in rows)
        return len(rows)

    def retry(self, row: TrialRow) -> None:
        """Plan a further attempt at a trial."""
        with self._transaction():
            self._insert([again(row)])

    def add_event(self, event: Event) -> None:
        """Record something that happened beside the trials."""
        with self._transaction():
            self._connection.execute(
                "INSERT INTO event VALUES (?, ?, ?)", (event.time, event.kind, event.text)
            )

    def set_meta(self, key: str, value: str) -> None:
        """Record a fact about the whole experiment."""
        with self._transaction():
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    # Facts out

    def meta(self) -> dict[str, str]:
        """Facts about the whole experiment: format, name, plan digest, version, time of creation."""
        return {str(key): str(value) for key, value in self._select("SELECT key, value FROM meta")}

    def trials(self, *statuses: Status) -> list[TrialRow]:
        """All attempts in plan order, or those with one of the statuses."""
        where = f" WHERE status IN ({','.join('?' * len(statuses))})" if statuses else ""
        query = f"SELECT {_TRIAL_COLUMNS} FROM trial{where} ORDER BY number, attempt"  # noqa: S608 only our own words
        return [_trial_row(row) for row in self._select(query, statuses)]

    def next_planned(self) -> TrialRow | None:
        """The planned trial that comes next, or None."""
        query = (
            f"SELECT {_TRIAL_COLUMNS} FROM trial WHERE status = 'planned' ORDER BY number, attempt LIMIT 1"  # noqa: S608
        )
        return next((_trial_row(row) for row in self._select(query)), None)

    def counts(self) -> dict[str, int]:
        """How many attempts there are of each status."""
        return {
            str(status): int(n)
            for status, n in self._select("SELECT status, count(*) FROM trial GROUP BY status")
        }

    def values(self) -> list[tuple[int, int, str, float | None, int, str | None]]:
        """What the trials reported: (number, attempt, source, value, samples, file)."""
        return self._select(
            "SELECT number, attempt, source, value, samples, file FROM value ORDER BY number, attempt, source"
        )

    def sessions(self) -> list[Session]:
        """All runs of the runner, first to last."""
        return [Session(*row) for row in self._select("SELECT * FROM session ORDER BY number")]

    def events(self) -> list[Event]:
        """Everything that happened beside the trials, in order."""
        return [Event(*row) for row in self._select("SELECT time, kind, text FROM event ORDER BY rowid")]

    # How

    def _write_ahead(self) -> None:
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: cannot be opened: {error}") from error

    def _insert(self, rows: Iterable[TrialRow]) -> None:
        self._connection.executemany(
            'INSERT INTO trial (number, attempt, status, treatment, factors, series, round, position, "order", seed, warmup, '
            "planned_start) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    row.number,
                    row.attempt,
                    row.status,
                    row.treatment,
                    json.dumps(dict(row.factors)),
                    row.series,
                    row.round,
                    row.position,
                    row.order,
                    row.seed,
                    row.warmup,
                    row.planned_start,
                )
                for row in rows
            ),
        )

    def _select(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(query, parameters).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: cannot be read: {error}") from error

    @contextmanager
    def _transaction(self, *, durable: bool = True) -> Generator[None]:
        try:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # a full disk has ended the transaction already
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            hint = "free some space and run again; what is finished is kept" if "full" in str(error) else None
            raise StoreError(f"{self.path}: cannot be written: {error}", hint=hint) from error


def again(row: TrialRow) -> TrialRow:
    """The row of a further attempt at the same trial."""
    return TrialRow(
        number=row.number,
        attempt=row.attempt + 1,
        status="planned",
        treatment=row.treatment,
        factors=row.factors,
        series=row.series,
        round=row.round,
        position=row.position,
        order=row.order,
        seed=row.seed,
        warmup=row.warmup,
        planned_start=row.planned_start,
    )


def _connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(
            f"file:{path}?mode={'ro' if read_only else 'rwc'}",
            uri=True,
            isolation_level=None,
            timeout=10,
            check_same_thread=False,
        )
        connection.execute("PRAGMA foreign_keys = ON")
    except sqlite3.Error as error:
        raise StoreError(f"{path}: cannot be opened: {error}") from error
    return connection


def _trial_row(row: Sequence[Any]) -> TrialRow:
    number, attempt, status, treatment, factors, series, round_, position, order, seed, warmup, *rest = row
    return TrialRow(
        number,
        attempt,
        status,
        treatment,
        json.loads(str(factors)),
        series,
        round_,
        position,
        order,
        seed,
        bool(warmup),
        *rest,
    )
