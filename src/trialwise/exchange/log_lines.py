"""Lines of packet logs as text, `TIME KIND NUMBER …`: read and written by columns, refused by name of file and line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trialwise.errors import AnalysisError, StoreError

if TYPE_CHECKING:
    import polars as pl

Times = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Forms = Mapping[str, str]
"""What lines look like, by their kind: words in capitals are numbers, those in brackets may be missing."""
_NUMBERS = {"TIME": r"\d+(?:\.\d*)?", "DELAY": r"-?\d+(?:\.\d*)?"}
_COUNT = r"\d+"


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of one kind: their times, and the numbers that follow (NaN where they are missing)."""

    time: Times
    numbers: tuple[Times, ...]

    def counts(self, place: int) -> Counts:
        """The numbers at one place, which are whole; 0 where missing."""
        return np.nan_to_num(self.numbers[place]).astype(np.int64)


@dataclass(frozen=True, slots=True)
class LogText:
    """A log: the lines before the first event, without what marks them, and the events by kind."""

    header: tuple[str, ...]
    lines: Mapping[str, Lines]

    def entry(self, name: str) -> str | None:
        """What follows `name: ` in the header."""
        found = (line.removeprefix(f"{name}:").strip() for line in self.header if line.startswith(f"{name}:"))
        return next(found, None)


def read_log(path: Path, forms: Forms, what: str) -> LogText:
    """Read a log whose header lines begin with `#`. A last line that is cut off is left out.

    Raises
    ------
    AnalysisError
        The file cannot be read, or a line has none of the forms.
    """
    content = _whole_lines(_content(path), forms)
    try:
        table = _table(content, forms)
        lines = {kind: _lines_of(table, kind, form) for kind, form in forms.items()}
    except _MalformedError:
        raise _refusal(path, content, forms, what) from None
    if sum(found.time.size for found in lines.values()) != table.height:
        raise _refusal(path, content, forms, what)
    return LogText(tuple(_header(content)), lines)


class _MalformedError(Exception):
    """Some line is none; which, a slower look must say."""


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be read: {error.strerror}") from error


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
    import polars as pl

    schema = {"time": pl.Float64, "kind": pl.String, **_places(forms), "rest": pl.String}
    first = b"0 ? 0 0 0 ?\n"  # says how many columns there are
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
    """The columns after the kind: numbers, but text where a form has a mark of its own."""
    import polars as pl

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
    import polars as pl

    found = table.filter(pl.col("kind") == kind)
    words = form.split()[2:]
    sound = (
        found["rest"].is_null().to_numpy()
        & found["time"].is_between(0, 1e15).fill_null(value=False).to_numpy()
    )
    numbers: list[Times] = []
    for place in range(3):
        word, column = words[place] if place < len(words) else "", found[str(place)]
        if word and not _is_number(word):
            sound &= (column == word).fill_null(value=False).to_numpy()
            continue
        values = column.cast(pl.Float64).to_numpy()
        sound &= _is_sound(word, values)
        numbers += [values] if word else []
    if not sound.all():
        raise _MalformedError
    return Lines(found["time"].to_numpy(), tuple(numbers))


def _is_sound(word: str, values: Times) -> npt.NDArray[np.bool_]:
    """Which of the values can stand where a form has this word, or nothing."""
    given = np.isfinite(values)
    if not word:
        return ~given
    filled = np.where(given, values, 0.0)
    right = (filled >= 0) & (filled == np.floor(filled)) | (word.strip("[]") in _NUMBERS)
    return right & (given | word.startswith("["))


def _pattern(forms: Forms) -> re.Pattern[str]:
    return re.compile("|".join(_expression(form) for form in forms.values()))


def _expression(form: str) -> str:
    parts: list[str] = []
    for word in form.split():
        number = _NUMBERS.get(word.strip("[]"), _COUNT) if _is_number(word) else re.escape(word)
        parts.append(rf"(?: {number})?" if word.startswith("[") else f" {number}")
    return "".join(parts)[1:]


def _refusal(path: Path, content: bytes, forms: Forms, what: str) -> AnalysisError:
    pattern = _pattern(forms)
    hint = (
        f"lines are {', '.join(f'`{form}`' for form in forms.values())}; delete it, or cut the file before it"
    )
    for number, line in enumerate(content.split(b"\n"), start=1):
        text = line.decode("utf-8", "replace").rstrip("\r")
        if text and not text.startswith("#") and not pattern.fullmatch(text):
            return AnalysisError(f"{path}:{number}: `{text[:60]}` is no line of {what}", hint=hint)
    return AnalysisError(f"{path}: this is not {what}", hint=hint)


def fixed(values: Times) -> pl.Series:
    """Numbers as text with three decimals."""
    import polars as pl

    thousandths = np.rint(values * 1000).astype(np.int64)
    frame = pl.DataFrame({"sign": thousandths < 0, "value": np.abs(thousandths)})
    sign = pl.when("sign").then(pl.lit("-")).otherwise(pl.lit(""))
    decimals = (pl.col("value") % 1000).cast(pl.String).str.zfill(3)
    return frame.select(pl.format("{}{}.{}", sign, pl.col("value") // 1000, decimals)).to_series()


def whole(values: npt.NDArray[np.integer]) -> pl.Series:
    """Whole numbers as text."""
    import polars as pl

    return pl.Series(values).cast(pl.String)


def rows(*words: str | pl.Series) -> pl.Series:
    """One line for each index: the words, those that are the same in all lines as text, with spaces between."""
    import polars as pl

    return pl.select(pl.concat_str([pl.lit(word) for word in words], separator=" ")).to_series()


def write_log(
    path: Path, header: Sequence[str], times: Sequence[npt.NDArray[np.generic]], blocks: Sequence[pl.Series]
) -> None:
    """Write the header and then the lines of all blocks in the order of their times; where these are equal, in that of the blocks.

    Raises
    ------
    StoreError
        The file cannot be written.
    """
    import polars as pl

    order = np.argsort(np.concatenate([np.asarray(each, dtype=np.float64) for each in times]), kind="stable")
    lines = pl.concat([block.cast(pl.String) for block in blocks])[order]
    try:
        with path.open("wb") as file:
            file.writelines(f"# {line}\n".encode() for line in header)
            lines.to_frame().write_csv(file, include_header=False, quote_style="never")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from error
