"""Dates and times in text, as written by instruments, spreadsheets and mail, in seconds since 1970.

The formats: ISO 8601 and variants with dots, slashes, blanks and underscores; YYYYMMDD with and without a time; day or month first
with the year last, and a two-digit year first; web server logs (01/Mar/2025:13:00:00 +0000); RFC 2822 (RFC 5322, 3.3) and ctime; a
time zone as Z, UTC, GMT, ±hh:mm, or a name of RFC 5322, 4.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, cast

import numpy as np
import numpy.typing as npt

from trialwise.arrays import Array
from trialwise.late import pl

Order = Literal["day-first", "month-first", "year-first"]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ZONES = {
    "z": 0, "utc": 0, "gmt": 0, "ut": 0, "est": -300, "edt": -240, "cst": -360, "cdt": -300, "mst": -420, "mdt": -360, "pst": -480,
    "pdt": -420, "cet": 60, "cest": 120,
}  # fmt: skip
_ZONE = r"(?: *:?(?P<zone>Z|z|UTC|GMT|UT|[ECMP][SD]T|CES?T|(?:UTC|GMT)?[+-]\d{1,2}(?::?\d{2})?)(?: +\([A-Za-z ]+\))?)?"
_CLOCK = (
    r"(?P<hour>\d{1,2})[:.h_](?P<minute>\d{2})(?:[:._m](?P<second>\d{2})s?(?P<part>[.,:]\d{1,9})?)?"
    r"(?: *(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_TIME = rf"(?:(?:[Tt ,_:-]|, | +)(?: *){_CLOCK}{_ZONE})?"
_DAY_NAME = r"(?:[A-Za-z]{2,9}\.?,? +)?"
_COMPACT = r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})"
_COMPACT_TIME = r"(?:[Tt _-]?(?P<hour>\d{2})(?P<minute>\d{2})(?:(?P<second>\d{2})(?P<part>[.,]\d{1,9})?)?"
_FORMS = {
    "year first": rf"^(?P<year>\d{{4}})[-/. _](?P<month>\d{{1,2}})[-/. _](?P<day>\d{{1,2}})\.?{_TIME}$",
    "dashes": r"^(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})[Tt _-](?P<hour>\d{2})-(?P<minute>\d{2})-(?P<second>\d{2})$",
    "compact": rf"^{_COMPACT}{_COMPACT_TIME}{_ZONE})?$",
    "compact with colons": rf"^{_COMPACT}[Tt _-]{_CLOCK}{_ZONE}$",
    "year last": rf"^(?P<first>\d{{1,2}})(?P<mark>[-/. ])(?P<second_>\d{{1,2}})[-/. ](?P<year>\d{{4}}|\d{{2}}){_TIME}$",
    "day and name": rf"^{_DAY_NAME}(?P<day>\d{{1,2}})\.?[ /-](?P<name>[A-Za-z]{{3,9}})\.?[ /-](?P<year>\d{{4}}|\d{{2}}){_TIME}$",
    "name and day": rf"^(?:[A-Za-z]{{3,9}},? +)?(?P<name>[A-Za-z]{{3,9}}) +(?P<day>\d{{1,2}}),? +(?P<year>\d{{4}}){_TIME}$",
    "ctime": rf"^(?:[A-Za-z]{{3,9}},? +)?(?P<name>[A-Za-z]{{3,9}}) +(?P<day>\d{{1,2}}) +{_CLOCK}"
    r"(?: +(?P<zone>UTC|GMT|[ECMP][SD]T|CES?T))? +(?P<year>\d{4})$",
}
_PATTERNS = {name: form.replace("second_", "middle") for name, form in _FORMS.items()}
_COMPILED = {name: re.compile(form) for name, form in _PATTERNS.items()}
_SAMPLE = 1000


@dataclass(frozen=True, slots=True)
class Moments:
    """Seconds since 1970, NaN if a text is not a valid time; `order` says which part comes first.

    `either` is the index of a cell in which two of day, month and year are ambiguous and nothing in the column decides; `orders` are
    the two candidates.
    """

    seconds: Array
    order: Order | None
    either: int | None
    orders: tuple[Order, Order] | None = None
    notes: tuple[str, ...] = ()


def looks_dated(text: str) -> bool:
    """Return True if a text has the form of a date; a two-digit year needs a time of day or slashes."""
    return any(
        found
        for name, form in _COMPILED.items()
        if (found := form.match(text.strip())) and _is_clear(name, found)
    )


def _is_clear(name: str, found: re.Match[str]) -> bool:
    if name == "compact":
        return found["hour"] is not None and not text_is_digits(found[0])
    if name == "year last" and len(found["year"]) == 2:
        return found["hour"] is not None or found["mark"] == "/"
    return True


def text_is_digits(text: str) -> bool:
    """Return True if a text is a number, including decimals."""
    return text.replace(".", "", 1).isdigit()


_TIME_OF_DAY = re.compile(rf"^{_CLOCK}{_ZONE}$")
_NO_YEAR = re.compile(
    rf"^{_DAY_NAME}(?:(?P<name>[A-Za-z]{{3,9}})\.? +\d{{1,2}}|\d{{1,2}}\.?[ /-](?P<other>[A-Za-z]{{3,9}})\.?),?(?: +{_CLOCK}{_ZONE})?$"
)


def lacks(text: str) -> Literal["date", "year"] | None:
    """Return what a text lacks to be a time: its date, or the year of its date; None if it is something else."""
    if _TIME_OF_DAY.match(text):
        return "date"
    found = _NO_YEAR.match(text)
    named = (found["name"] or found["other"]).casefold() if found else ""
    return "year" if named[:3] in _MONTHS else None


def is_dated(text: pl.Series) -> bool:
    """Return True if most cells (of a sample) have the form of dates."""
    sample = text.drop_nulls().head(_SAMPLE).to_list()
    return bool(sample) and sum(map(looks_dated, sample)) * 2 > len(sample)


def moments(text: pl.Series, order: Order | None = None) -> Moments:
    """Read texts in any of the formats, even mixed."""
    left = np.ones(text.len(), dtype=bool)
    seconds = np.full(text.len(), np.nan)
    either: int | None = None
    orders: tuple[Order, Order] | None = None
    for name, form in _PATTERNS.items():
        if not left.any():
            break
        places = np.flatnonzero(left)
        groups = text.gather(places).str.extract_groups(form).struct.unnest()
        fits = groups["year"].is_not_null().to_numpy()
        if not fits.any():
            continue
        groups, places = groups.filter(fits), places[fits]
        if name == "year last":
            order, unclear, orders = _order(groups, order)
            either = None if unclear is None else int(places[unclear])
        seconds[places] = _seconds(groups, order)
        left[places] = False
    for place in np.flatnonzero(left):
        seconds[place] = _iso(str(text[int(place)]))
    return Moments(seconds, order, either, orders)


def _iso(text: str) -> float:
    """Parse the remaining forms of ISO 8601, such as weeks."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return float("nan")
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


