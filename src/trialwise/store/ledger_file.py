"""The ledger as a file: queries, transactions, and checks that the file is usable."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trialwise.errors import StoreError
from trialwise.store.connection import (
    ERRORS,
    LOG_PAGES,
    RESTORE,
    bounded,
    endless,
    file_identity,
    refused,
    set_log_aside,
)
from trialwise.store.files import gone
from trialwise.store.tables import FORMAT, UPGRADES, status_column, trial_columns

_MOST_ROWS = (1 << 31) - 2
"""Rows that one call can be asked for, and one more; a file of more bytes than this has fewer rows."""
_COMPUTED = """\
SELECT 'generated column', t.name || '.' || c.name FROM sqlite_master t, pragma_table_xinfo(t.name) c
WHERE t.type = 'table' AND c.hidden IN (2, 3)
UNION ALL
SELECT 'index', i.name FROM sqlite_master t, pragma_index_list(t.name) i
WHERE t.type = 'table' AND (i.partial OR EXISTS (SELECT 1 FROM pragma_index_xinfo(i.name) p WHERE p.cid = -2))
LIMIT 1"""
"""What SQLite computes by itself when it reads or checks a table: generated columns, and expression or partial indexes."""


class LedgerFile:
    """The open SQLite file of a ledger; the base of what reads and writes it."""

    def __init__(self, connection: sqlite3.Connection, path: Path, *, with_excluded: bool = False) -> None:
        self._connection = connection
        self._with_excluded = with_excluded
        self._durable: bool | None = None
        self._lock = threading.RLock()
        self._file = file_identity(path)
        self._is_format(FORMAT)
        self.path = path

    def close(self) -> None:
        """Close the file; the write-ahead log is merged into it."""
        self._connection.close()

    def check_in_place(self) -> None:
        """Raise StoreError if the file was removed, moved or replaced since it was opened.

        SQLite would go on writing to a file that nobody can find.
        """
        if file_identity(self.path) != self._file:
            raise gone(self.path)

    def meta(self) -> dict[str, str]:
        """Return the facts about the whole experiment: format, name, plan digest, version, time of creation."""
        return {str(key): str(value) for key, value in self._select("SELECT key, value FROM meta")}

    def fact(self, key: str) -> str:
        """Return one fact about the whole experiment.

        Raises
        ------
        StoreError
            The ledger lacks it.
        """
        found = self.meta().get(key)
        if found is None:
            raise StoreError(f"{self.path}: incomplete: there is no {key!r} in its table meta", hint=RESTORE)
        return found

    def require_wholeness(self) -> None:
        """Check the whole file, so that a damaged one is neither read nor written to."""
        problem = self._select("PRAGMA quick_check(1)")[0][0]
        if problem != "ok":
            raise StoreError(f"{self.path}: damaged: {problem}", hint=RESTORE)

    def require_format(self) -> None:
        """Raise StoreError if the file is not a ledger of a format that this version knows, or contains more than tables.

        Views, triggers, generated columns and expression indexes compute whatever their author wrote, possibly without end; a
        ledger has none of them.
        """
        foreign = self._select(
            "SELECT type, name FROM sqlite_master WHERE type IN ('view', 'trigger') OR sql LIKE 'CREATE%VIRTUAL%TABLE%' LIMIT 1"
        ) or self._select(_COMPUTED)
        if foreign:
            kind, name = foreign[0]
            raise StoreError(
                f"{self.path}: holds the {kind} {name!r}, which no Trialwise makes",
                hint="do not use it until its sender has explained this",
            )
        meta = self.meta()
        known = {str(version): version for version in (*UPGRADES, FORMAT)}
        if meta.get("format") not in known:
            raise StoreError(
                f"{self.path}: ledger format {meta.get('format')!r}; this Trialwise reads {', '.join(known)}",
                hint=f"use the version that wrote it ({meta.get('version', 'unknown')}), or a newer one",
            )
        self._is_format(known[meta["format"]])

    def _is_format(self, version: int) -> None:
        """Query the file as a ledger of this format."""
        self._format = version
        self._status = status_column(version, with_excluded=self._with_excluded)
        self._columns = trial_columns(version, self._status)

    def _bring_up_to_date(self) -> None:
        """Add what the tables of an older version lack, in one transaction."""
        if self._format == FORMAT:
            return
        with self._transaction():
            # Check again inside the transaction: two writers may have opened it at the same time.
            before = int(self.fact("format"))
            for version in range(before, FORMAT):
                for statement in UPGRADES[version]:
                    self._connection.execute(statement)
            self._connection.execute("UPDATE meta SET value = ? WHERE key = 'format'", (str(FORMAT),))
            self._is_format(FORMAT)
            if before < FORMAT:
                self._link_old_rows(before)

    def _link_old_rows(self, before: int) -> None:
        """Chain the rows that a ledger of format `before` has; inside a transaction."""
        raise NotImplementedError

    def _write_ahead(self) -> None:
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        except ERRORS as error:
            raise refused(error, self.path, "opened") from error
        set_log_aside(self.path)

    def _select(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        try:
            with self._lock, bounded(self._connection, self.path) as most:
                rows = self._connection.execute(query, parameters).fetchmany(min(most, _MOST_ROWS) + 1)
        except ERRORS as error:
            raise refused(error, self.path, "read") from error
        if len(rows) > most:
            raise endless(self.path)
        return rows

    @contextmanager
    def alone(self) -> Generator[None]:
        """Keep other threads of this process out during several calls that belong together."""
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
                with contextlib.suppress(*ERRORS):  # a full disk has already ended the transaction
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
        except ERRORS as error:
            raise refused(error, self.path, "written") from error
