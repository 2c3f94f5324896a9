"""Read and write packet logs as text, `TIME KIND NUMBER …`, by columns; errors name file and line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trialwise.errors import AnalysisError
from trialwise.foreign_files import MEBIBYTE, read_foreign
from trialwise.late import pl
from trialwise.whole_files import whole_file

Times = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Forms = Mapping[str, str]
"""Forms of lines by kind: words in capitals are numbers, those in brackets are optional."""
MAX_LOG = 512 * MEBIBYTE
"""Maximum bytes of a log: more than a minute of 1 Gbit/s in full packets."""
_AT_ONCE = 16 * MEBIBYTE
_NUMBERS = {"TIME": r"\d+(?:\.\d*)?", "DELAY": r"-?\d+(?:\.\d*)?"}
_COUNT = r"\d+"
_LARGEST = {"TIME": 9e12, "DELAY": 9e12, "SIZE": 2**32 - 1, "FLOW": 2**16 - 1, "UID": 2.0**63 - 1024}
"""Maximum of a number, by its word; milliseconds (285 years), bytes; every other count 2^53."""
_MAX_COUNT = 2**53


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of one kind: their times, and the numbers that follow (NaN if missing)."""

    time: Times
    numbers: tuple[Times, ...]

    def counts(self, place: int) -> Counts:
        """Return the numbers at one position, which are integers; 0 if missing."""
        return np.nan_to_num(self.numbers[place]).astype(np.int64)


@dataclass(frozen=True, slots=True)
class LogText:
    """A log: the lines before the first event, without their marks, and the events by kind."""

    header: tuple[str, ...]
    lines: Mapping[str, Lines]

    def entry(self, name: str) -> str | None:
        """Return what follows `name: ` in the header."""
        found = (line.removeprefix(f"{name}:").strip() for line in self.header if line.startswith(f"{name}:"))
        return next(found, None)


def read_log(path: Path, forms: Forms, what: str, *, within: Path | None = None) -> LogText:
    """Read a log whose header lines begin with `#`. A truncated last line is ignored.

    Parameters
    ----------
    path
        The log, of at most `MAX_LOG` bytes.
    forms
        The forms of its lines.
    what
        What the log is, for messages.
    within
        A folder filled by others that must contain the log (`foreign_files`).

    Raises
    ------
    AnalysisError
        The file cannot be read, or a line has none of the forms, or a number is too large for its meaning.
    """
    content = _whole_lines(read_foreign(path, MAX_LOG, within=within), forms)
    try:
        parts = [_part(lines, forms) for lines in _in_parts(content)]
    except _MalformedError:
        raise _refusal(path, content, forms, what) from None
    return LogText(tuple(_header(content)), {kind: _joined([part[kind] for part in parts]) for kind in forms})


def milliseconds(text: str, problem: str) -> float:
    """Parse a time in the header of a log.

    Raises
    ------
    AnalysisError
        It is not a time; `problem` is the message.
    """
    try:
        found = float(text)
    except ValueError:
        found = np.nan
    if not abs(found) <= _LARGEST["TIME"]:
        raise AnalysisError(
            problem, hint="write the milliseconds since the epoch at which the log began, as 1795259022262"
        )
    return found


class _MalformedError(Exception):
    """Some line is malformed; a slower pass must find out which."""


def _in_parts(content: bytes) -> Iterator[bytes]:
    """Yield the content in pieces of whole lines, at least one, so that only a piece at a time becomes a table."""
    start = 0
    while not start or start < len(content):
        end = content.find(b"\n", start + _AT_ONCE) + 1 or len(content)
        yield content[start:end]
        start = max(end, 1)


def _part(content: bytes, forms: Forms) -> dict[str, Lines]:
    table = _table(content, forms)
    lines = {kind: _lines_of(table, kind, form) for kind, form in forms.items()}
    if sum(found.time.size for found in lines.values()) != table.height:
        raise _MalformedError
    return lines


def _joined(parts: Sequence[Lines]) -> Lines:
    numbers = zip(*(part.numbers for part in parts), strict=True)
    return Lines(
        np.concatenate([part.time for part in parts]), tuple(np.concatenate(each) for each in numbers)
    )


def _whole_lines(content: bytes, forms: Forms) -> bytes:
    start = content.rfind(b"\n") + 1
    whole = _pattern(forms).fullmatch(content[start:].decode("utf-8", "replace"))
    return content if whole else content[:start]


def _header(content: bytes) -> list[str]:
    found: list[str] = []
    start = 0
    while content.startswith(b"#", start):
        end = content.find(b"\n", start)
        end = len(content) if end < 0 else end
        found.append(content[start + 1 : end].decode("utf-8", "replace").strip())
        start = end + 1
    return found


def _table(content: bytes, forms: Forms) -> pl.DataFrame:

    schema = {"time": pl.Float64, "kind": pl.String, **_places(forms), "rest": pl.String}
    first = b"0 ? 0 0 0 ?\n"  # determines the number of columns
    try:
        table = pl.read_csv(
            first + content,
            separator=" ",
            has_header=False,
            schema=schema,
            quote_char=None,
            comment_prefix="#",
            truncate_ragged_lines=True,
        )
    except pl.exceptions.PolarsError as error:
        raise _MalformedError from error
    return table[1:].filter(pl.col("time").is_not_null() | pl.col("kind").is_not_null())


