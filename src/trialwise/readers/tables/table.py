"""One reader of tables for all commands: the columns of a CSV or Parquet file, and what was detected about it."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trialwise.errors import AnalysisError
from trialwise.foreign_parquet import MAGIC
from trialwise.late import pl
from trialwise.readers.tables import numbers, parquet
from trialwise.readers.tables.content import content_of
from trialwise.readers.tables.dialect import Decimal, Dialect
from trialwise.readers.tables.foreign import foreign
from trialwise.readers.tables.strays import without_strays
from trialwise.readers.tables.text import LINE, read_text

_MAX_LISTED = 12
_EVIDENCE_ROWS = 1000


def names_metrics(columns: Collection[str], column: str) -> bool:
    """Return True if the rows of a column of values are of the metrics that another column names."""
    return column == "value" and "metric" in columns


def units_of(rows: pl.DataFrame, column: str) -> list[str]:
    """Return the units that a column `unit` gives the values of some rows, each once; none where there is no such column."""
    if column != "value" or "unit" not in rows.columns:
        return []
    return [str(unit) for unit in rows["unit"].drop_nulls().unique(maintain_order=True).to_list()]


@dataclass(frozen=True)
class Table:
    """The columns of a file, as text for CSV, preceded by `LINE`; `where` is what `LINE` counts, line or row.

    `notes` say what was detected about the file, one sentence each; `again` is that of them about headers that were left out.
    """

    path: Path
    frame: pl.DataFrame
    dialect: Dialect
    where: str = "line"
    delimiter: str = ","
    repeated: tuple[str, ...] = ()
    headed: bool = True
    notes: tuple[str, ...] = ()
    again: str = ""
    _cache: dict[str, Decimal | None] = field(default_factory=dict[str, Decimal | None])

    @property
    def columns(self) -> list[str]:
        """The column names of the file; added columns start with NUL, which no header does."""
        return [name for name in self.frame.columns if not name.startswith("\0")]

    def of(self, frame: pl.DataFrame) -> Table:
        """Return the same table with other rows or added columns."""
        return Table(
            self.path,
            frame,
            self.dialect,
            self.where,
            self.delimiter,
            self.repeated,
            self.headed,
            self.notes,
            self.again,
            self._cache,
        )

    def at(self, place: int) -> str:
        """Return the location of a row, for messages: "runs.csv: line 7"."""
        return f"{self.path}: {self.where} {self.frame[LINE][place]}"

    def custom(self) -> Decimal | None:
        """Return the decimal mark shown by unambiguous columns."""
        if "decimal" not in self._cache:
            head = self.frame.head(_EVIDENCE_ROWS)
            texts = (head[name] for name in self.columns if head[name].dtype == pl.String)
            self._cache["decimal"] = "," if any(map(numbers.clear_comma, texts)) else None
        return self._cache["decimal"]

    def check(self, wanted: Sequence[str]) -> None:
        """Refuse names that match no column or several, and suggest the nearest column.

        Raises
        ------
        AnalysisError
            A column is missing, or occurs twice.
        """
        for name in wanted:
            if name in self.repeated:
                raise AnalysisError(
                    f"{self.path}: several columns are called {name!r}",
                    hint=f"rename one, or write {name + ' (1)'!r} or {name + ' (2)'!r}",
                )
            if name not in self.columns:
                raise AnalysisError(f"{self.path}: no column {name!r}", hint=self._nearest(name))

    def _nearest(self, name: str) -> str:
        there = self.listed
        if not self.headed:
            return f"the file has no header; its columns are called {there}"
        alike = [one for one in self.columns if one.casefold() == name.strip().casefold()]
        near = alike or difflib.get_close_matches(name, self.columns, 1, cutoff=0.4)
        return f"{near[0]!r} is there; all columns: {there}" if near else f"columns: {there}"

    @property
    def listed(self) -> str:
        """List the column names, for messages."""
        more = " …" if len(self.columns) > _MAX_LISTED else ""
        return ", ".join(self.columns[:_MAX_LISTED]) + more

    def is_numeric(self, name: str) -> bool:
        """Return True if most non-missing cells are numbers; a single wrong cell is an error to report, not another type of column."""
        column = self.frame[name]
        if column.dtype != pl.String:
            return column.dtype.is_numeric()
        found = numbers.parsed(column, self.dialect.missing, self.dialect.decimal, self.custom)
        known = found.missing.len() - int(found.missing.sum())
        return (
            known > 0 and not found.unit and (found.open is not None or int(found.wrong.sum()) <= known // 2)
        )

    def numeric(self) -> list[str]:
        """Return the numeric columns."""
        return [name for name in self.columns if self.is_numeric(name)]


def read_table(
    path: Path,
    dialect: Dialect | None = None,
    wanted: Sequence[str] = (),
    content: bytes | None = None,
    *,
    types: bool = False,
) -> Table:
    """Read all columns of a CSV file (as text) or of a Parquet file; `wanted` are columns that will be needed.

    `content` is the content of the path if already read, because a pipe can be read only once. With `types`, the columns of a large
    plain CSV file are doubles, numbered texts or texts (`typed`).

    Raises
    ------
    AnalysisError
        The file cannot be read, is empty, too large or not a table, lacks a wanted column, or has no rows.
    """
    dialect = dialect or Dialect()
    content = content_of(path) if content is None else content
    if not content:
        raise AnalysisError(f"{path}: the file is empty")
    if content.startswith(MAGIC):
        frame = parquet.read_parquet(path, content)
        lines = pl.int_range(1, frame.height + 1, dtype=pl.UInt32, eager=True).alias(LINE)
        table = Table(path, frame.insert_column(0, lines), dialect, where="row")
    else:
        table = _of_text(path, content, dialect, wanted, types=types)
    if not table.frame.height:
        raise AnalysisError(f"{path}: there is a header, but no row")
    table.check(wanted)
    return table


def _of_text(path: Path, content: bytes, dialect: Dialect, wanted: Sequence[str], *, types: bool) -> Table:
    known = foreign(content)
    if known is not None:
        raise known.error(path)
    text = read_text(path, content, dialect, wanted, types=types)
    frame, again = without_strays(text.frame, LINE) if text.headed else (text.frame, "")
    notes = (*text.notes, again) if again else text.notes
    return Table(path, frame, dialect, "line", text.delimiter, text.repeated, text.headed, notes, again)
