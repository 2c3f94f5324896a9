"""One reader of times: a column as seconds, since 1970 or since a start, in any format."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast, get_args

import numpy as np
import numpy.typing as npt

from trialwise.arrays import Array
from trialwise.errors import AnalysisError, TrialwiseError
from trialwise.late import pl
from trialwise.numbers import as_given, write
from trialwise.readers.tables.columns import numbers_of
from trialwise.readers.tables.moments import Order, is_dated, lacks, moments
from trialwise.readers.tables.numbers import is_missing, parsed
from trialwise.readers.tables.table import Table

_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_UNIT_NAMES = {
    "s": "seconds",
    "ms": "milliseconds",
    "us": "microseconds",
    "ns": "nanoseconds",
    "min": "minutes",
    "h": "hours",
    "d": "days",
}
_SPELLINGS = {
    "s": ("s", "sec", "secs", "second", "seconds"),
    "ms": ("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"),
    "us": ("us", "µs", "μs", "usec", "usecs", "micros", "microsecond", "microseconds"),
    "ns": ("ns", "nsec", "nsecs", "nanos", "nanosecond", "nanoseconds"),
    "min": ("min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "d": ("d", "day", "days"),
}
_BY_SPELLING = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings}
_BASES = (
    "time", "times", "timestamp", "time stamp", "t", "ts", "epoch", "unix", "unix time", "unixtime", "unix timestamp", "posix time",
    "date", "datetime", "date time", "date/time", "when", "elapsed", "elapsed time", "relative time", "rel time", "sim time",
    "simtime", "wall time", "wallclock", "wall clock", "tstamp", "time since start", "time since epoch", "zeit", "zeitstempel",
    "uhrzeit", "frame.time epoch", "frame.time relative",
)  # fmt: skip
_NAME = re.compile(
    rf"^(?P<base>{'|'.join(sorted(map(re.escape, _BASES), key=len, reverse=True))})"
    rf"(?: *[\[(]utc[\])]|[ .]*(?:in +|/ *)?[\[(<]? *(?P<unit>{'|'.join(sorted(_BY_SPELLING, key=len, reverse=True))}) *[\])>]?)?$"
)
_ERA = (datetime(1980, 1, 1, tzinfo=UTC).timestamp(), datetime(2101, 1, 1, tzinfo=UTC).timestamp())
"""Epochs in units other than seconds are accepted within these bounds."""
_YEARS = (1970, 2100)
_YEARS_OF_DATA = (1900, 2100)
_SPREADSHEET = "spreadsheet"
_NUMERIC = (*_UNITS, _SPREADSHEET)
"""Values of `--time-format` for numeric columns."""
_SERIAL_ERA = (36_526, 73_051)
"""2000 to 2100 in spreadsheet days."""
_SERIAL_EPOCH = 25_569
"""1970-01-01 in spreadsheet days (ISO/IEC 29500-1, 18.17.4.1: the 1900 date base)."""
_LAST_SECOND = 1e11
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})(?:(\d{2})(\d{2})(\d{2}(?:\.\d+)?)?)?(?:\.0*)?")
_PATTERNS = {
    8: "YYYYMMDD",
    10: "YYYYMMDDhh",
    11: "YYYYDDDhhmm",
    12: "YYYYMMDDhhmm",
    13: "YYYYDDDhhmmss",
    14: "YYYYMMDDhhmmss",
}
"""Dates with this many digits; read as seconds or milliseconds since 1970 they lie in 1971, after 2030, or beyond 2600."""
_OF_DAYS_OF_THE_YEAR = (7, 11, 13)
_ALMOST = 0.9


@dataclass(frozen=True, slots=True)
class Times:
    """Times in seconds, null if missing; since 1970 if `dated`. `notes` say what was detected."""

    seconds: pl.Series
    dated: bool
    notes: tuple[str, ...]

    @property
    def missing(self) -> int:
        """Number of rows without a time."""
        return self.seconds.null_count()


def check_time_format(said: str) -> None:
    """Refuse a format that is neither a `strptime` pattern nor a known name.

    Raises
    ------
    TrialwiseError
        It is neither.
    """
    if "%" in said:
        _check_pattern(said)
    elif said not in (*_NUMERIC, *get_args(Order)):
        raise TrialwiseError(
            f"--time-format {said}: is neither a pattern nor known",
            hint="write a pattern as '%d.%m.%Y %H:%M', a unit (s, ms, us, ns), spreadsheet (days since 1900), "
            "day-first, month-first or year-first",
        )


_WHOLE_DATES = "cxDFs"
_CLOCKS = "HIMSfXTRrp"


def _check_pattern(pattern: str) -> None:
    """Refuse a pattern that maps many times to one, because `strptime` fills in missing parts."""
    said = set(re.findall(r"%[-_0^#]?(.)", pattern.replace("%%", "")))
    if "I" in said and "p" not in said:
        raise TrialwiseError(
            f"--time-format {pattern}: %I without %p does not tell the morning from the evening",
            hint="write %H for hours of 24, or add %p (AM, PM)",
        )
    if said & set(_WHOLE_DATES):
        return
    has_year, has_month = bool(said & set("YyG")), bool(said & set("mbBh"))
    has_day = (
        "j" in said
        or (has_month and bool(said & set("de")))
        or bool(said & set("UWV") and said & set("uwaA"))
    )
    may_lack_day = not said & {*_CLOCKS, *"UWV"}
    if has_year and (has_day or may_lack_day):
        return
    what, hint = "no day", "name the day too, as %d or %j, or %u beside a week"
    if not has_year:
        what = "no year" if has_month else "no date"
        hint = f"write the {what[3:]} before each time in the file, as 2025-03-31 23:59:59, and name it in the pattern"
    raise TrialwiseError(
        f"--time-format {pattern}: there is {what} in it, and times of different {'days' if what != 'no year' else 'years'} "
        "would be one",
        hint=hint,
    )


def time_unit(name: str) -> tuple[bool, str | None]:
    """Return whether a header marks a column of times, and its unit (`time(s)`, `Time [s]`, `timestamp_ms`)."""
    spelled = re.sub(r"([a-z])([A-Z])", r"\1 \2", name.strip()).replace("_", " ").replace("-", " ")
    plain = " ".join(spelled.casefold().split())
    if plain in _BY_SPELLING and len(plain) > 2:
        return True, _BY_SPELLING[plain]
    found = _NAME.match(plain)
    return found is not None, _BY_SPELLING[found["unit"]] if found and found["unit"] else None


def holds_dates(table: Table, name: str) -> bool:
    """Return True if a column has dates and times, by its type or by the form of most cells."""
    column = table.frame[name]
    if column.dtype != pl.String:
        return column.dtype.is_temporal()
    text = column.str.strip_chars()
    return is_dated(text.filter(~is_missing(text, table.dialect.missing)))


def time_columns(table: Table, columns: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the columns with dates, and the numeric columns with names of times."""
    dated = [name for name in columns if holds_dates(table, name)]
    called = [name for name in columns if name not in dated and time_unit(name)[0] and table.is_numeric(name)]
    return dated, called


