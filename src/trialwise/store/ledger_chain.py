"""The chain of a ledger: each row that is recorded for good gets a link, in the transaction that records it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from trialwise.errors import StoreError
from trialwise.store.chain import AMENDMENT, ENDED, VALUE, amendment_text, link_of, start_of, trial_text
from trialwise.store.connection import RESTORE
from trialwise.store.ledger_facts import HEAD, LedgerFacts
from trialwise.store.records import UPGRADE, Amendment, Head
from trialwise.store.tables import PLAIN_COLUMNS, marks

START = "chain start"
"""Key of `meta`: the SHA-256 of the experiment file that began, from which the chain starts."""
EXPERIMENT_TEXT = "experiment"
"""Key of `meta`: the text of the experiment file that began or last changed the plan."""


def chain_meta(meta: Mapping[str, str]) -> dict[str, str]:
    """Return the facts that a new chain begins with, given those of the experiment."""
    start = start_of(meta.get(EXPERIMENT_TEXT, ""))
    return {START: start, HEAD: f"0 {start}"}


class LedgerChain(LedgerFacts):
    """The part of a ledger that links rows, and reads the links."""

    def start(self) -> str:
        """Return h_0: the SHA-256 of the experiment file that began."""
        return self.fact(START)

    def linked_trials(self) -> list[tuple[Any, ...]]:
        """Return link, hash and the columns `chain.TRIAL` of all trials that have ended or have a link, in order of links."""
        query = (
            f"SELECT link, chain, {PLAIN_COLUMNS} FROM trial WHERE status IN ({marks(ENDED)}) OR link IS NOT NULL "  # noqa: S608 ours
            "ORDER BY link, number, attempt"
        )
        return self._select(query, ENDED)

    def linked_amendments(self) -> list[tuple[Any, ...]]:
        """Return link, hash and the columns `chain.AMENDMENT` of all amendments, in order of links."""
        return self._select(
            f"SELECT link, chain, {', '.join(AMENDMENT)} FROM amendment ORDER BY link, number"  # noqa: S608
        )

    def linked_values(self) -> list[tuple[Any, ...]]:
        """Return number, attempt and the columns `chain.VALUE` of all values, by source within a trial."""
        return self._select(
            f"SELECT number, attempt, {', '.join(VALUE)} FROM value ORDER BY number, attempt, source"  # noqa: S608
        )

    def places(self) -> list[tuple[int, int]]:
        """Return number and attempt of every row of a trial, planned ones too."""
        return [
            (number, attempt)
            for number, attempt in self._select("SELECT number, attempt FROM trial ORDER BY 1, 2")
        ]

    # Inside a transaction

    def _link(self, trials: Iterable[tuple[int, int]]) -> None:
        """Link trials, by number and attempt, that have ended; their rows and values are read as they were written."""
        head = self._present_head()
        rows, digest = head.rows, head.hash
        for place in trials:
            rows += 1
            row = self._connection.execute(
                f"SELECT {PLAIN_COLUMNS} FROM trial WHERE number = ? AND attempt = ?",  # noqa: S608 only our own words
                place,
            ).fetchone()
            values = self._connection.execute(
                f"SELECT {', '.join(VALUE)} FROM value WHERE number = ? AND attempt = ? ORDER BY source",  # noqa: S608
                place,
            )
            digest = link_of(digest, trial_text(rows, row, values))
            self._connection.execute(
                "UPDATE trial SET link = ?, chain = ? WHERE number = ? AND attempt = ?",
                (rows, digest, *place),
            )
        self._set_head(Head(rows, digest))

    def _amend(self, amendments: Iterable[Amendment]) -> None:
        """Record amendments, and link them."""
        head = self._present_head()
        rows, digest = head.rows, head.hash
        for each in amendments:
            rows += 1
            number = self._connection.execute(
                "INSERT INTO amendment (time, kind, trial, attempt, who, because, detail) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    each.time,
                    each.kind,
                    each.trial,
                    each.attempt,
                    each.who,
                    each.because,
                    json.dumps(dict(each.detail)),
                ),
            ).lastrowid
            row = self._connection.execute(
                f"SELECT {', '.join(AMENDMENT)} FROM amendment WHERE number = ?",  # noqa: S608 only our own words
                (number,),
            ).fetchone()
            digest = link_of(digest, amendment_text(rows, row))
            self._connection.execute(
                "UPDATE amendment SET link = ?, chain = ? WHERE number = ?", (rows, digest, number)
            )
        self._set_head(Head(rows, digest))

    def _present_head(self) -> Head:
        head = self.head()
        if head is None:
            raise StoreError(f"{self.path}: has no chain yet", hint=RESTORE)
        return head

    def _set_head(self, head: Head) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)", (HEAD, f"{head.rows} {head.hash}")
        )

    def _link_old_rows(self, before: int) -> None:
        """Chain what a ledger of format `before` has, in plan order, and record that it was chained later than measured."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)", list(chain_meta(self.meta()).items())
        )
        query = f"SELECT number, attempt FROM trial WHERE status IN ({marks(ENDED)}) ORDER BY number, attempt"  # noqa: S608
        rows: list[tuple[int, int]] = self._connection.execute(query, ENDED).fetchall()
        self._link(rows)
        detail = {"from": before, "rows": len(rows)}
        because = (
            f"the {len(rows)} rows before this were chained when the ledger was upgraded, not while measuring"
        )
        self._amend([Amendment(time.time(), UPGRADE, "trialwise", because, detail=detail)])
