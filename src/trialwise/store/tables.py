"""The tables of the ledger, and how its rows are queried and read.

The format is public (docs/reference/ledger.md); `FORMAT` is its version.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from trialwise.errors import StoreError
from trialwise.experiment.model import Level
from trialwise.store.connection import RESTORE
from trialwise.store.records import Blocks, TrialRow

FORMAT = 3
_AMENDMENT = """
CREATE TABLE amendment (
    number INTEGER PRIMARY KEY,
    time REAL NOT NULL,
    kind TEXT NOT NULL,
    trial INTEGER,
    attempt INTEGER,
    who TEXT NOT NULL,
    because TEXT NOT NULL,
    detail TEXT NOT NULL,
    link INTEGER,
    chain TEXT
)"""
UPGRADES: Mapping[int, Sequence[str]] = {
    1: ("ALTER TABLE trial ADD COLUMN process TEXT",),
    2: (
        "ALTER TABLE trial ADD COLUMN link INTEGER",
        "ALTER TABLE trial ADD COLUMN chain TEXT",
        "ALTER TABLE value ADD COLUMN sha256 TEXT",
        _AMENDMENT,
    ),
}
"""What each format lacks that the next one has. Readers read old formats as they are, writers upgrade them."""

SCHEMA = f"""
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
    link INTEGER,
    chain TEXT,
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
    sha256 TEXT,
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
{_AMENDMENT};
"""

PLAIN_COLUMNS = (
    'number, attempt, status, treatment, factors, series, round, position, "order", seed, warmup, planned_start, '
    "epoch, session, worker, boot, claimed, started, finished, exit_code, reason, process"
)
"""The columns of a trial's row as they stand, without its place in the chain."""
_SKIPPED = (
    "WHEN status = 'planned' AND treatment IN (SELECT name FROM (SELECT json_extract(detail, '$.treatment') AS name, kind, "
    "max(number) FROM amendment WHERE kind IN ('skip', 'unskip') GROUP BY name) WHERE kind = 'skip') THEN 'skipped' "
)
_EXCLUDED = (
    "WHEN status = 'finished' AND (number, attempt) IN (SELECT trial, attempt FROM (SELECT trial, attempt, kind, max(number) "
    "FROM amendment WHERE kind IN ('exclude', 'include') GROUP BY trial, attempt) WHERE kind = 'exclude') "
    "THEN 'excluded' "
)


def status_column(version: int, *, with_excluded: bool) -> str:
    """Return the SQL of a trial's status as it counts.

    It is `excluded`, unless `with_excluded`, or `skipped`, if the last amendment says so.
    """
    if version < 3:
        return "status"
    return f"CASE {'' if with_excluded else _EXCLUDED}{_SKIPPED}ELSE status END"


def trial_columns(version: int, status: str) -> str:
    """Return the columns of a trial in a ledger of a format, with the SQL of its status."""
    columns = PLAIN_COLUMNS.replace("status", status, 1)
    return columns if version > 1 else columns.replace("process", "NULL")


Parts = Sequence[Mapping[str, Sequence[Level]]]
"""Alternatives, each with the levels wanted of some factors."""


def having(wanted: Parts | None, blocks: Blocks | None) -> tuple[str, list[Level]]:
    """Return the condition, and its parameters, that a trial has the levels wanted by one of the parts, and a number in a block."""
    parts = [
        " AND ".join(f"json_extract(factors, ?) IN ({marks(levels)})" for levels in part.values()) or "true"
        for part in wanted or ()
    ]
    clauses = [f" AND ({' OR '.join(parts)})"] if parts else []
    places = [[f'$."{name}"', *levels] for part in wanted or () for name, levels in part.items()]
    if blocks is not None:
        clauses.append(f" AND ({' OR '.join(['number BETWEEN ? AND ?'] * len(blocks)) or 'false'})")
        places += [list(block) for block in blocks]
    return "".join(clauses), [value for each in places for value in each]


def marks(values: Sequence[object]) -> str:
    """Return as many SQL parameter marks as there are values."""
    return ",".join("?" * len(values))


def factors_of(text: object) -> dict[str, Level]:
    """Parse the levels of a trial by factor from the JSON of its row.

    Raises
    ------
    StoreError
        The text is not a JSON object.
    """
    try:
        return dict(json.loads(str(text)))
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreError(
            f"the ledger holds factors that cannot be read: {text!r:.100}", hint=RESTORE
        ) from error


def shared(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Share equal texts among the rows of a query: a ledger repeats its sources, files, treatments and boots."""
    texts: dict[str, str] = {}
    return [
        tuple([texts.setdefault(each, each) if type(each) is str else each for each in row]) for row in rows
    ]


def trial_rows(rows: Iterable[tuple[Any, ...]]) -> list[TrialRow]:
    """Convert many rows as `trial_row` does, sharing equal parts."""
    factors = lru_cache(maxsize=1024)(factors_of)
    return [trial_row(row, factors) for row in shared(rows)]


def trial_row(row: Sequence[Any], read: Callable[[object], dict[str, Level]] = factors_of) -> TrialRow:
    """Convert a row of `trial_columns` to a record; raise StoreError if its factors cannot be read."""
    number, attempt, status, treatment, factors, series, round_, position, order, seed, warmup, *rest = row
    return TrialRow(
        number,
        attempt,
        status,
        treatment,
        read(factors),
        series,
        round_,
        position,
        order,
        seed,
        bool(warmup),
        *rest,
    )