def times_of(table: Table, name: str) -> Times:
    """Read a column of times.

    Raises
    ------
    AnalysisError
        A value is not a time, day and month are ambiguous, or numbers are not times in any unit.
    """
    column = table.frame[name]
    if column.dtype == pl.Duration:
        return Times(column.dt.total_microseconds().cast(pl.Float64) / 1e6, dated=False, notes=())
    if column.dtype.is_temporal():
        return Times(
            column.cast(pl.Datetime("us")).cast(pl.Int64).cast(pl.Float64) / 1e6, dated=True, notes=()
        )
    said = table.dialect.time_format
    if said is not None and "%" in said:
        return _by_pattern(table, name, said)
    if said in _NUMERIC or _are_numbers(table, column):
        return _numeric(table, name)
    return _texts(table, name, cast("Order | None", said))


def without_times_note(name: str, missing: int, rows: int) -> tuple[str, ...]:
    """Return the sentence on rows without a time; none if all have one."""
    if not missing:
        return ()
    verb = "has" if missing == 1 else "have"
    left = "was" if missing == 1 else "were"
    return (f"{missing} of {rows} rows {verb} no time in {name} and {left} left out",)


def _are_numbers(table: Table, column: pl.Series) -> bool:
    if column.dtype != pl.String:
        return True
    found = parsed(column, table.dialect.missing, table.dialect.decimal, table.custom)
    if found.unit or found.units:
        return False
    known, wrong = ~found.missing, int(found.wrong.sum())
    if found.open is not None or not wrong:
        return True
    # Digits alone are dates if they occur among dates.
    text = column.str.strip_chars().filter(known)
    return wrong * 2 <= text.len() and bool(np.isnan(moments(text).seconds).any())