_Unclear = tuple[Order, int | None, tuple[Order, Order] | None]


def _order(groups: pl.DataFrame, order: Order | None) -> _Unclear:
    """Decide which of three numbers is the day: as specified, as numbers above 12 and 31 show, or with dots the first.

    The second value is the index of an ambiguous cell, the third its two candidates.
    """
    if order is not None:
        return order, None, None
    first, middle = (
        groups["first"].cast(pl.Int64, strict=False),
        groups["middle"].cast(pl.Int64, strict=False),
    )
    if _has_no_day(first):
        return "year-first", None, None
    if _may_begin_with_year(groups, first, middle):
        return "day-first", 0, ("day-first", "year-first")
    if (first > 12).any() or (middle > 12).any():
        return ("day-first" if (first > 12).any() else "month-first"), None, None
    # With dots, the day comes first.
    differ = (first != middle) & (groups["mark"] != ".")
    place = int(differ.arg_max() or 0) if differ.any() else None
    return "day-first", place, ("day-first", "month-first")


def _may_begin_with_year(groups: pl.DataFrame, first: pl.Series, middle: pl.Series) -> bool:
    """Return True if two-digit years may come first: the last numbers can all be days, with more distinct ones than the first.

    Days change more often than years, except for months or years written as their first day.
    """
    if not (groups["year"].str.len_chars() == 2).all() or (middle > 12).any():
        return False
    last = groups["year"].cast(pl.Int64, strict=False)
    return not _has_no_day(last) and last.n_unique() > first.n_unique()


