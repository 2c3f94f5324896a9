"""Tables of which nobody said what their columns are for: long, wide, or of summaries (`tables.roles` tells which column is what).

They are asked for apart from the formats of tools, since any text with columns is one.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import replace

from trialwise.errors import AnalysisError
from trialwise.late import pl
from trialwise.readers.content import WIDE_MARKS, Content
from trialwise.readers.declared import NO_UNIT, Found, Reader
from trialwise.readers.tables.numbers import Parsed, is_missing, parsed
from trialwise.readers.tables.roles import FAILED, Column, Shape, of_header, read_columns, shape_of
from trialwise.readers.tables.table import Table, read_table
from trialwise.readers.tables.text import LINE, comment_mark
from trialwise.readers.tables.times import holds_dates, time_unit, times_of
from trialwise.readers.tables.words import is_data
from trialwise.readers.units import NORMAL

_MISSING = (".", "?")
_DELIMITERS = ",;\t|"
_WITH_UNIT = r"^([-+]?[0-9.,]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-zµμ%][A-Za-zµμ%/]{0,19})$"
_PLAIN = re.compile(r"[-+]?(?:\d*\.?\d+|\d+\.)")
_DIGIT = re.compile(r"\d")
_TIME = re.compile(r"\d{1,4}[-/.:]\d{1,2}[-/.:]\d[-/.:\dTZ +]{0,30}")
_PUNCTUATED = re.compile(r";(?:\s|$)|,$")
"""In the name of a column: lines of prose may have equally many commas, or words."""
_INFINITE = r"^[-+]?inf(?:inity)?$"
_LOOKED_AT = 100
_EPOCH = 1e9
_MOST_HEAD = 1 << 16


def _headless(content: Content) -> AnalysisError:
    return AnalysisError(
        f"{content.path}: the table has no header",
        hint="add a first line with names, or tell `trialwise analyze` or `compare`: --no-header --value column_2",
    )


def _narrow(content: Content) -> bytes:
    """Return the bytes of a table in which line ends are looked for: those of UTF-16 as UTF-8."""
    if content.data.startswith(WIDE_MARKS):
        return content.text.encode(errors="replace")
    return content.lined


class _Worked:
    """What was read of a table: its columns, their lines, and what was noticed."""

    def __init__(self, content: Content) -> None:
        data, self.cut = _without_cut(_narrow(content))
        table = read_table(content.path, content=data, types=True)
        if not table.headed:
            raise _headless(content)
        if any(_PUNCTUATED.search(name) for name in table.columns):
            raise AnalysisError(
                f"{content.path}: reads like sentences, not like a table",
                hint="if it is one, name its columns: --value COLUMN --group COLUMN",
            )
        self.repeated = table.repeated
        self.again = table.again
        self.infinite = 0
        self.decimals: list[str] = []
        again = {
            f"{name} ({number})" for name in table.repeated for number in range(1, len(table.columns) + 1)
        }
        self.columns = [
            self._column(table, name)
            for name in table.columns
            if name not in again and name not in table.repeated
        ]
        if any(column.kind == "number" and is_data(column.name) for column in self.columns):
            raise _headless(content)
        self.lines = _places(table.frame[LINE])
        self.shape: Shape = shape_of(self.columns)[0]

    def _column(self, table: Table, name: str) -> Column:
        column = table.frame[name]
        if column.dtype == pl.Categorical:
            return Column(name, "text", column)
        if holds_dates(table, name):
            return Column(name, "time", times_of(table, name).seconds)
        if column.dtype.is_nested():
            raise AnalysisError(f"{table.path}: column {name!r} holds lists or records, not single values")
        if column.dtype == pl.Float64 and column.null_count() < len(column):
            found = self._numbers(table, name, column, parsed(column), {})
            if found is not None:
                return found
        texts = column.cast(pl.String).str.strip_chars()
        failed = texts.str.to_lowercase().is_in(list(FAILED)).fill_null(value=False)
        infinite = texts.str.to_lowercase().str.contains(_INFINITE).fill_null(value=False)
        masked = texts.set(failed | infinite, None) if column.dtype == pl.String else column
        numbers = parsed(masked, _MISSING, None, table.custom)
        words = {row: str(texts[row]) for row in failed.arg_true().to_list()}
        if (found := self._numbers(table, name, masked, numbers, words)) is not None:
            self.infinite += int(infinite.sum())
            return found
        return Column(name, "text", texts.set(is_missing(texts, _MISSING), None))

    def _numbers(
        self, table: Table, name: str, texts: pl.Series, numbers: Parsed, words: dict[int, str]
    ) -> Column | None:
        """Return a column of numbers; None if it is one of texts."""
        if numbers.open is not None:
            raise AnalysisError(
                f"{table.path}: {numbers.open!r} in column {name!r} may be thousands or decimals",
                hint="say which to `trialwise analyze` or `compare`: --decimal . or --decimal ,",
            )
        metric, unit = of_header(name)
        if numbers.units:
            return None if numbers.bare else _in_units(table, name, texts, words)
        known = len(texts) - int(numbers.missing.sum())
        infinite = numbers.values.is_infinite().fill_null(value=False)
        wrong = numbers.wrong & ~infinite
        if not known or int(wrong.sum()) * 2 >= known:
            return None
        if wrong.any():
            place = int(wrong.arg_max() or 0)
            raise AnalysisError(
                f"{table.at(place)}: {str(texts[place])[:40]!r} in column {name!r} is not a number"
            )
        if infinite.any():  # as 1e400, or inf in Parquet
            numbers = replace(numbers, values=numbers.values.set(infinite, None))
            self.infinite += int(infinite.sum())
        if numbers.decimal == ",":
            self.decimals.append(metric)
        if _is_running(table, name, numbers.values):
            return Column(name, "clock", numbers.values)
        if _is_clock(name, numbers.values):
            return Column(name, "time", times_of(table, name).seconds)
        in_cells = numbers.unit if numbers.unit in NORMAL else ""
        return Column(metric, "number", numbers.values, unit or in_cells, in_header=bool(unit), failed=words)


def _places(lines: pl.Series) -> Sequence[int]:
    """Return the lines of rows; as a range, which takes no memory, where each is one after the other."""
    first, last = int(lines[0]), int(lines[-1])
    return range(first, last + 1) if last - first + 1 == len(lines) else lines.to_list()


def _is_clock(name: str, values: pl.Series) -> bool:
    """Return True if a column with the name of a time has seconds since 1970, or a finer unit of them."""
    least = values.min()
    return time_unit(name)[0] and isinstance(least, float) and least >= _EPOCH


def _is_running(table: Table, name: str, values: pl.Series) -> bool:
    """Return True if a column has the name of a time, or the x of x and y, and rises in every row, but does not count from 1970."""
    named = time_unit(name)[0] or (name.lower(), [each.lower() for each in table.columns]) == (
        "x",
        ["x", "y"],
    )
    if (
        not named
        or len(table.columns) < 2
        or values.null_count()
        or _is_clock(name, values)
        or len(values) < 2
    ):
        return False
    return bool((values.diff().drop_nulls() > 0).all())


def _in_units(table: Table, name: str, texts: pl.Series, words: dict[int, str]) -> Column | None:
    """Return a column whose cells have several units of one kind; None if they have not."""
    parts = texts.str.extract_groups(_WITH_UNIT)
    told = parts.struct.field("2").to_list()
    numbers = parsed(parts.struct.field("1"), (), None, table.custom)
    if sum(unit is not None for unit in told) * 2 < len(texts) - texts.null_count():
        return None
    normal = {NORMAL[unit][1] if unit in NORMAL else unit for unit in told if unit is not None}
    if len(normal) != 1 or not normal <= {kept for _, kept in NORMAL.values()} or numbers.open:
        units = ", ".join(sorted({str(unit) for unit in told if unit is not None}))
        raise AnalysisError(
            f"{table.path}: column {name!r} is in units that do not belong together, or are not known: {units}",
            hint="bring all to one unit, and write it into the header",
        )
    factors = pl.Series([None if unit is None else NORMAL[unit][0] for unit in told], dtype=pl.Float64)
    values = numbers.values * factors
    return Column(name, "number", values, normal.pop(), failed=words)


def _without_cut(data: bytes) -> tuple[bytes, str]:
    """Leave out a last line without an end that has fewer fields than others, fewer decimals or half a time; and say so."""
    end = data.rfind(b"\n")
    last = data[end + 1 : end + 2 + _MOST_HEAD]
    if not last.strip() or end <= 0 or len(last) > _MOST_HEAD or data.startswith(b"PAR1"):
        return data, ""
    before = data[max(0, end - _MOST_HEAD) : end].decode(errors="replace").splitlines()
    line = last.decode(errors="replace")
    header = data[: min(end, _MOST_HEAD)].decode(errors="replace").splitlines()[0]
    delimiter = max(_DELIMITERS, key=header.count)
    fields = _fields(line, delimiter)
    others = [_fields(each, delimiter) for each in [each for each in before if each.strip()][-_LOOKED_AT:]]
    if not others:
        return data, ""
    if len(fields) < len(others[-1]) or _is_shorter(fields, others) or _is_part_of_time(fields, others):
        return data[: end + 1], f"its last line, {line[:40]!r}, was cut and is left out"
    return data, ""


def _fields(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [""])
    except csv.Error:
        return []


def _is_shorter(fields: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Return True if the last number has fewer decimals than every other one in its column."""
    if not fields or not _PLAIN.fullmatch(fields[-1].strip()):
        return False
    column = [each[-1].strip() for each in others if len(each) == len(fields)]
    decimals = [len(cell.partition(".")[2]) for cell in column if _PLAIN.fullmatch(cell)]
    return bool(decimals) and len(fields[-1].strip().partition(".")[2]) < min(decimals)


