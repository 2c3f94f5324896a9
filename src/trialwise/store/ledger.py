"""The ledger: one SQLite file with a row for every attempt at every trial.

The format is public (docs/reference/ledger.md); `FORMAT` counts its versions. What is finished is durable before the
runner goes on (write-ahead log, one fsync for each finished trial); a claim need not be: a claim that a power cut
takes back is a trial that runs again.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trialwise.errors import StoreError
from trialwise.experiment.model import Level
from trialwise.store.connection import (
    LOG_PAGES,
    RESTORE,
    connect,
    copy_in_memory,
    file_identity,
    hint_for,
    set_log_aside,
)
from trialwise.store.files import sync_folder
from trialwise.store.records import Blocks, Event, Session, Status, TrialEnd, TrialRow

FORMAT = 2
_WITHOUT_PROCESS = "1"
"""The format whose table of trials has no column `process` yet: read as it is, and brought up to date by who writes."""

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
    process TEXT,
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
    "epoch, session, worker, boot, claimed, started, finished, exit_code, reason, {process}"
)


class Ledger:
    """The open ledger of an experiment directory."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._durable: bool | None = None
        self._lock = threading.RLock()
        self._file = file_identity(path)
        self._columns = _TRIAL_COLUMNS.format(process="process")
        self.path = path

    @classmethod
    def create(cls, path: Path, meta: Mapping[str, str], trials: Iterable[TrialRow]) -> Ledger:
        """Create the ledger with its planned trials: whole under another name, then renamed, so that there is all or none."""
        temporary = path.with_name(path.name + ".tmp")
        for leftover in (temporary, temporary.with_name(temporary.name + "-journal")):
            leftover.unlink(missing_ok=True)
        ledger = cls(connect(temporary, "rwc"), temporary)
        with ledger._transaction():
            for statement in _SCHEMA.split(";\n"):
                ledger._connection.execute(statement)
            ledger._connection.executemany(
                "INSERT INTO meta VALUES (?, ?)", [("format", str(FORMAT)), *meta.items()]
            )
            ledger._insert(trials)
        ledger.close()
        temporary.replace(path)
        sync_folder(path.parent)
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
        if read_only:
            return cls._reader(path)
        ledger = cls(connect(path, "rw"), path)
        try:
            ledger.require_format()
            ledger.require_wholeness()
            ledger._write_ahead()
            ledger._bring_up_to_date()
        except StoreError:
            ledger.close()
            raise
        return ledger

    @classmethod
    def _reader(cls, path: Path) -> Ledger:
        """Open for reading only; or to mend what a kill has left half done; or, where that may not be, a copy."""
        for opened in (
            lambda: connect(path, "ro"),
            lambda: connect(path, "rw"),
            lambda: copy_in_memory(path),
        ):
            ledger = cls(opened(), path)
            try:
                ledger.require_format()
            except StoreError as error:
                ledger.close()
                problem = error
            else:
                return ledger
        raise problem

    def close(self) -> None:
        """Close the file; the write-ahead log is folded into it."""
        self._connection.close()

    # Facts in

    def extend(self, trials: Iterable[TrialRow], meta: Mapping[str, str]) -> None:
        """Add planned trials (a longer plan with the same rule), and change facts about the whole experiment."""
        with self._transaction():
            self._insert(trials)
            self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(meta.items()))

    def check_in_place(self) -> None:
        """Raise StoreError where the file has been removed, moved or replaced since it was opened.

        SQLite goes on writing into a file that nobody can find any more.
        """
        if file_identity(self.path) != self._file:
            raise StoreError(
                f"{self.path}: was removed, moved or replaced while the experiment ran",
                hint="put the directory back, or run the directory where it is now: what was finished is in it",
            )

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
        self.check_in_place()
        with self._transaction(durable=False):
            self._claim(session, [(row, now)])

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
        process: str | None = None,
    ) -> None:
        """Record the end of a trial that was claimed, and what it reported, durably, in one transaction.

        An abandoned trial is planned again, as a further attempt. `values` and `process` are those of a `TrialEnd`.
        """
        with self._transaction():
            self._end([TrialEnd(row, status, started, finished, exit_code, reason, values, process=process)])
            if status == "abandoned":
                self._insert([again(row)])

    def record_together(self, ends: Sequence[TrialEnd], session: Session) -> None:
        """Claim trials and record their ends, durably, in one transaction: all of them or none."""
        self.check_in_place()
        with self._transaction():
            self._claim(session, [(end.row, end.claimed) for end in ends])
            self._end(ends)

    def abandon_running(self, reason: str, rows: Sequence[TrialRow] | None = None) -> int:
        """Mark running trials (default all) as abandoned and plan each again as a further attempt; return how many."""
        rows = self.trials("running") if rows is None else rows
        with self._transaction():
            self._connection.executemany(
                "UPDATE trial SET status = 'abandoned', reason = ? WHERE number = ? AND attempt = ?",
                [(reason, row.number, row.attempt) for row in rows],
            )
            self._insert(again(row) for row in rows)
        return len(rows)

    def plan_again(self) -> int:
        """Plan a further attempt at every trial that failed or is invalid; return how many."""
        rows = self.unsuccessful()
        with self._transaction():
            self._insert(again(row) for row in rows)
        return len(rows)

    def unsuccessful(self) -> list[TrialRow]:
        """The trials whose last attempt failed or is invalid: that attempt."""
        last = {row.number: row for row in self.trials()}
        return [row for row in last.values() if row.status in ("failed", "invalid")]

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

    def fact(self, key: str) -> str:
        """One fact about the whole experiment.

        Raises
        ------
        StoreError
            When the ledger lacks it.
        """
        found = self.meta().get(key)
        if found is None:
            raise StoreError(f"{self.path}: incomplete: there is no {key!r} in its table meta", hint=RESTORE)
        return found

    def planned_number(self) -> int:
        """How many trials the plan has, whatever their attempts."""
        return int(self._select("SELECT count(*) FROM trial WHERE attempt = 1")[0][0])

    def trials(self, *statuses: Status) -> list[TrialRow]:
        """All attempts in plan order, or those with one of the statuses."""
        where = f" WHERE status IN ({_marks(statuses)})" if statuses else ""
        query = f"SELECT {self._columns} FROM trial{where} ORDER BY number, attempt"  # noqa: S608 only our own words
        return [_trial_row(row) for row in self._select(query, statuses)]

    def next_planned(
        self, wanted: Mapping[str, Sequence[Level]] | None = None, blocks: Blocks | None = None
    ) -> TrialRow | None:
        """The planned trial that comes next, or None; of those only that have the levels that are wanted of some factors.

        `blocks` are ranges of numbers, ends included, that are looked at; default all.
        """
        where, parameters = _having(wanted or {}, blocks)
        query = f"SELECT {self._columns} FROM trial WHERE status = 'planned'{where} ORDER BY number, attempt LIMIT 1"  # noqa: S608
        return next((_trial_row(row) for row in self._select(query, parameters)), None)

    def next_open(self) -> TrialRow | None:
        """The first trial that is planned or running, or None."""
        query = f"SELECT {self._columns} FROM trial WHERE status IN ('planned', 'running') ORDER BY number, attempt LIMIT 1"  # noqa: S608 only our own words
        return next((_trial_row(row) for row in self._select(query)), None)

    def count(
        self,
        statuses: Sequence[Status],
        wanted: Mapping[str, Sequence[Level]] | None = None,
        blocks: Blocks | None = None,
    ) -> int:
        """How many attempts have one of the statuses; of those only that have the levels wanted, and numbers in `blocks`."""
        where, parameters = _having(wanted or {}, blocks)
        query = f"SELECT count(*) FROM trial WHERE status IN ({_marks(statuses)}){where}"  # noqa: S608
        return int(self._select(query, [*statuses, *parameters])[0][0])

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

    def factors(self) -> list[dict[str, Level]]:
        """The distinct factors of all trials, drawn ones included, in plan order."""
        rows = self._select("SELECT factors FROM trial GROUP BY factors ORDER BY min(number)")
        return [_factors(text) for (text,) in rows]

    def rounds_planned(self, blocks: Blocks | None = None) -> set[tuple[str, int, int, bool]]:
        """Which (treatment, series, round, warm-up) the ledger holds; of trials with numbers in `blocks` only."""
        where, numbers = _having({}, blocks)
        query = f"SELECT DISTINCT treatment, series, round, warmup FROM trial WHERE true{where}"  # noqa: S608 only our own words
        rows = self._select(query, numbers)
        return {(str(treatment), series, round_, bool(warmup)) for treatment, series, round_, warmup in rows}

    def last_number(self) -> int:
        """The greatest number of a trial; 0 where there is none."""
        return int(self._select("SELECT coalesce(max(number), 0) FROM trial")[0][0])

    def counts_by_treatment(self) -> dict[str, dict[str, int]]:
        """How many attempts there are of each status, for each treatment."""
        found: dict[str, dict[str, int]] = {}
        query = "SELECT treatment, status, count(*) FROM trial GROUP BY treatment, status ORDER BY treatment"
        for treatment, status, number in self._select(query):
            found.setdefault(str(treatment), {})[str(status)] = int(number)
        return found

    def claim_times(self) -> list[float]:
        """When trials were claimed, in plan order, Unix seconds."""
        query = "SELECT claimed FROM trial WHERE claimed IS NOT NULL ORDER BY number, attempt"
        return [float(moment) for (moment,) in self._select(query)]

    def last_planned_start(self) -> float | None:
        """The latest planned start of a trial that is still planned, seconds after `created`."""
        return self._select("SELECT max(planned_start) FROM trial WHERE status = 'planned'")[0][0]

    # How

    def require_wholeness(self) -> None:
        """Look through the whole file, so that nothing is written to one that is damaged."""
        problem = self._select("PRAGMA quick_check(1)")[0][0]
        if problem != "ok":
            raise StoreError(f"{self.path}: damaged: {problem}", hint=RESTORE)

    def require_format(self) -> None:
        """Raise StoreError where the file is no ledger of a format that this version knows."""
        meta = self.meta()
        if meta.get("format") == _WITHOUT_PROCESS:
            self._columns = _TRIAL_COLUMNS.format(process="NULL")
        elif meta.get("format") != str(FORMAT):
            raise StoreError(
                f"{self.path}: ledger format {meta.get('format')!r}; this Trialwise reads {_WITHOUT_PROCESS} and {FORMAT}",
                hint=f"use the version that wrote it ({meta.get('version', 'unknown')}), or a newer one",
            )

    def _bring_up_to_date(self) -> None:
        """Give the ledger of an older version what its table of trials lacks: all of it or nothing."""
        if self.meta().get("format") != _WITHOUT_PROCESS:
            return
        with self._transaction():
            # Asked again inside the transaction: two writers may have opened it at once.
            if self.meta().get("format") == _WITHOUT_PROCESS:
                self._connection.execute("ALTER TABLE trial ADD COLUMN process TEXT")
                self._connection.execute("UPDATE meta SET value = ? WHERE key = 'format'", (str(FORMAT),))
        self._columns = _TRIAL_COLUMNS.format(process="process")

    def _write_ahead(self) -> None:
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: cannot be opened: {error}") from error
        set_log_aside(self.path)

    def _claim(self, session: Session, claims: Iterable[tuple[TrialRow, float | None]]) -> None:
        where = (session.epoch, session.number, session.worker, session.boot)
        self._connection.executemany(
            "UPDATE trial SET status = 'running', epoch = ?, session = ?, worker = ?, boot = ?, claimed = ? "
            "WHERE number = ? AND attempt = ?",
            ((*where, moment, row.number, row.attempt) for row, moment in claims),
        )

    def _end(self, ends: Sequence[TrialEnd]) -> None:
        self._connection.executemany(
            "UPDATE trial SET status = ?, started = ?, finished = ?, exit_code = ?, reason = ?, process = ? "
            "WHERE number = ? AND attempt = ?",
            (
                (
                    end.status,
                    end.started,
                    end.finished,
                    end.exit_code,
                    end.reason,
                    end.process,
                    end.row.number,
                    end.row.attempt,
                )
                for end in ends
            ),
        )
        self._connection.executemany(
            "INSERT INTO value (number, attempt, source, value, samples, file) VALUES (?, ?, ?, ?, ?, ?)",
            ((end.row.number, end.row.attempt, *value) for end in ends for value in end.values),
        )

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
            with self._lock:
                return self._connection.execute(query, parameters).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: cannot be read: {error}", hint=hint_for(error)) from error

    @contextmanager
    def alone(self) -> Generator[None]:
        """Keep the other threads of this process out for several calls that belong together."""
        with self._lock:
            yield

    @contextmanager
    def _transaction(self, *, durable: bool = True) -> Generator[None]:
        with self._lock:
            yield from self._locked_transaction(durable=durable)

    def _locked_transaction(self, *, durable: bool) -> Generator[None]:
        try:
            if durable != self._durable:
                self._connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._durable = durable
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # a full disk has ended the transaction already
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: cannot be written: {error}", hint=hint_for(error)) from error


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


