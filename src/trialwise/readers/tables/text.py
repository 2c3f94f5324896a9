"""Delimited text as text columns: encoding, comments, delimiter and header, specified or detected."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from trialwise.errors import AnalysisError
from trialwise.foreign_frames import library_errors
from trialwise.late import pl
from trialwise.numbers import counted
from trialwise.readers.tables import words
from trialwise.readers.tables.dialect import Dialect
from trialwise.readers.tables.pieces import count_lines, in_pieces
from trialwise.readers.tables.typed import LEAST, Schema, typed

LINE = "\0line"
"""The column with each row's line in the file."""

_SAMPLE = 1 << 20
_RECORDS = 200
_DELIMITERS = (",", ";", "\t", "|")
_BLANKS = " "
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", _BLANKS: "blanks"}
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_COMMENT = re.compile(r"#|%(?=[\s%]|$)|//")
_SEPARATOR_LINE = re.compile(r'^"?sep=(.)"?$', re.IGNORECASE)

csv.field_size_limit(1 << 24)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the rows of a text begin, and how they are split; `lines` come before them."""

    delimiter: str
    names: tuple[str, ...]
    lines: int
    comment: str | None
    headed: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextTable:
    """The columns of a text, all as text, preceded by `LINE`; `repeated` names occur more than once in the header."""

    frame: pl.DataFrame
    delimiter: str
    repeated: tuple[str, ...]
    headed: bool
    notes: tuple[str, ...]


def read_text(
    path: Path, content: bytes, dialect: Dialect, wanted: Sequence[str], *, types: bool = False
) -> TextTable:
    """Split a text into columns; a first line of numbers that contains `wanted` names is a header.

    With `types`, the columns of a large plain text are those of `typed`.

    Raises
    ------
    AnalysisError
        It is binary or has another encoding, or a row has more fields than the header.
    """
    data = _decoded(path, content, dialect.encoding)
    layout = _layout(path, data, dialect, wanted)
    if layout.delimiter == _BLANKS:
        data = _with_tabs(data, layout.comment)
    names, repeated = _distinct(layout.names)
    frame = _typed(data, layout) if types else None
    if frame is None:
        frame = _parsed(path, data, layout)
    frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
    frame = _trimmed(frame, data, layout.delimiter)
    lines = _lines(data, layout, frame.height)
    return TextTable(
        frame.insert_column(0, pl.Series(LINE, lines, dtype=pl.UInt32)),
        layout.delimiter,
        repeated,
        layout.headed,
        layout.notes,
    )


# Encoding


def _decoded(path: Path, content: bytes, encoding: str | None) -> bytes:
    """Return the text in UTF-8, with single-byte line ends."""
    marked = next(((mark, known) for mark, known in _MARKS if content.startswith(mark)), None)
    if encoding is None and marked is not None:
        mark, encoding = marked
        content = content.removeprefix(mark)
    data = content if encoding is None and b"\0" in content else _recoded(path, content, encoding or "utf-8")
    if b"\0" in data:
        wide = encoding is None and data.count(b"\0") * 3 > len(data)
        raise AnalysisError(
            f"{path}: is a binary file",
            hint="is it UTF-16? then add --encoding utf-16-le" if wide else "expected a CSV or Parquet file",
        )
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"\n\xef\xbb\xbf" in data:  # files that were joined
        data = data.replace(b"\n\xef\xbb\xbf", b"\n")
    is_ended = data.endswith(b"\n") and not data.endswith(b"\n\n")
    return data if is_ended else data.rstrip(b"\n") + b"\n"


def _recoded(path: Path, content: bytes, encoding: str) -> bytes:
    try:
        if encoding.lower().replace("_", "-") in ("utf-8", "utf8", "ascii"):
            if not content.isascii():
                content.decode(encoding)
            return content
        return content.decode(encoding).encode()
    except LookupError as error:
        raise AnalysisError(
            f"--encoding {encoding}: unknown text encoding", hint="write utf-8, utf-16 or cp1252"
        ) from error
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        raise AnalysisError(
            f"{path}: cannot be read: line {content.count(bytes([10]), 0, at) + 1} is not in {encoding}",
            hint="say the encoding, as --encoding cp1252 for Western European"
            if encoding.startswith("utf")
            else "leave out --encoding, or name another",
        ) from error


# Layout


def _layout(path: Path, data: bytes, dialect: Dialect, wanted: Sequence[str]) -> Layout:
    whole = len(data) <= _SAMPLE
    sample = data[:_SAMPLE].decode("utf-8", errors="ignore").split("\n")[: None if whole else -1]
    if not sample:
        raise AnalysisError(f"{path}: the first line is longer than {_SAMPLE >> 20} MiB")
    delimiter, notes = dialect.delimiter, list[str]()
    skipped = 0
    if found := _SEPARATOR_LINE.match(sample[0]):
        delimiter, skipped = delimiter or found[1], 1
    comment = dialect.comment or comment_mark(_first(sample[skipped:]))
    before = skipped
    commented = ""
    while before < len(sample) and _is_passed(sample[before], comment):
        if sample[before].strip():
            commented = sample[before]
        before += 1
    body = sample[before:]
    if not any(line.strip() for line in body):
        body, commented = [commented.removeprefix(comment or "")], ""
    kept = [line for line in body if not _is_passed(line, comment)]
    delimiter = delimiter or _delimiter(path, kept)
    if dialect.delimiter is None and delimiter not in _DELIMITERS[:3]:
        notes.append(f"columns are divided by {_NAMES.get(delimiter, repr(delimiter))}")
    first, count = _first_record(path, body, delimiter)
    named = _from_comment(path, commented, comment, delimiter, first)
    if named is not None and dialect.header is not False:
        return Layout(delimiter, named, before, comment, headed=True, notes=tuple(notes))
    if _is_headless(first, dialect, wanted):
        names = tuple(f"column_{place}" for place in range(1, _width(path, kept, delimiter, first) + 1))
        if dialect.header is None:
            notes.append(f"line {before + 1} holds data, so that the columns are called column_1, column_2 …")
        return Layout(delimiter, names, before, comment, headed=False, notes=tuple(notes))
    notes.extend(_doubts(first, before + 1, dialect))
    return Layout(delimiter, first, before + count, comment, headed=True, notes=tuple(notes))


def comment_mark(line: str) -> str | None:
    """Return the mark of a comment at the beginning of a line; a name such as %CPU begins with none."""
    found = _COMMENT.match(line)
    return None if found is None else found[0]


def _first(lines: Sequence[str]) -> str:
    return next((line for line in lines if line.strip()), "")


def _is_passed(line: str, comment: str | None) -> bool:
    return not line.strip() or (comment is not None and line.startswith(comment))


def _from_comment(
    path: Path, commented: str, comment: str | None, delimiter: str, first: Sequence[str]
) -> tuple[str, ...] | None:
    """Return the header behind a comment mark, as in gnuplot's and NumPy's files."""
    if not commented or not any(words.is_number(cell) for cell in first):
        return None
    text = commented.removeprefix(comment or "")
    names, _ = _first_record(path, [text.strip() if delimiter == _BLANKS else text], delimiter)
    fits = len(names) == len(first) and not any(words.is_number(name) for name in names)
    return names if fits else None


def _doubts(header: Sequence[str], line: int, dialect: Dialect) -> Iterator[str]:
    """Yield caveats about a header that only a wanted column identified."""
    if dialect.header is None and _is_all_data(header):
        yield (
            f"line {line} looks like data and was taken for the header, since it has a column that was asked for; "
            "--no-header takes it for data"
        )


def _is_headless(first: Sequence[str], dialect: Dialect, wanted: Sequence[str]) -> bool:
    if dialect.header is not None:
        return not dialect.header
    return _is_all_data(first) and not set(first) & set(wanted)


def _is_all_data(first: Sequence[str]) -> bool:
    known = [cell for cell in first if cell]
    return bool(known) and all(map(words.is_data, known))


def _width(path: Path, lines: Sequence[str], delimiter: str, first: Sequence[str]) -> int:
    return max([len(first), *map(len, islice(_records(path, lines, delimiter), _RECORDS))])


def _delimiter(path: Path, lines: Sequence[str]) -> str:
    """Find the delimiter that splits most rows into as many fields as the header has, and into the most."""
    best, most = ",", (0.0, 1)
    for mark in (*_DELIMITERS, _BLANKS):
        try:
            records = [record for record in islice(_records(path, lines, mark), _RECORDS) if record]
        except AnalysisError:
            continue
        sizes = Counter(len(record) for record in records)
        fields = len(records[0]) if records else 1
        fitting = sizes[fields] / max(len(records), 1)
        # Blanks also occur inside fields: they are delimiters only if nothing else is, and then for all rows.
        if fields < 2 or (mark == _BLANKS and (most[0] > 0.5 or fitting < 1 or len(records) < 2)):
            continue
        if (fitting, fields) > most:
            best, most = mark, (fitting, fields)
    return best


def _records(path: Path, lines: Sequence[str], delimiter: str) -> Iterator[list[str]]:
    if delimiter == _BLANKS:
        yield from (_blank_record(line) for line in lines)
        return
    try:
        yield from csv.reader((f"{line}\n" for line in lines), delimiter=delimiter)
    except csv.Error as error:
        raise AnalysisError(f"{path}: cannot be read: {error}") from error


def _blank_record(line: str) -> list[str]:
    if '"' not in line:
        return line.split()
    records = list(csv.reader([line.strip()], delimiter=" ", skipinitialspace=True))
    return [cell for cell in records[0] if cell] if records else []


def _first_record(path: Path, lines: Sequence[str], delimiter: str) -> tuple[tuple[str, ...], int]:
    """Return the cells of the first record, without surrounding blanks, and the number of lines it takes."""
    if delimiter == _BLANKS:
        return tuple(_blank_record(lines[0])), 1
    try:
        reader = csv.reader(
            (f"{line}\n" for line in lines), delimiter=delimiter, skipinitialspace=delimiter != "\t"
        )
        record = next(reader, list[str]())
    except (csv.Error, TypeError) as error:
        raise AnalysisError(
            f"{path}: cannot be read: {error}", hint="a delimiter is one character"
        ) from error
    return tuple(cell.strip() for cell in record), reader.line_num


def _distinct(names: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Make the names unique, and return those that occurred more than once."""
    times, seen = Counter(names), Counter[str]()
    found: list[str] = []
    for name in names:
        seen[name] += 1
        own = name if times[name] == 1 else f"{name} ({seen[name]})"
        while own in found or (times[name] > 1 and own in times):
            own += "'"
        found.append(own)
    return found, tuple(name for name, count in times.items() if count > 1)


