"""Times in every spelling: the reference is Python's own `datetime` of the same moment."""

from __future__ import annotations

import email.utils
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialwise.errors import AnalysisError, TrialwiseError
from trialwise.readers.tables.dialect import Dialect
from trialwise.readers.tables.moments import moments
from trialwise.readers.tables.table import read_table
from trialwise.readers.tables.times import check_time_format, holds_dates, time_unit, times_of

CASES = Path(__file__).parents[5] / "shared" / "cases" / "tables"
MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2100, 12, 31, 23, 59, 59)).map(
    lambda moment: moment.replace(microsecond=0, tzinfo=UTC)
)


def read(tmp_path, cells, header="when", **dialect):
    path = tmp_path / "t.csv"
    path.write_text(f"{header};v\n" + "".join(f"{cell};1\n" for cell in cells))
    return times_of(read_table(path, Dialect(**dialect)), header)


def hourly(days=3, start=datetime(2024, 3, 28, 22, tzinfo=UTC)):
    return [start + timedelta(hours=hour) for hour in range(24 * days)]


FORMS = {
    "YYYYMMDDhhmmss": lambda moment: f"{moment:%Y%m%d%H%M%S}",
    "YYYYMMDDThhmmssZ": lambda moment: f"{moment:%Y%m%dT%H%M%SZ}",
    "ISO": lambda moment: moment.isoformat(),
    "ISO with UTC": lambda moment: f"{moment:%Y-%m-%d %H:%M:%S} UTC",
    "ISO of five and a half hours": lambda moment: moment.astimezone(
        timezone(timedelta(hours=5.5))
    ).isoformat(),
    "ISO of a summer": lambda moment: (
        f"{moment.astimezone(timezone(timedelta(hours=2))):%Y-%m-%dT%H:%M:%S:%z}"
    ),
    "ctime": lambda moment: time.asctime(moment.timetuple()),
    "RFC 2822": email.utils.format_datetime,
    "HTTP": lambda moment: email.utils.format_datetime(moment, usegmt=True),
    "dots and underscores": lambda moment: f"{moment:%Y.%m.%d_%H.%M.%S}",
    "dashes": lambda moment: f"{moment:%Y-%m-%d_%H-%M-%S}",
    "dashes and colons": lambda moment: f"{moment:%Y-%m-%d-%H:%M:%S}",
    "slashes": lambda moment: f"{moment:%Y/%m/%d %H:%M:%S}",
    "German": lambda moment: f"{moment:%d.%m.%Y %H:%M:%S}",
    "name of the month": lambda moment: f"{moment:%d-%b-%Y %H:%M:%S}",
    "log of a web server": lambda moment: f"{moment:%d/%b/%Y:%H:%M:%S} +0000",
    "American with the name": lambda moment: f"{moment:%b %d, %Y %I:%M:%S %p}",
    "American": lambda moment: f"{moment:%m/%d/%Y %I:%M:%S %p}",
    "British": lambda moment: f"{moment:%d/%m/%Y %H:%M:%S}",
    "seconds": lambda moment: f"{moment.timestamp():.0f}",
    "seconds with a point": lambda moment: f"{moment.timestamp():.3f}",
    "milliseconds": lambda moment: f"{moment.timestamp() * 1e3:.0f}",
    "microseconds": lambda moment: f"{moment.timestamp() * 1e6:.0f}",
    "nanoseconds": lambda moment: f"{int(moment.timestamp()) * 10**9}",
    "fourteen digits and a point": lambda moment: f"{moment:%Y%m%d%H%M%S}.0",
}


@pytest.mark.parametrize("form", FORMS)
def test_every_spelling_gives_the_moment(tmp_path, form):
    days = hourly()
    found = read(tmp_path, [FORMS[form](day) for day in days])
    assert found.dated
    np.testing.assert_allclose(found.seconds.to_numpy(), [day.timestamp() for day in days], atol=1e-3, rtol=0)


@pytest.mark.parametrize(
    "form", [name for name in FORMS if name not in ("American", "British") and "onds" not in name]
)
@given(moment=MOMENTS)
def test_text_of_any_year_is_read_to_the_second(form, moment):
    assert moments(pl.Series([FORMS[form](moment)])).seconds[0] == moment.timestamp()


