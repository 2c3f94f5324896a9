"""Read a column of numbers from delimited text."""

from __future__ import annotations

import csv
import dataclasses
import io
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import TrialError
from trialwise.late import pl
from trialwise.measurement.numbers import HINT, NUMBER, nearest, quote
from trialwise.measurement.samples import Samples
from trialwise.numbers import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialwise.measurement.reported import Reported

DELIMITERS = (",", ";", "\t")


def read_csv(reported: Reported, column: str, *, time: str | None = None) -> Samples:
    """Read a column, one sample per row.

    Parameters
    ----------
    reported
        Text in UTF-8, its first line a header; fields separated by commas, semicolons or tabs, whichever the
        header uses, in double quotes where needed (RFC 4180).
    column
        Name of the column of values.
    time
        Name of the column of times, in seconds.

    Raises
    ------
    TrialError
        The text is empty, not text or without rows; it has no header, lacks the column or has it twice; a row
        has too many fields; or a field is not a finite number.
    """
    reported.require_content()
    names = [column] if time is None else [column, time]
    reported = _with_heading(reported, names)
    _require_text(reported)
    delimiter, header = _header(reported, column)
    for name in names:
        _require_column(reported, name, header)
    table = _parse(reported, delimiter, header, names)
    if table.is_empty():
        raise TrialError(
            f"{reported.where} has a header and no rows", hint="check that the program ended by itself"
        )
    arrays = [_numbers(reported, table[_key(header.index(name))], name) for name in names]
    return Samples(*arrays)


def _with_heading(reported: Reported, names: list[str]) -> Reported:
    """Put the file's heading before rows that were appended to it, unless they brought one."""
    first = reported.data.lstrip().split(b"\n", 1)[0].decode(errors="replace")
    if not reported.heading or any(set(names) <= set(_cells(first, mark)) for mark in DELIMITERS):
        return reported
    return dataclasses.replace(reported, data=reported.heading + b"\n" + reported.data.lstrip())


def _cells(line: str, delimiter: str) -> list[str]:
    """Split a line into stripped cells; none if the line does not belong to a table."""
    try:
        return [cell.strip() for row in csv.reader([line], delimiter=delimiter) for cell in row]
    except csv.Error:
        return []


def _require_text(reported: Reported) -> None:
    if (position := reported.data.find(0)) >= 0:
        raise reported.not_text(position)
    try:
        reported.data.decode()
    except UnicodeDecodeError as error:
        raise reported.not_text(error.start) from error


def _header(reported: Reported, column: str) -> tuple[str, list[str]]:
    line = reported.data.lstrip().split(b"\n", 1)[0].decode("utf-8-sig").rstrip("\r")
    try:
        headers = {mark: next(csv.reader([line], delimiter=mark)) for mark in DELIMITERS}
    except csv.Error as error:
        raise _no_table(reported, str(error)) from error
    headers = {mark: [name.strip() for name in names] for mark, names in headers.items()}
    delimiter = max(DELIMITERS, key=lambda mark: (column in headers[mark], len(headers[mark])))
    header = headers[delimiter]
    if all(NUMBER.fullmatch(name) for name in header):
        raise TrialError(
            f"{reported.where} has no header: its first line is {quote(line)}",
            hint=f"have the program name its columns in the first line, for example {column!r}",
        )
    return delimiter, header


def _require_column(reported: Reported, name: str, header: list[str]) -> None:
    if header.count(name) == 1:
        return
    if name in header:
        raise TrialError(
            f"{reported.where} has {header.count(name)} columns {name!r}", hint="give each a name of its own"
        )
    raise TrialError(f"{reported.where} has no column {name!r}", hint=nearest(name, header))


def _parse(reported: Reported, delimiter: str, header: list[str], names: list[str]) -> pl.DataFrame:

    try:
        return pl.read_csv(
            io.BytesIO(reported.data.lstrip()),
            separator=delimiter,
            has_header=False,
            skip_lines=1,
            schema={_key(index): pl.String for index in range(len(header))},
            columns=sorted({_key(header.index(name)) for name in names}),
        )
    except pl.exceptions.NoDataError:
        return pl.DataFrame()
    except pl.exceptions.PolarsError as error:
        raise _no_table(reported, str(error).splitlines()[0]) from error


def _key(index: int) -> str:
    # Polars names the columns of a text without header itself, and accepts no other names.
    return f"column_{index + 1}"


def _no_table(reported: Reported, what: str) -> TrialError:
    return TrialError(
        f"{reported.where} is not a table: {what}",
        hint="check that every row has as many fields as the header, and that quotes are closed",
    )


def _numbers(reported: Reported, texts: pl.Series, column: str) -> NDArray[np.float64]:

    numbers = texts.str.strip_chars().cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if not len(wrong):
        return numbers
    row = int(wrong[0])
    found = "nothing" if texts[row] is None else quote(texts[row])
    raise TrialError(
        f"{reported.where}, row {row + 1} after the header, column {column!r} holds {found},"
        " which is not a finite number"
        + (f"; so do {counted(len(wrong) - 1, 'more row')}" if len(wrong) > 1 else ""),
        hint=HINT,
    )
