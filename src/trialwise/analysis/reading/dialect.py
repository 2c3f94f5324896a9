"""How a table is written: what a user said of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Decimal = Literal[".", ","]


@dataclass(frozen=True, slots=True)
class Dialect:
    """What was said of a table; None: found out from the file.

    `delimiter` " " stands for runs of blanks. `missing` are words beyond the usual ones. `comment` begins lines that are
    passed over. `time_format` is a pattern of `strptime`, a unit (s, ms, us, ns), or "day-first", "month-first" or "year-first".
    """

    delimiter: str | None = None
    decimal: Decimal | None = None
    missing: tuple[str, ...] = ()
    header: bool | None = None
    comment: str | None = None
    encoding: str | None = None
    time_format: str | None = None