# Rows


def _with_tabs(data: bytes, comment: str | None) -> bytes:
    mark = comment.encode() if comment else None
    lines = (
        line
        if mark and line.startswith(mark)
        else b"\t".join(line.split())
        if b'"' not in line
        else "\t".join(_blank_record(line.decode())).encode()
        for line in data.split(b"\n")
    )
    return b"\n".join(lines)


def _parsed(path: Path, data: bytes, layout: Layout) -> pl.DataFrame:
    try:
        return _polars(data, layout, ragged=False)
    except pl.exceptions.NoDataError:
        return pl.DataFrame(schema={_key(place): pl.String for place in range(len(layout.names))})
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        _check_widths(path, data, layout)
    with library_errors(path):
        return _polars(_with_whole_row(data, layout), layout, ragged=True).slice(1)


def _with_whole_row(data: bytes, layout: Layout) -> bytes:
    """Put a row of empty cells before the others: of a first row with too few cells, Polars takes the width of all."""
    end = -1
    for _ in range(layout.lines):
        end = data.find(b"\n", end + 1)
        if end < 0:
            return data
    row = '""' + _separator(layout) * (len(layout.names) - 1)
    return b"%b%b\n%b" % (data[: end + 1], row.encode(), data[end + 1 :])


def _typed(data: bytes, layout: Layout) -> pl.DataFrame | None:
    """Return the columns of a large text by the types of their cells; None if it is not large, or not plain."""
    if len(data) < LEAST:
        return None
    with suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException):
        head = _polars(data[: data.rfind(b"\n", 0, _SAMPLE) + 1], layout, ragged=False)
        return typed(head, lambda schema: _in_pieces(data, layout, schema))
    return None


