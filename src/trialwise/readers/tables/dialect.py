"""The dialect of a table as specified by the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Decimal = Literal[".", ","]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The specified properties of a table; None: detected from the file.

    `delimiter` " " means runs of blanks. `missing` are additional words for missing values. `comment` starts lines to skip.
    `time_format` is a pattern of `strptime`, a unit (s, ms, us, ns), or "day-first", "month-first" or "year-first".
    """

    delimiter: str | None = None
    decimal: Decimal | None = None
    missing: tuple[str, ...] = ()
    header: bool | None = None
    comment: str | None = None
    encoding: str | None = None
    time_format: str | None = None
