"""The hash chain over the rows of a ledger: a row that is changed, removed or moved later is found and named.

Row k, in the order in which rows were recorded, has h_k = SHA-256("trialwise-ledger-1" LF h_{k-1} LF canonical(row_k)), with h as 64
hexadecimal digits and h_0 = SHA-256 of the experiment file that began. The canonical form is JSON of the published columns, with
sorted keys, numbers as the shortest text that gives them back, times in whole nanoseconds, and null written out.

What it cannot show: a chain that somebody has computed anew, trials that ran and were never recorded, and false reports of programs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

from trialwise.store.tables import PLAIN_COLUMNS

_PREFIX = "trialwise-ledger-1"
ENDED = ("finished", "failed", "abandoned", "invalid")
"""Statuses of the trials in the chain: whatever became of an attempt, it is counted."""
TRIAL = tuple(name.strip('"') for name in PLAIN_COLUMNS.split(", "))
"""Columns of a trial in the canonical form."""
AMENDMENT = ("number", "time", "kind", "trial", "attempt", "who", "because", "detail")
"""Columns of an amendment in the canonical form."""
VALUE = ("source", "value", "samples", "file", "sha256")
"""Columns of a value in the canonical form."""
_TIMES = {"time", "planned_start", "claimed", "started", "finished"}


def start_of(experiment: str) -> str:
    """Return h_0: the SHA-256 of the text of the experiment file that began."""
    return hashlib.sha256(experiment.encode()).hexdigest()


def link_of(before: str, row: str) -> str:
    """Return the hash of a row in its canonical form that follows the hash `before`."""
    return hashlib.sha256(f"{_PREFIX}\n{before}\n{row}".encode(errors="surrogatepass")).hexdigest()


def trial_text(link: int, row: Sequence[Any], values: Iterable[Sequence[Any]]) -> str:
    """Return the canonical form of a trial, given its columns `TRIAL` and, of each value that it reported, `VALUE`."""
    return _text("trial", link, TRIAL, row, values=[list(value) for value in values])


def amendment_text(link: int, row: Sequence[Any]) -> str:
    """Return the canonical form of an amendment, given its columns `AMENDMENT`."""
    return _text("amendment", link, AMENDMENT, row)


def _text(table: str, link: int, names: Sequence[str], row: Sequence[Any], **further: object) -> str:
    columns = {
        name: _nanoseconds(value) if name in _TIMES else value for name, value in zip(names, row, strict=True)
    }
    return json.dumps(
        {"table": table, "link": link, **columns, **further},
        sort_keys=True,
        separators=(",", ":"),
        default=repr,
    )


def _nanoseconds(moment: object) -> object:
    """Return a time in seconds as whole nanoseconds; anything else, which a foreign file may hold, as it is."""
    return round(moment * 1e9) if isinstance(moment, float) and isfinite(moment) else moment