@pytest.mark.parametrize("form", ["%Y%m%d%H", "%Y%j%H%M", "%Y%j%H%M%S"])
@pytest.mark.parametrize("year", [1970, 1999, 2000, 2024, 2025, 2099])
@pytest.mark.parametrize("apart", [timedelta(hours=1), timedelta(days=1), timedelta(days=31)])
def test_dates_with_the_hour_or_the_day_of_the_year_are_no_epochs(tmp_path, form, year, apart):
    moments = [datetime(year, 1, 1, 22, tzinfo=UTC) + place * apart for place in range(13)]
    found = read(tmp_path, [f"{moment:{form}}" for moment in moments])
    assert found.seconds.to_list() == [moment.timestamp() for moment in moments]
    assert "read as dates, YYYY" in found.notes[0]


@pytest.mark.parametrize("start", ["1740787200", "1740787200000", "86399", "20250"])
def test_epochs_and_other_numbers_are_no_dates_of_digits(tmp_path, start):
    cells = [str(int(start) + 3600 * place) for place in range(30)]
    factor = 1e-3 if len(start) == 13 else 1.0
    assert read(tmp_path, cells).seconds.to_list() == [int(cell) * factor for cell in cells]


@pytest.mark.parametrize(
    ("cells", "hint"),
    [
        ([f"2024{day:03}" for day in range(300, 367)], "--time-format s or --time-format %Y%j"),
        ([str(year) for year in range(1990, 2026)], "--time-format s, or write dates whole"),
    ],
)
def test_days_of_the_year_and_years_are_asked(tmp_path, cells, hint):
    with pytest.raises(AnalysisError, match="nothing tells") as refused:
        read(tmp_path, cells)
    assert hint in str(refused.value.hint)
    assert read(tmp_path, cells, time_format="s").seconds.to_list() == [float(cell) for cell in cells]
    if "%Y%j" in hint:
        found = read(tmp_path, cells, time_format="%Y%j").seconds.to_list()
        assert found == [datetime.strptime(cell, "%Y%j").replace(tzinfo=UTC).timestamp() for cell in cells]


@pytest.mark.parametrize(
    "cells", [["2025366", "2025001", "2025002"], ["2000", "2002", "2003"], ["2025000", "2025001", "2025003"]]
)
def test_numbers_that_are_no_days_of_a_year_and_no_run_of_years_are_seconds(tmp_path, cells):
    assert read(tmp_path, cells).seconds.to_list() == [float(cell) for cell in cells]


@pytest.mark.parametrize("digits", [8, 12, 14])
@pytest.mark.parametrize("year", [1970, 1999, 2000, 2024, 2099, 2100])
@pytest.mark.parametrize("apart", [timedelta(days=1), timedelta(days=31)])
def test_dates_of_digits_are_no_numbers(tmp_path, digits, year, apart):
    days = [datetime(year, 1, 1, 5, 30, tzinfo=UTC) + place * apart for place in range(11)]
    texts = [f"{day:%Y%m%d%H%M%S}"[:digits] for day in days]
    formats = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
    wanted = [datetime.strptime(text, formats[digits]).replace(tzinfo=UTC).timestamp() for text in texts]
    found = read(tmp_path, texts)
    assert found.seconds.to_list() == wanted
    assert "read as dates, YYYYMMDD" in found.notes[0]


def test_dates_of_digits_in_parquet_and_mixed(tmp_path):
    for column in ([20250131230000, 20250201000000], [20250131230000.0, 20250201000000.0]):
        path = tmp_path / "t.parquet"
        pl.DataFrame({"t": column}).write_parquet(path)
        assert np.diff(times_of(read_table(path), "t").seconds.to_numpy()) == 3600
    mixed = read(tmp_path, ["20250131", "202501310100", "20250131020000", "2025-01-31 03:00"])
    assert np.diff(mixed.seconds.to_numpy()).tolist() == [3600.0] * 3