# Text


def _text(table: Table, name: str) -> tuple[pl.Series, npt.NDArray[np.int64]]:
    """Return the non-missing cells, and their indices."""
    text = table.frame[name].cast(pl.String).str.strip_chars()
    known = ~is_missing(text, table.dialect.missing)
    return text.filter(known), np.flatnonzero(known.to_numpy())


def _placed(seconds: Array, places: npt.NDArray[np.int64], rows: int) -> pl.Series:
    whole = np.full(rows, np.nan)
    whole[places] = seconds
    return pl.Series(whole).fill_nan(None)


def _texts(table: Table, name: str, order: Order | None) -> Times:
    text, places = _text(table, name)
    found = moments(text, order)
    if found.either is not None:
        cell = str(text[found.either])
        one, other = found.orders or ("day-first", "month-first")
        raise AnalysisError(
            f"{table.path}: {cell!r} in column {name!r} may begin with the {_thing(one)} or with the {_thing(other)}, "
            "and no other cell tells",
            hint=f"add --time-format {one} or --time-format {other}",
        )
    wrong = np.isnan(found.seconds)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise _no_time(
            f"{table.at(int(places[place]))}: {str(text[place])[:40]!r} in column {name!r}", text[place]
        )
    notes: tuple[str, ...] = ()
    if found.order is not None and order is None:
        notes = (f"the times in {name} were read with the {_thing(found.order)} first, as {text[0]}",)
    return Times(_placed(found.seconds, places, table.frame.height), dated=True, notes=notes)


def _thing(order: Order) -> str:
    return order.removesuffix("-first")


def _no_time(where: str, cell: str) -> AnalysisError:
    missing = lacks(cell)
    if missing is None:
        hint = "say how times are written, as --time-format '%d %b %Y %H:%M:%S', or write ISO 8601"
        return AnalysisError(f"{where} is not a time", hint=hint)
    problem = "is a time of day without its date" if missing == "date" else "has no year"
    return AnalysisError(
        f"{where} {problem}",
        hint=f"write the {missing} before each time in the file, as 2025-03-31 23:59:59",
    )