def _in_pieces(data: bytes, layout: Layout, schema: Schema) -> pl.DataFrame:
    def read(part: bytes, lines: int) -> pl.DataFrame:
        return _polars(part, replace(layout, lines=lines), ragged=False, schema=schema)

    return in_pieces(data, layout.lines, read)


def _polars(data: bytes, layout: Layout, *, ragged: bool, schema: Schema | None = None) -> pl.DataFrame:
    return pl.read_csv(
        data,
        separator=_separator(layout),
        has_header=False,
        skip_lines=layout.lines,
        comment_prefix=layout.comment,
        schema=schema or {_key(place): pl.String() for place in range(len(layout.names))},
        truncate_ragged_lines=ragged,
    )


def _separator(layout: Layout) -> str:
    return "\t" if layout.delimiter == _BLANKS else layout.delimiter


def _key(place: int) -> str:
    return f"column_{place + 1}"


def _check_widths(path: Path, data: bytes, layout: Layout) -> None:
    """Refuse rows with a cell beyond the last column, naming the first one.

    Raises
    ------
    AnalysisError
        There is such a row.
    """
    width = len(layout.names)
    reader = csv.reader(_text_lines(data, layout.comment), delimiter=_separator(layout))
    start = 1
    try:
        for record in reader:
            line, start = start, reader.line_num + 1
            passed = line <= layout.lines or (
                layout.comment and record and record[0].startswith(layout.comment)
            )
            if not passed and any(cell.strip() for cell in record[width:]):
                known = _NAMES.get(layout.delimiter, repr(layout.delimiter))
                raise AnalysisError(
                    f"{path}: line {line} has {counted(len(record), 'field')} between {known}, and the header {width}",
                    hint="is it a table? if so, quote fields that hold the delimiter, or name it with --delimiter",
                )
    except csv.Error as error:
        raise AnalysisError(f"{path}: line {start}: cannot be read: {error}") from error


