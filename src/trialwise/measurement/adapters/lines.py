"""Parse lines of text into rows: CSV, JSON, key=value, or a pattern."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, cast

from trialwise.errors import PlanError
from trialwise.measurement.adapters.fields import Cells, MisfitError, convert, field_names
from trialwise.numbers import counted

# Skip a word that names no value as a whole: retrying from each of its letters took hours on a line of such words.
_PAIR = re.compile(
    r"""[\d.\-/]*+([A-Za-z_][\w.\-/]*+)\s*+=\s*(?:"([^"]*)"|'([^']*)'|([^\s,;]*))|[\w.\-/]++""", re.ASCII
)
_DELIMITERS = ",;\t"


@dataclass(frozen=True, slots=True)
class Row:
    """One sample: its cells, the suffix of its point's name, and its time unless that is now."""

    cells: Cells
    suffix: str = ""
    time: float | None = None


class Reader(Protocol):
    """Parses a program's lines into rows."""

    @property
    def types(self) -> Mapping[str, Mapping[str, str]]:
        """Types of fields, by the suffix of the point, where the format fixes them."""
        ...

    def read(self, line: str) -> Sequence[Row]:
        """Return the rows that end with this line; none if it is not a row.

        Raises
        ------
        MisfitError
            The line should be a row but is not.
        """
        ...


class CsvReader:
    """Reads cells separated by commas, semicolons or tabs, whichever is most frequent in the first line.

    The first line names the columns, unless `columns` does or one of its cells is a number. Each row is one line.
    """

    types: Mapping[str, Mapping[str, str]] = {}

    def __init__(self, columns: Sequence[str] = ()) -> None:
        self._names: tuple[str, ...] = field_names(columns) if columns else ()
        self._heading: list[str] | None = None
        self._delimiter: str | None = None

    def read(self, line: str) -> Sequence[Row]:
        """Read one line."""
        if not line.strip() or line.startswith("#"):
            return ()
        if self._delimiter is None:
            self._delimiter = max(_DELIMITERS, key=line.count)
        cells = _cells(line, self._delimiter)
        if not self._names and self._names_columns(cells):
            return ()
        if cells == self._heading:
            return ()
        if len(cells) != len(self._names):
            raise MisfitError(f"{counted(len(cells), 'cell')} instead of {len(self._names)}")
        return (Row(dict(zip(self._names, cells, strict=True))),)

    def _names_columns(self, cells: list[str]) -> bool:
        """Take column names from the first line; return True if it is a heading."""
        if any(_is_number(cell) for cell in cells):
            self._names = tuple(f"field{number}" for number in range(1, len(cells) + 1))
            return False
        self._heading, self._names = cells, field_names(cells)
        return True


class JsonLinesReader:
    """Reads one object from each line that begins with a brace; nested objects are flattened, lists stay JSON text."""

    types: Mapping[str, Mapping[str, str]] = {}

    def read(self, line: str) -> Sequence[Row]:
        """Read one line."""
        if not line.lstrip().startswith("{"):
            return ()
        try:
            pairs = list(_flat(json.loads(line), ""))
        except (ValueError, RecursionError) as error:
            raise MisfitError(f"no JSON: {error}") from error
        return _row(pairs)


class KeyValueReader:
    """Reads every ``key=value`` in a line; a value with spaces is quoted."""

    types: Mapping[str, Mapping[str, str]] = {}

    def read(self, line: str) -> Sequence[Row]:
        """Read one line."""
        return _row([(key, "".join(value)) for key, *value in _PAIR.findall(line) if key])


class PatternReader:
    """Reads what the named groups of a regular expression match, once per line.

    Raises
    ------
    PlanError
        The expression is invalid or has no named group.
    """

    types: Mapping[str, Mapping[str, str]] = {}

    def __init__(self, pattern: str) -> None:
        try:
            self._pattern = re.compile(pattern)
        except re.error as error:
            raise PlanError(
                f"--pattern {pattern!r} is not a regular expression: {error}",
                hint="see docs.python.org/3/library/re",
            ) from error
        if not self._pattern.groupindex:
            raise PlanError(
                f"--pattern {pattern!r} names no group: which parts are the fields?",
                hint="write (?P<NAME>…) around each, as in 'time=(?P<milliseconds>[\\d.]+) ms'",
            )

    def read(self, line: str) -> Sequence[Row]:
        """Read one line."""
        found = self._pattern.search(line)
        return () if found is None else (Row(found.groupdict()),)


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    except csv.Error as error:
        raise MisfitError(f"no CSV: {error}") from error


def _row(pairs: Sequence[tuple[str, object]]) -> Sequence[Row]:
    names = _names(tuple(name for name, _ in pairs))
    return (Row(dict(zip(names, (value for _, value in pairs), strict=True))),) if pairs else ()


@lru_cache(maxsize=64)
def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Cached, because nearly every row has the same names as the one before."""
    return field_names(names)


def _flat(value: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield from _flat(cast("Mapping[str, object]", inner), f"{prefix}{key}_")
        else:
            yield f"{prefix}{key}", inner


def _is_number(cell: str) -> bool:
    try:
        convert(cell, "double")
    except MisfitError:
        return False
    return bool(cell.strip())