def _by_pattern(table: Table, name: str, pattern: str) -> Times:
    text, places = _text(table, name)
    seconds: list[float] = []
    for place, cell in zip(places, text, strict=True):
        try:
            moment = datetime.strptime(cell, pattern)
        except ValueError as error:
            raise AnalysisError(
                f"{table.at(int(place))}: {cell[:40]!r} in column {name!r} is not of the form {pattern}",
                hint="change --time-format",
            ) from error
        seconds.append((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    return Times(_placed(np.array(seconds), places, table.frame.height), dated=True, notes=())


# Numbers


def _numeric(table: Table, name: str) -> Times:
    said = table.dialect.time_format if table.dialect.time_format in _NUMERIC else None
    compact = None if said else _compact(table, name)
    if compact is not None:
        return compact
    found = numbers_of(table, name)
    known = found.values.drop_nulls().to_numpy()
    if not known.size:
        raise AnalysisError(f"{table.path}: column {name!r} holds no time", hint="name another with --time")
    named = time_unit(name)[1] or _BY_SPELLING.get(found.unit.casefold())
    if not (said or named):
        _ask_short_dates(table, name)
    if said == _SPREADSHEET or (not (said or named) and _may_be_serial(known)):
        return _serial(table, name, found.values, said=said is not None)
    unit = said or named or _unit_by_era(table, name, known)
    factor = _UNITS[unit]
    least, most = float(known.min()) * factor, float(known.max()) * factor
    if most > _LAST_SECOND or (named and not said and unit != "s" and most > _ERA[1]):
        raise _no_unit(table, name, float(known.max()), named)
    dated = least > 1e8
    notes = found.notes
    if unit != "s" and not said:
        since = " since 1970" if dated else ""
        notes = (*notes, f"the times in {name} were read as {_UNIT_NAMES[unit]}{since}")
    # Division keeps whole seconds exact.
    seconds = found.values / round(1 / factor) if factor < 1 else found.values * factor
    return Times(seconds, dated=dated, notes=notes)


def _may_be_serial(known: Array) -> bool:
    """Return True if numbers may be spreadsheet days of this century: whole seconds of the day, up to six decimals."""
    within = _SERIAL_ERA[0] <= float(known.min()) and float(known.max()) <= _SERIAL_ERA[1]
    return within and _is_serial_clock(known * 86_400)


def _is_serial_clock(seconds: Array) -> bool:
    return float(np.abs(seconds - seconds.round()).max()) < 0.1


def _serial(table: Table, name: str, days: pl.Series, *, said: bool) -> Times:
    """Read spreadsheet days if specified or if the column is named a date; otherwise ask, because they may be seconds."""
    seconds = (days - _SERIAL_EPOCH) * 86_400
    if _is_serial_clock(seconds.drop_nulls().to_numpy()):
        seconds = seconds.round()
    if float(cast("float", seconds.abs().max())) > _LAST_SECOND:
        raise _no_unit(table, name, float(cast("float", days.abs().max())), "d")
    if said:
        return Times(seconds, dated=True, notes=())
    if name.strip().casefold().startswith("date"):
        return Times(seconds, dated=True, notes=(f"the times in {name} were read as days of a spreadsheet",))
    first = datetime.fromtimestamp(float(cast("float", seconds.min())), tz=UTC)
    raise AnalysisError(
        f"{table.path}: {table.frame[name].drop_nulls()[0]} in column {name!r} may be seconds, or days of a spreadsheet "
        f"({first:%Y-%m-%d}), and nothing tells",
        hint="add --time-format s or --time-format spreadsheet",
    )


def _unit_by_era(table: Table, name: str, known: Array) -> str:
    """Return the unit that puts all numbers in plausible measurement times; else seconds, if possible."""
    least, most = float(known.min()), float(known.max())
    for unit in ("s", "ms", "us", "ns"):
        if _ERA[0] <= least * _UNITS[unit] and most * _UNITS[unit] <= _ERA[1]:
            return unit
    if most <= _ERA[1]:
        return "s"
    middle = float(np.median(known))
    for unit in ("ms", "us", "ns"):
        if _ERA[0] <= middle * _UNITS[unit] <= _ERA[1]:
            _refuse_strangers(table, name, _UNITS[unit])
    raise _no_unit(table, name, most, None)


def _refuse_strangers(table: Table, name: str, factor: float) -> None:
    values = numbers_of(table, name).values.fill_null(_ERA[0] / factor).to_numpy() * factor
    place = int(np.argmax((values < _ERA[0]) | (values > _ERA[1])))
    raise AnalysisError(
        f"{table.at(place)}: {table.frame[name][place]} in column {name!r} lies far from the other times",
        hint="leave the row out, or leave its time empty",
    )


def _no_unit(table: Table, name: str, most: float, named: str | None) -> AnalysisError:
    years = {
        unit: 1970 + most * factor / 31_556_952
        for unit, factor in _UNITS.items()
        if unit in ("s", "ms", "us", "ns")
    }
    fitting = [unit for unit in years if _YEARS[0] + 10 <= years[unit] <= _YEARS[1] + 1]
    if named:
        problem = f"in {_UNIT_NAMES[named]}"
    else:
        problem = f"in seconds since 1970 it lies in the year {write(years['s'])}, in milliseconds in {write(years['ms'])}"
    return AnalysisError(
        f"{table.path}: {as_given(most, digits=15)} in column {name!r} is not a plausible time: {problem}",
        hint=f"say the unit, as --time-format {fitting[0] if fitting else 'ns'}, or a pattern as --time-format %Y%m%d%H%M%S",
    )


def _compact(table: Table, name: str) -> Times | None:
    """Read dates of 8 and 10 to 14 digits without separators; None if these are other numbers.

    Read as seconds, milliseconds or microseconds since 1970, the same digits lie in 1970 to 1976, after 2030, or beyond 2600, so
    valid dates are accepted.
    """
    column = table.frame[name]
    if column.dtype.is_float() and _are_whole(column):
        column = column.cast(pl.Int64, strict=False)
    text = column.cast(pl.String).str.strip_chars()
    known = ~is_missing(text, table.dialect.missing)
    cells = text.filter(known).str.replace(r"\.0*$", "")
    whole = cells.str.extract(r"^(\d+)(?:\.\d+)?$", 1).str.len_chars()
    if not cells.len() or not whole.is_in(list(_PATTERNS)).fill_null(value=False).all():
        return None
    seconds = moments(_with_month_and_minute(cells)).seconds
    years = cells.str.slice(0, 4).cast(pl.Int64).to_numpy()
    wrong = np.isnan(seconds) | (years < _YEARS[0]) | (years > _YEARS[1])
    places = np.flatnonzero(known.to_numpy())
    if not wrong.any():
        lengths = sorted({int(length) for length in whole.unique().to_list()})
        shown = " and ".join(_PATTERNS[length] for length in lengths)
        note = f"the times in {name} were read as dates, {shown}"
        return Times(_placed(seconds, places, table.frame.height), dated=True, notes=(note,))
    if wrong.mean() > 1 - _ALMOST or wrong.size < 10:
        return None
    place = int(np.argmax(wrong))
    raise AnalysisError(
        f"{table.at(int(places[place]))}: {cells[place]!r} in column {name!r} is not a date, but the other numbers are",
        hint="leave its time empty, or say that these are numbers, as --time-format s",
    )


def _with_month_and_minute(cells: pl.Series) -> pl.Series:
    """Convert digit dates with the day of the year to month and day, and add minutes to those that end with the hour."""
    length = cells.str.len_chars()
    ordinal = length.is_in(list(_OF_DAYS_OF_THE_YEAR))
    frame = pl.DataFrame({"cell": cells, "length": length, "ordinal": ordinal}).with_columns(
        year=pl.col("cell").str.slice(0, 4).cast(pl.Int32, strict=False),
        day=pl.col("cell").str.slice(4, 3).cast(pl.Int64, strict=False),
    )
    first = pl.date(pl.col("year").clip(1, 9999), 1, 1)
    date = first + pl.duration(days=pl.col("day") - 1)
    valid = pl.col("day").is_between(1, 366) & (date.dt.year() == pl.col("year"))
    text = (
        pl.when(valid)
        .then(date.dt.strftime("%Y%m%d") + pl.col("cell").str.slice(7))
        .otherwise(pl.lit("none"))
    )
    return frame.select(
        pl.when(pl.col("ordinal"))
        .then(text)
        .when(pl.col("length") == 10)
        .then(pl.col("cell") + "0000")
        .otherwise(pl.col("cell"))
    ).to_series()


_SHORT_DATES = {4: "%Y", 6: "%y%m%d", 7: "%Y%j", 8: "%y%m%d%H", 10: "%y%m%d%H%M", 12: "%y%m%d%H%M%S"}
_MIN_SHORT_DATES = 3


def _ask_short_dates(table: Table, name: str) -> None:
    """Ask if every number is also a valid date, such as 2503312359, 2025060, or a year: nothing distinguishes it from seconds."""
    column = table.frame[name]
    if column.dtype.is_float() and _are_whole(column):
        column = column.cast(pl.Int64, strict=False)
    text = column.cast(pl.String).str.strip_chars()
    cells = text.filter(~is_missing(text, table.dialect.missing))
    pattern = _SHORT_DATES.get(len(cells[0])) if cells.len() else None
    if pattern is None or cells.n_unique() < _MIN_SHORT_DATES:
        return
    if not (cells.str.contains(r"^\d+$") & (cells.str.len_chars() == len(cells[0]))).all():
        return
    if not _may_be_dates(cells):
        return
    unit = "s" if float(cells[0]) <= _LAST_SECOND else "ms"
    instead = ", or write dates whole" if pattern == "%Y" else f" or --time-format {pattern}"
    raise AnalysisError(
        f"{table.path}: {cells[0]} in column {name!r} may be a number of {_UNIT_NAMES[unit]}, or a date of the form {pattern}, "
        "and nothing tells",
        hint=f"add --time-format {unit}{instead}",
    )


def _may_be_dates(cells: pl.Series) -> bool:
    """Return True if numbers of equal length can all be dates; years must be consecutive."""
    length = len(cells[0])
    if length == 4:
        years = cells.cast(pl.Int64).unique().sort()
        return bool(years.is_between(*_YEARS_OF_DATA).all() and (years.diff().drop_nulls() == 1).all())
    if length in _OF_DAYS_OF_THE_YEAR:
        years = cells.str.slice(0, 4).cast(pl.Int64)
        return not np.isnan(moments(_with_month_and_minute(cells)).seconds).any() and bool(
            years.is_between(*_YEARS).all()
        )
    return not np.isnan(moments("20" + cells + ("00" if length == 8 else "")).seconds).any()


def _are_whole(column: pl.Series) -> bool:
    known = column.drop_nulls()
    known = known.filter(known.is_finite())
    return (
        bool(known.len())
        and bool((known == known.round()).all())
        and float(cast("float", known.abs().max())) < 1e17
    )
