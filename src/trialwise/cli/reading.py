"""Options for the dialect of a table, shared by every command that reads tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from trialwise.errors import AnalysisError, TrialwiseError

if TYPE_CHECKING:
    from trialwise.readers.tables.dialect import Dialect

_DELIMITERS = {
    "comma": ",",
    "semicolon": ";",
    "tab": "\t",
    "\\t": "\t",
    "bar": "|",
    "pipe": "|",
    "blanks": " ",
    "blank": " ",
    "space": " ",
}


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How a table is written; what is not said is found out."""

    delimiter: Annotated[
        str | None, Parameter(help="What divides columns: a character, tab, or blanks; default found out.")
    ] = None
    decimal: Annotated[
        Literal[".", ","] | None, Parameter(help="Decimal mark of numbers; default found out.")
    ] = None
    missing: Annotated[
        tuple[str, ...],
        Parameter(
            help="Word for a missing value, beside empty, NA, NaN, null, none and -; repeatable.", negative=""
        ),
    ] = ()
    header: Annotated[
        bool | None,
        Parameter(
            help="Whether the first line names the columns; default found out.", negative="--no-header"
        ),
    ] = None
    comment: Annotated[
        str | None, Parameter(help="What begins lines to pass over; default # where the file begins with it.")
    ] = None
    encoding: Annotated[
        str | None, Parameter(help="Encoding of the text, as cp1252; default UTF-8, or UTF-16 by its mark.")
    ] = None
    time_format: Annotated[
        str | None,
        Parameter(
            help="How times are written: a pattern as '%d.%m.%Y %H:%M', day-first, month-first, year-first, or the unit of "
            "numbers: s, ms, us, ns, spreadsheet (days since 1900); default found out."
        ),
    ] = None

    def given(self) -> bool:
        """True if any of them was given."""
        return self != ReadingOptions()

    def dialect(self) -> Dialect:
        """The specified dialect.

        Raises
        ------
        TrialwiseError
            A delimiter or a time format is invalid.
        """
        from trialwise.readers.tables.dialect import Dialect
        from trialwise.readers.tables.times import check_time_format

        if self.time_format is not None:
            check_time_format(self.time_format)
        return Dialect(
            delimiter=_delimiter(self.delimiter),
            decimal=self.decimal,
            missing=self.missing,
            header=self.header,
            comment=self.comment or None,
            encoding=self.encoding,
            time_format=self.time_format,
        )


def refuse_table_options(data: Path, *, given: bool) -> None:
    """Refuse table options for a directory, and a directory that is not of an experiment.

    Raises
    ------
    AnalysisError
        There are such options, or the directory is not of an experiment.
    """
    from trialwise.readers.tables.folders import folder_error
    from trialwise.store.directory import ExperimentDirectory, latest

    if not ExperimentDirectory(latest(data)).is_begun:
        raise folder_error(data)
    refuse_told(data, given=given)


def refuse_told(data: Path | str, *, given: bool) -> None:
    """Refuse options that say what the columns of a table are, or how it is written, for other data.

    Raises
    ------
    AnalysisError
        There are such options.
    """
    if given:
        raise AnalysisError(
            f"{data}: is no table but results whose columns are known; --value and the like are for tables",
            hint="leave those options out",
        )


def check_is_table(data: Path) -> None:
    """Refuse a file that is not a table before asking for its columns.

    Raises
    ------
    AnalysisError
        The file is known not to be a table.
    """
    from trialwise.readers.tables.content import content_of
    from trialwise.readers.tables.foreign import foreign

    if data.is_file() and (known := foreign(content_of(data))) is not None:
        raise known.error(data)


def _delimiter(text: str | None) -> str | None:
    if text is None:
        return None
    mark = _DELIMITERS.get(text.lower(), text)
    if len(mark) != 1 or mark in '"\n\r\0' or not mark.isascii():
        raise TrialwiseError(
            f"--delimiter {text}: is not a single delimiter character", hint="write --delimiter ';' or tab"
        )
    return mark