def _has_no_day(numbers: pl.Series) -> bool:
    return bool(((numbers > 31) | (numbers == 0)).any())


def _seconds(groups: pl.DataFrame, order: Order | None) -> Array:
    columns = groups.columns
    begins = "first" if order == "year-first" and "first" in columns else "year"
    year = _numbers(groups, begins)
    short = groups[begins].str.len_chars().to_numpy() == 2
    year = np.where(short, year + np.where(year < 69, 2000, 1900), year)
    if begins == "first":
        day, month = _numbers(groups, "year"), _numbers(groups, "middle")
    elif "first" in columns:
        day, month = _numbers(groups, "first"), _numbers(groups, "middle")
        if order == "month-first":
            day, month = month, day
    else:
        day = _numbers(groups, "day")
        month = _numbers(groups, "month") if "month" in columns else _named(groups["name"])
    zero = np.zeros(groups.height)
    hour, minute, second = (
        np.nan_to_num(_numbers(groups, name)) if name in columns else zero
        for name in ("hour", "minute", "second")
    )
    if "half" in columns:
        hour = _of_half(groups["half"], hour)
    part = _parts(groups["part"]) if "part" in columns else zero
    zone = _zones(groups["zone"]) if "zone" in columns else zero
    midnight_after = (hour == 24) & (minute == 0) & (second == 0)
    fits = _is_date(year, month, day) & ((hour < 24) | midnight_after) & (minute < 60) & (second <= 60)
    found = _days(year, month, day) * 86_400.0 + hour * 3600 + minute * 60 + second + part - zone * 60
    return np.where(fits, found, np.nan)


def _numbers(groups: pl.DataFrame, name: str) -> Array:
    return groups[name].cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()


def _named(names: pl.Series) -> Array:
    short = names.str.to_lowercase().str.slice(0, 3)
    return (
        short.replace_strict(_MONTHS, list(range(1, 13)), default=None, return_dtype=pl.Float64)
        .fill_null(float("nan"))
        .to_numpy()
    )


def _of_half(half: pl.Series, hour: Array) -> Array:
    marks = half.str.to_lowercase().fill_null("").to_numpy()
    wrong = (marks != "") & ((hour < 1) | (hour > 12))
    turned = np.where(marks == "", hour, hour % 12 + np.where(marks == "p", 12, 0))
    return np.where(wrong, np.inf, turned)


def _parts(part: pl.Series) -> Array:
    return ("0." + part.str.slice(1)).cast(pl.Float64, strict=False).fill_null(0.0).to_numpy()


def _zones(zones: pl.Series) -> Array:
    """Return minutes east of Greenwich."""
    known: Mapping[str, float] = {text: _zone(text) for text in zones.drop_nulls().unique().to_list()}
    return (
        cast(
            "Array",
            zones.replace_strict(known, default=0.0, return_dtype=pl.Float64).fill_null(0.0).to_numpy(),
        )
        if known
        else np.zeros(zones.len())
    )


def _zone(text: str) -> float:
    if text.lower() in _ZONES:
        return _ZONES[text.lower()]
    sign = -1 if "-" in text else 1
    digits = re.sub(r"\D", "", text)
    hours, minutes = (digits, "0") if len(digits) <= 2 else (digits[:-2], digits[-2:])
    total = int(hours) * 60 + int(minutes)
    return sign * total if int(minutes) < 60 and total <= 24 * 60 else float("nan")


def _is_date(year: Array, month: Array, day: Array) -> npt.NDArray[np.bool_]:
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    lengths = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    month_known = (month >= 1) & (month <= 12)
    index = np.where(month_known, month - 1, 0).astype(np.int64)
    length = lengths[index] + ((index == 1) & leap)
    return month_known & (day >= 1) & (day <= length) & (year >= 1)


def _days(year: Array, month: Array, day: Array) -> Array:
    """Return days since 1970 in the Gregorian calendar (years from March put leap days at their end)."""
    shifted = np.where(month <= 2, year - 1, year)
    era = np.floor(shifted / 400)
    of_era = shifted - era * 400
    of_year = np.floor((153 * (month + np.where(month > 2, -3, 9)) + 2) / 5) + day - 1
    return era * 146_097 + of_era * 365 + np.floor(of_era / 4) - np.floor(of_era / 100) + of_year - 719_468