def test_one_wrong_date_among_digits_is_named(tmp_path):
    cells = [f"{day:%Y%m%d%H%M%S}" for day in hourly()]
    cells[40] = "20240231000000"
    with pytest.raises(AnalysisError, match="line 42: '20240231000000' in column 'when' is not a date"):
        read(tmp_path, cells)


def test_numbers_that_are_no_time_in_any_unit_are_refused(tmp_path):
    with pytest.raises(AnalysisError, match="lies in the year") as raised:
        read(tmp_path, ["20259931230000", "20259931230001"])
    assert "--time-format" in str(raised.value)
    assert read(tmp_path, ["20259931230000", "20259931230001"], time_format="ns").seconds.to_list()[
        0
    ] == pytest.approx(20259.93123)


def serials(moments):
    """Days since 1899-12-30, as spreadsheets count them; 45658 is 2025-01-01."""
    base = datetime(1899, 12, 30, tzinfo=UTC)
    return [f"{(moment - base) / timedelta(days=1):.6f}" for moment in moments]


@pytest.mark.parametrize(("header", "said"), [("when", "spreadsheet"), ("Date Time", None)])
def test_days_of_a_spreadsheet(tmp_path, header, said):
    found = read(tmp_path, serials(hourly()), header, time_format=said)
    assert found.dated
    assert found.seconds.to_list() == [moment.timestamp() for moment in hourly()]
    assert found.notes == (() if said else (f"the times in {header} were read as days of a spreadsheet",))


@pytest.mark.parametrize(
    "cells",
    [
        serials(hourly()),
        [str(day) for day in range(45658, 45700)],
        [f"{second}.5" for second in range(45658, 45700)],
    ],
)
def test_what_may_be_seconds_or_days_is_asked(tmp_path, cells):
    with pytest.raises(AnalysisError, match="may be seconds, or days of a spreadsheet") as refused:
        read(tmp_path, cells)
    assert refused.value.hint == "add --time-format s or --time-format spreadsheet"
    assert read(tmp_path, cells, time_format="s").seconds.to_list() == [float(cell) for cell in cells]
    assert read(tmp_path, cells, "time_s").seconds[0] == float(cells[0])


def test_days_of_a_spreadsheet_beyond_all_years_are_refused(tmp_path):
    with pytest.raises(AnalysisError, match="4e\\+60 in column 'when' is not a plausible time"):
        read(tmp_path, ["1e60", "4e60"], time_format="spreadsheet")


@pytest.mark.parametrize("start", [0, 36_000, 45_658.0123])
def test_seconds_that_cannot_be_days_of_a_spreadsheet_stay_seconds(tmp_path, start):
    cells = [f"{start + 0.0417 * step:.4f}" for step in range(1000)]
    assert read(tmp_path, cells).seconds.to_list() == [float(cell) for cell in cells]


SHORT = {
    "%y%m%d": timedelta(days=1),
    "%y%m%d%H": timedelta(hours=1),
    "%y%m%d%H%M": timedelta(hours=1),
    "%y%m%d%H%M%S": timedelta(minutes=1),
}


@pytest.mark.parametrize("form", SHORT)
@pytest.mark.parametrize("header", ["when", "time", "date"])
def test_digits_that_may_be_dates_of_two_digit_years_are_asked(tmp_path, form, header):
    moments = [datetime(2025, 2, 20, tzinfo=UTC) + step * SHORT[form] for step in range(40)]
    cells = [f"{moment:{form}}" for moment in moments]
    with pytest.raises(AnalysisError) as refused:
        read(tmp_path, cells, header)
    assert f"--time-format {form}" in str(refused.value.hint)
    found = read(tmp_path, cells, header, time_format=form)
    assert found.seconds.to_list() == [moment.timestamp() for moment in moments]
    if len(cells[0]) < 12:
        assert "--time-format s " in str(refused.value.hint)
        assert read(tmp_path, cells, header, time_format="s").seconds.to_list() == [
            float(cell) for cell in cells
        ]