def _having(wanted: Mapping[str, Sequence[Level]], blocks: Blocks | None) -> tuple[str, list[Level]]:
    """The condition that a trial has one of the levels wanted of each factor, and its number in a block; its parameters."""
    clauses = [f" AND json_extract(factors, ?) IN ({_marks(levels)})" for levels in wanted.values()]
    places = [[f'$."{name}"', *levels] for name, levels in wanted.items()]
    if blocks is not None:
        clauses.append(f" AND ({' OR '.join(['number BETWEEN ? AND ?'] * len(blocks)) or 'false'})")
        places += [list(block) for block in blocks]
    return "".join(clauses), [value for each in places for value in each]


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def _factors(text: object) -> dict[str, Level]:
    try:
        return dict(json.loads(str(text)))
    except (ValueError, TypeError) as error:
        raise StoreError(
            f"the ledger holds factors that cannot be read: {text!r:.100}", hint=RESTORE
        ) from error


def _trial_row(row: Sequence[Any]) -> TrialRow:
    number, attempt, status, treatment, factors, series, round_, position, order, seed, warmup, *rest = row
    return TrialRow(
        number,
        attempt,
        status,
        treatment,
        _factors(factors),
        series,
        round_,
        position,
        order,
        seed,
        bool(warmup),
        *rest,
    )
