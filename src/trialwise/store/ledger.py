"""The ledger: one SQLite file with a row for every attempt at every trial.

A finished trial is durable before the runner continues (write-ahead log, one fsync per finished trial). A claim
need not be: if a power cut loses it, the trial simply runs again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from trialwise.errors import StoreError
from trialwise.foreign_files import absent, is_url
from trialwise.store.connection import connect, copy_in_memory, require_own_files
from trialwise.store.files import sync_folder
from trialwise.store.ledger_chain import LedgerChain, chain_meta
from trialwise.store.records import Amendment, Event, LateValues, Session, Status, TrialEnd, TrialRow
from trialwise.store.tables import FORMAT, SCHEMA
from trialwise.store.untouched import scratch_folder

_INSERT_VALUE = (
    "INSERT INTO value (number, attempt, source, value, samples, file, sha256) VALUES (?, ?, ?, ?, ?, ?, ?)"
)


class Ledger(LedgerChain):
    """The open ledger of an experiment directory."""

    @classmethod
    def create(cls, path: Path, meta: Mapping[str, str], trials: Iterable[TrialRow]) -> Ledger:
        """Create the ledger with its planned trials under another name, then rename it, so that it is complete or absent."""
        temporary = path.with_name(path.name + ".tmp")
        for leftover in (temporary, temporary.with_name(temporary.name + "-journal")):
            leftover.unlink(missing_ok=True)
        ledger = cls(connect(temporary, "rwc"), temporary)
        with ledger._transaction():
            for statement in SCHEMA.split(";\n"):
                ledger._connection.execute(statement)
            ledger._connection.executemany(
                "INSERT INTO meta VALUES (?, ?)",
                [("format", str(FORMAT)), *chain_meta(meta).items(), *meta.items()],
            )
            ledger._insert(trials)
        ledger.close()
        temporary.replace(path)
        sync_folder(path.parent)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False, with_excluded: bool = False) -> Ledger:
        """Open an existing ledger; `with_excluded` takes trials that are left out for finished, as they once were.

        Raises
        ------
        StoreError
            It does not exist, is damaged, or was written by a newer Trialwise.
        """
        if is_url(path) and not path.is_file():
            raise absent(path.parent, error=StoreError)
        if not path.is_file():
            raise StoreError(
                f"{path}: no ledger here", hint="name an experiment directory made by `trialwise run`"
            )
        require_own_files(path)
        if read_only:
            return cls._reader(path, with_excluded=with_excluded)
        ledger = cls(connect(path, "rw"), path, with_excluded=with_excluded)
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
    def _reader(cls, path: Path, *, with_excluded: bool) -> Ledger:
        """Open for reading only; failing that, for writing, to repair what a kill left half done; failing that, open a copy.

        Where directories are to be left untouched, open a copy.
        """
        if scratch_folder() is not None:
            return cls._checked(copy_in_memory(path), path, with_excluded=with_excluded)
        for opened in (
            lambda: connect(path, "ro"),
            lambda: connect(path, "rw"),
            lambda: copy_in_memory(path),
        ):
            connection = opened()
            try:
                return cls._checked(connection, path, with_excluded=with_excluded)
            except StoreError as error:
                problem = error
        raise problem

    @classmethod
    def _checked(cls, connection: sqlite3.Connection, path: Path, *, with_excluded: bool) -> Ledger:
        """Return the ledger of a connection; close it and raise StoreError if it is damaged or no ledger that is known."""
        ledger = cls(connection, path, with_excluded=with_excluded)
        try:
            ledger.require_format()
            ledger.require_wholeness()
        except StoreError:
            ledger.close()
            raise
        return ledger

    def extend(
        self,
        trials: Iterable[TrialRow],
        meta: Mapping[str, str],
        *,
        withdrawn: Iterable[TrialRow] = (),
        events: Iterable[Event] = (),
        amendments: Sequence[Amendment] = (),
        late: LateValues | None = None,
    ) -> None:
        """Add planned trials and values read later, change facts about the whole experiment, and record why, in one transaction.

        Trials in `withdrawn` are removed if still planned; those that have begun stay.
        """
        with self._transaction():
            if late is not None:
                self._add_late(late)
            self._connection.executemany(
                "DELETE FROM trial WHERE number = ? AND attempt = ? AND status = 'planned'",
                [(row.number, row.attempt) for row in withdrawn],
            )
            self._insert(trials)
            self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(meta.items()))
            self._connection.executemany(
                "INSERT INTO event VALUES (?, ?, ?)", [(each.time, each.kind, each.text) for each in events]
            )
            if amendments:
                self._amend(amendments)

    def amend(self, amendments: Sequence[Amendment]) -> None:
        """Record amendments, durably, in one transaction."""
        with self._transaction():
            self._amend(amendments)

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
        """Mark a planned trial as running. Not synced: if the mark is lost, the trial is still planned."""
        self.check_in_place()
        with self._transaction(durable=False):
            self._claim(session, [(row, now)])

    def move(self, row: TrialRow) -> None:
        """Assign a running trial to the session and the epoch of `row`, which began after it was claimed."""
        with self._transaction():
            self._connection.execute(
                "UPDATE trial SET epoch = ?, session = ? WHERE number = ? AND attempt = ?",
                (row.epoch, row.session, row.number, row.attempt),
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
        process: str | None = None,
        digests: Mapping[str, str] | None = None,
        retry: bool = False,
    ) -> None:
        """Record the end of a claimed trial, and what it reported, durably, in one transaction.

        A trial that is abandoned, or to be tried again (`retry`), is planned again, as a further attempt. `values` and
        `process` are those of a `TrialEnd`; `digests` are the SHA-256 of the files that values are in, by their names.
        """
        with self._transaction():
            end = TrialEnd(row, status, started, finished, exit_code, reason, values, process=process)
            self._end([end], digests or {})
            if status == "abandoned" or retry:
                self._insert([again(row)])

    def record_together(
        self, ends: Sequence[TrialEnd], session: Session, digests: Mapping[str, str] | None = None
    ) -> None:
        """Claim trials and record their ends, durably, in one transaction; `digests` are those of `finish`."""
        self.check_in_place()
        with self._transaction():
            self._claim(session, [(end.row, end.claimed) for end in ends])
            self._end(ends, digests or {})

    def abandon_running(self, reason: str, rows: Sequence[TrialRow] | None = None) -> int:
        """Mark running trials (default all) as abandoned and plan a further attempt at each; return their number."""
        rows = self.trials("running") if rows is None else rows
        with self._transaction():
            self._connection.executemany(
                "UPDATE trial SET status = 'abandoned', reason = ? WHERE number = ? AND attempt = ?",
                [(reason, row.number, row.attempt) for row in rows],
            )
            self._link((row.number, row.attempt) for row in rows)
            self._insert(again(row) for row in rows)
        return len(rows)

    def plan_again(self, rows: Sequence[TrialRow] | None = None) -> int:
        """Plan a further attempt at trials that failed or are invalid (default all); return their number."""
        rows = self.unsuccessful() if rows is None else rows
        with self._transaction():
            self._insert(again(row) for row in rows)
        return len(rows)

    def add_values(self, late: LateValues) -> None:
        """Record values read later from what finished trials left behind, in one transaction."""
        with self._transaction():
            self._add_late(late)

    def _add_late(self, late: LateValues) -> None:
        self._amend([late.amendment])
        for (number, attempt), found in late.values.items():
            held = {
                source
                for (source,) in self._connection.execute(
                    "SELECT source FROM value WHERE number = ? AND attempt = ?", (number, attempt)
                )
            }
            if new := [(*each, late.digests.get(each[3] or "")) for each in found if each[0] not in held]:
                self._connection.executemany(_INSERT_VALUE, ((number, attempt, *value) for value in new))
                of_trial = replace(late.amendment, trial=number, attempt=attempt, detail={"values": new})
                self._amend([of_trial])

    def add_event(self, event: Event) -> None:
        """Record an event outside the trials."""
        with self._transaction():
            self._connection.execute(
                "INSERT INTO event VALUES (?, ?, ?)", (event.time, event.kind, event.text)
            )

    def set_meta(self, key: str, value: str) -> None:
        """Record a fact about the whole experiment."""
        with self._transaction():
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def _claim(self, session: Session, claims: Iterable[tuple[TrialRow, float | None]]) -> None:
        where = (session.epoch, session.number, session.worker, session.boot)
        self._connection.executemany(
            "UPDATE trial SET status = 'running', epoch = ?, session = ?, worker = ?, boot = ?, claimed = ? "
            "WHERE number = ? AND attempt = ?",
            ((*where, moment, row.number, row.attempt) for row, moment in claims),
        )

    def _end(self, ends: Sequence[TrialEnd], digests: Mapping[str, str]) -> None:
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
            _INSERT_VALUE,
            (
                (end.row.number, end.row.attempt, *value, digests.get(value[3] or ""))
                for end in ends
                for value in end.values
            ),
        )
        self._link((end.row.number, end.row.attempt) for end in ends)

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


def again(row: TrialRow) -> TrialRow:
    """Return the row of a further attempt at the same trial."""
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