def _is_part_of_time(fields: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Return True if the other cells of the last column, but perhaps its header, are times that begin as the last, digit for digit."""
    last = _DIGIT.sub("0", fields[-1].strip()) if fields else ""
    column = [each[-1].strip() for each in others if len(each) == len(fields)]
    times = [cell for cell in column if _TIME.fullmatch(cell)]
    return 0 < len(times) >= len(column) - 1 and all(
        0 < len(last) < len(cell) and _DIGIT.sub("0", cell).startswith(last) for cell in times
    )


def _worked(content: Content) -> _Worked:
    if "table" not in content.worked:
        content.worked["table"] = _Worked(content)
    return content.worked["table"]


def looks_like_table(content: Content) -> bool:
    """Return True for Parquet, and for text whose first two lines have the same number of fields, more than one."""
    if content.data.startswith(b"PAR1"):
        return True
    if content.is_binary or content.head.lstrip()[:1] in ("{", "[", "<"):
        return False
    lines = [line for line in content.head.split("\n") if line.strip() and comment_mark(line) is None]
    lines = lines[:_LOOKED_AT]
    if len(lines) < 2:
        return False
    if any(1 < len(_fields(lines[0], each)) == len(_fields(lines[1], each)) for each in _DELIMITERS):
        return True
    cells = [line.split() for line in lines[:-1] or lines]
    return (
        len({len(each) for each in cells}) == 1
        and len(cells[0]) > 1
        and any(map(_PLAIN.fullmatch, cells[-1]))
    )


def _read(content: Content, found: Found) -> None:
    worked = _worked(content)
    if worked.cut:
        found.note("partial", what=worked.cut)
    if worked.again:
        found.remark(worked.again)
    found.not_finite += worked.infinite
    if worked.repeated:
        found.note("duplicate_columns", what=", ".join(worked.repeated))
    if worked.decimals:
        found.note("decimal_comma", what=", ".join(worked.decimals))
    read_columns(found, worked.columns, worked.lines)


def _is(shape: Shape, content: Content) -> bool:
    return looks_like_table(content) and _worked(content).shape == shape


READERS = (
    Reader(
        name="csv-long",
        tool="a table",
        how="a row for each trial",
        replicated="process",
        unit="row",
        fits=lambda content: _is("long", content),
        read=_read,
        subjects=("metric", "benchmark"),
        is_table=True,
    ),
    Reader(
        name="csv-wide",
        tool="a table",
        how="a column for each treatment",
        replicated="process",
        unit="cell (row, column level)",
        fits=lambda content: _is("wide", content),
        read=_read,
        is_table=True,
    ),
    Reader(
        name="csv-summary",
        tool="a table",
        how="columns mean, sd and n",
        replicated="process",
        unit=NO_UNIT,
        fits=lambda content: _is("summary", content),
        read=_read,
        is_table=True,
    ),
)
TABLES = frozenset(reader.name for reader in READERS)
"""The formats of tables of which nobody said what their columns are for."""