def _places(forms: Forms) -> dict[str, type[pl.Float64 | pl.String]]:
    """Return the columns after the kind: numbers, or text if a form has a literal mark there."""
    marks = {
        place
        for form in forms.values()
        for place, word in enumerate(form.split()[2:])
        if not _is_number(word)
    }
    return {str(place): pl.String if place in marks else pl.Float64 for place in range(3)}


def _is_number(word: str) -> bool:
    return word.strip("[]").isupper()


def _lines_of(table: pl.DataFrame, kind: str, form: str) -> Lines:

    found = table.filter(pl.col("kind") == kind)
    words = form.split()[2:]
    sound = found["rest"].is_null().to_numpy() & _is_sound("TIME", found["time"])
    numbers: list[Times] = []
    for place in range(3):
        word, column = words[place] if place < len(words) else "", found[str(place)]
        if word and not _is_number(word):
            sound &= (column == word).fill_null(value=False).to_numpy()
            continue
        column = column.cast(pl.Float64)
        sound &= _is_sound(word, column)
        numbers += [column.to_numpy()] if word else []
    if not sound.all():
        raise _MalformedError
    return Lines(found["time"].to_numpy(), tuple(numbers))


def _is_sound(word: str, column: pl.Series) -> npt.NDArray[np.bool_]:
    """Return which values may stand where a form has this word, or nothing."""
    given = column.is_not_null().to_numpy()
    if not word:
        return ~given
    name = word.strip("[]")
    filled = column.fill_null(0.0).to_numpy()
    whole = (
        (filled >= 0) & (filled == np.floor(filled)) | (name == "DELAY") | (name == "TIME") & (filled >= 0)
    )
    return whole & (np.abs(filled) <= _largest(name)) & (given | word.startswith("["))


def _largest(name: str) -> float:
    return _LARGEST.get(name, _MAX_COUNT)


def _pattern(forms: Forms) -> re.Pattern[str]:
    return re.compile("|".join(_expression(form) for form in forms.values()))


def _expression(form: str) -> str:
    parts: list[str] = []
    for word in form.split():
        number = _NUMBERS.get(word.strip("[]"), _COUNT) if _is_number(word) else re.escape(word)
        parts.append(rf"(?: {number})?" if word.startswith("[") else f" {number}")
    return "".join(parts)[1:]


def _refusal(path: Path, content: bytes, forms: Forms, what: str) -> AnalysisError:
    lines = ", ".join(f"`{form}`" for form in forms.values())
    hint = f"lines are {lines}; delete it, or cut the file before it"
    for number, line in enumerate(_each_line(content), start=1):
        text = line.decode("utf-8", "replace").rstrip("\r")
        if text and not text.startswith("#") and (problem := _problem(text, forms, what)):
            return AnalysisError(f"{path}:{number}: {problem}", hint=hint)
    return AnalysisError(f"{path}: this is not {what}", hint=hint)


def _each_line(content: bytes) -> Iterator[bytes]:
    """Yield the lines one by one: a list of all would take many times the memory of the content."""
    start = 0
    while start < len(content):
        end = content.find(b"\n", start)
        end = len(content) if end < 0 else end
        yield content[start:end]
        start = end + 1


def _problem(text: str, forms: Forms, what: str) -> str | None:
    """Describe what is wrong with a line, if anything."""
    for form in forms.values():
        if re.fullmatch(_expression(form), text):
            for word, number in zip(form.split(), text.split(), strict=False):
                if _is_number(word) and abs(float(number)) > _largest(name := word.strip("[]")):
                    return f"{name} is {number[:40]}, and at most {_largest(name):.0f} can be"
            return None
    return f"`{text[:60]}` is not a line of {what}"


def fixed(values: Times) -> pl.Series:
    """Format numbers as text with three decimals."""
    thousandths = np.rint(values * 1000).astype(np.int64)
    frame = pl.DataFrame({"sign": thousandths < 0, "value": np.abs(thousandths)})
    sign = pl.when("sign").then(pl.lit("-")).otherwise(pl.lit(""))
    decimals = (pl.col("value") % 1000).cast(pl.String).str.zfill(3)
    return frame.select(pl.format("{}{}.{}", sign, pl.col("value") // 1000, decimals)).to_series()


def whole(values: npt.NDArray[np.integer]) -> pl.Series:
    """Format integers as text."""
    return pl.Series(values).cast(pl.String)


def rows(*words: str | pl.Series) -> pl.Series:
    """Join words with spaces into one line per index; words given as text are the same in all lines."""
    return pl.select(pl.concat_str([pl.lit(word) for word in words], separator=" ")).to_series()


def write_log(
    path: Path, header: Sequence[str], times: Sequence[npt.NDArray[np.generic]], blocks: Sequence[pl.Series]
) -> None:
    """Write the header, then the lines of all blocks in order of time; at equal times, in the order of the blocks.

    Raises
    ------
    StoreError
        The file cannot be written.
    """
    order = np.argsort(np.concatenate([np.asarray(each, dtype=np.float64) for each in times]), kind="stable")
    lines = pl.concat([block.cast(pl.String) for block in blocks])[order]
    with whole_file(path) as aside, aside.open("wb") as file:
        file.writelines(f"# {line}\n".encode() for line in header)
        lines.to_frame().write_csv(file, include_header=False, quote_style="never")