def _text_lines(data: bytes, comment: str | None) -> Iterator[str]:
    """Yield the lines; for a comment only its mark, since quotes in it do not open a field."""
    begin = 0
    while begin < len(data):
        end = data.find(b"\n", begin) + 1 or len(data)
        line = data[begin:end].decode("utf-8", errors="replace")
        yield f"{comment}\n" if comment and line.startswith(comment) else line
        begin = end


def _trimmed(frame: pl.DataFrame, data: bytes, delimiter: str) -> pl.DataFrame:
    """Strip blanks around cells, and quotes behind such blanks."""
    is_text = any(column.dtype == pl.String for column in frame)
    if delimiter == _BLANKS or not is_text or not _may_have_blanks_around(data, delimiter.encode()):
        return frame
    text = pl.col(pl.String).str.strip_chars()
    quoted = text.str.starts_with('"') & text.str.ends_with('"') & (text.str.len_bytes() > 1)
    inner = text.str.slice(1, text.str.len_chars() - 2).str.replace_all('""', '"', literal=True)
    return frame.with_columns(pl.when(quoted).then(inner).otherwise(text).name.keep())


def _may_have_blanks_around(data: bytes, mark: bytes) -> bool:
    """Return True if a cell begins or ends with a blank; a search for one byte takes a tenth of one for two."""
    blanks = [blank for blank in (b" ", b"\t") if blank != mark and blank in data]
    ends = (mark + b" ", b" " + mark, b" \n", b"\n ") if b" " in blanks else ()
    return any(part in data for part in (*ends, *([b"\t\n"] if b"\t" in blanks else [])))


def _lines(data: bytes, layout: Layout, height: int) -> Sequence[int] | pl.Series:
    """Return the line in which each row begins."""
    total = count_lines(data)
    if total - layout.lines == height:
        return pl.int_range(layout.lines + 1, total + 1, dtype=pl.UInt32, eager=True)
    found: list[int] = []
    reader = csv.reader(_text_lines(data, layout.comment), delimiter=_separator(layout))
    start = 1
    for record in reader:
        if start > layout.lines and not (layout.comment and record and record[0].startswith(layout.comment)):
            found.append(start)
        start = reader.line_num + 1
    return (found + [start] * height)[:height]