@given(st.integers(73_052, 4_000_000_000), st.floats(0.5, 100_000), st.integers(8, 30))
def test_seconds_are_seldom_taken_for_dates(tmp_path_factory, first, apart, count):
    cells = [str(int(first + apart * step)) for step in range(count)]

    def is_date(cell):
        try:
            datetime.strptime(cell, {6: "%y%m%d", 8: "%y%m%d%H", 10: "%y%m%d%H%M"}[len(cell)])
        except (KeyError, ValueError):
            return False
        return True

    if len(set(map(len, cells))) == 1 and len(cells[0]) != 8 and not all(map(is_date, cells)):
        found = read(tmp_path_factory.mktemp("t"), cells)
        assert found.seconds.to_list() == [float(cell) for cell in cells]


@pytest.mark.parametrize(
    ("form", "lacks"),
    [
        ("%H:%M:%S", "no date"),
        ("%b %d %H:%M:%S", "no year"),
        ("%d/%m %H:%M", "no year"),
        ("%Y %H:%M", "no day"),
        ("%Y-%m %H:%M", "no day"),
        ("%Y-%j %I:%M", "%p"),
        ("%Y-W%W %H:%M", "no day"),
        ("%Y-%m-%d %I:%M:%S", "%p"),
        ("%X", "no date"),
    ],
)
def test_formats_that_make_many_moments_one_are_refused(form, lacks):
    with pytest.raises(TrialwiseError, match=lacks):
        check_time_format(form)


@pytest.mark.parametrize(
    "form",
    ["%Y", "%Y-%m", "%B %y", "%Y-%jT%H:%M", "%G-W%V-%u", "%Y %W %a", "%c", "%x %X", "%d.%m.%y %I%p", "%%%Y"],
)
def test_formats_that_tell_moments_apart_are_taken(form):
    check_time_format(form)


@pytest.mark.parametrize(
    "cells", [["00:00:01", "12:59:00", "23:10:11"], ["1:02:03.5", "7:08:09"], ["9:15 PM", "9:30 PM"]]
)
def test_times_of_day_are_named_as_what_they_are(tmp_path, cells):
    with pytest.raises(AnalysisError, match="is a time of day without its date") as refused:
        read(tmp_path, cells)
    assert "%H" not in str(refused.value.hint)


@pytest.mark.parametrize("cell", ["Mar  1 00:00:00", "Dec 31 23:59:59", "1 Mar 10:00"])
def test_dates_without_a_year_are_named_as_what_they_are(tmp_path, cell):
    with pytest.raises(AnalysisError, match="has no year"):
        read(tmp_path, [cell, cell])


@pytest.mark.parametrize("mark", "-/.")
def test_years_of_two_digits_in_front_are_asked_where_days_fit_too(tmp_path, mark):
    moments = hourly(days=5, start=datetime(2025, 3, 1, tzinfo=UTC))
    cells = [f"{moment:%y{mark}%m{mark}%d %H:%M}" for moment in moments]
    with pytest.raises(AnalysisError, match="may begin with the day or with the year"):
        read(tmp_path, cells)
    found = read(tmp_path, cells, time_format="year-first")
    assert found.seconds.to_list() == [moment.timestamp() for moment in moments]


def test_years_that_are_no_days_are_years(tmp_path):
    moments = hourly(days=5, start=datetime(1998, 3, 1, tzinfo=UTC))
    found = read(tmp_path, [f"{moment:%y-%m-%d %H:%M}" for moment in moments])
    assert found.seconds.to_list() == [moment.timestamp() for moment in moments]
    assert found.notes == ("the times in when were read with the year first, as 98-03-01 00:00",)


@pytest.mark.parametrize("form", ["%d/%m/%y %H:%M", "%m/%d/%y %H:%M", "%d.%m.%y"])
def test_years_of_two_digits_behind_are_read(tmp_path, form):
    moments = [datetime(2025, 3, 10, tzinfo=UTC) + timedelta(days=day) for day in range(40)]
    found = read(tmp_path, [f"{moment:{form}}" for moment in moments])
    assert found.seconds.to_list() == [moment.timestamp() for moment in moments]


def test_a_stranger_among_milliseconds_is_named(tmp_path):
    with pytest.raises(AnalysisError, match="line 4: 0 in column 'when' lies far from the other times"):
        read(tmp_path, ["1700000000000", "1700000060000", "0", "1700000120000"])


@pytest.mark.parametrize(
    ("header", "is_time", "unit"),
    [
        ("time(s)", True, "s"),
        ("Time [s]", True, "s"),
        ("time_s", True, "s"),
        ("timestamp_ms", True, "ms"),
        ("timestampMs", True, "ms"),
        ("Elapsed (µs)", True, "us"),
        ("ts", True, None),
        ("elapsed", True, None),
        ("Date_Time", True, None),
        ("t [ms]", True, "ms"),
        ("time in min", True, "min"),
        ("seconds", True, "s"),
        ("time/s", True, "s"),
        ("Time / ms", True, "ms"),
        ("timestamp (UTC)", True, None),
        ("Zeit [s]", True, "s"),
        ("time since start (s)", True, "s"),
        ("frame.time_epoch", True, None),
        ("rate/s", False, None),
        ("rtt (ms)", False, None),
        ("runtime", False, None),
        ("transit time", False, None),
    ],
)
def test_headers_say_that_numbers_are_times(header, is_time, unit):
    assert time_unit(header) == (is_time, unit)


def test_units_of_headers_count(tmp_path):
    found = read(tmp_path, ["0", "1500", "3000"], header="time (ms)")
    assert (found.seconds.to_list(), found.dated) == ([0, 1.5, 3.0], False)
    assert found.notes == ("the times in time (ms) were read as milliseconds",)
    assert read(tmp_path, ["0", "1500"], header="time(s)").seconds.to_list() == [0, 1500]


def test_day_and_month_are_asked_where_nothing_tells(tmp_path):
    cells = ["01/02/2024 10:00", "02/03/2024 10:00"]
    with pytest.raises(AnalysisError, match="may begin with the day or with the month") as raised:
        read(tmp_path, cells)
    assert "--time-format day-first" in str(raised.value)
    day = read(tmp_path, cells, time_format="day-first").seconds.to_list()
    month = read(tmp_path, cells, time_format="month-first").seconds.to_list()
    pattern = read(tmp_path, cells, time_format="%d/%m/%Y %H:%M").seconds.to_list()
    assert (
        day
        == pattern
        == [datetime(2024, month, day, 10, tzinfo=UTC).timestamp() for day, month in ((1, 2), (2, 3))]
    )
    assert month[0] == datetime(2024, 1, 2, 10, tzinfo=UTC).timestamp()


def test_an_hour_that_a_summer_repeats_stays_apart_by_its_zone(tmp_path):
    found = read(tmp_path, ["2024-10-27T02:30:00+02:00", "2024-10-27T02:30:00+01:00"])
    assert np.diff(found.seconds.to_numpy()).tolist() == [3600.0]
    named = read(tmp_path, ["Sun, 27 Oct 2024 02:30:00 CEST", "Sun, 27 Oct 2024 02:30:00 CET"])
    assert named.seconds.to_list() == found.seconds.to_list()


def test_missing_times_are_null(tmp_path):
    assert read(tmp_path, ["2024-01-01", "", "NA"]).missing == 2
    assert read(tmp_path, ["1", "", "lost"], missing=("lost",)).missing == 2


@pytest.mark.parametrize(
    "cell",
    ["192.0.2.1", "2024-13-01", "2024-02-30", "29.02.2023", "25:00", "1.2.3", "Fri Foo 08 22:00:00 2024"],
)
def test_what_is_no_moment_is_none(cell):
    assert np.isnan(moments(pl.Series([cell])).seconds[0])


def test_addresses_are_no_times(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("IP Address,v\n192.0.2.1,1\n10.11.12.13,2\n")
    assert not holds_dates(read_table(path), "IP Address")


@pytest.mark.skipif(not CASES.exists(), reason="needs ../shared")
@pytest.mark.parametrize("name", ["us", "uk", "de", "isoutc", "ctime"])
def test_hourly_files_of_strangers(name):
    seconds = times_of(read_table(CASES / f"{name}.csv"), "Timestamp").seconds.to_numpy()
    assert seconds.size == 400
    assert set(np.diff(seconds)) == {3600.0}
    assert seconds[0] == datetime(2024, 3, 8, 22, tzinfo=UTC).timestamp()
