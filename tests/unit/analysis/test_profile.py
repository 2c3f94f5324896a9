from __future__ import annotations

from datetime import timedelta, timezone
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from condition_data import START, condition_csv, week_of_days
from trialwise import statistics as st
from trialwise.analysis.conditions.profile import length_words, profile_of
from trialwise.analysis.conditions.table import read_conditions
from trialwise.errors import AnalysisError, TrialwiseError
from trialwise.experiment.quantity import seconds
from trialwise.report.document import plain
from trialwise.report.documents.profile import document

DAY, WEEK = 86_400.0, 604_800.0
SHARED = Path(__file__).parents[4] / "shared" / "data" / "triscale"


def read(path, **columns):
    return read_conditions(path, time=columns.get("time"), value=columns.get("value"))


def write(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_day_and_a_week_are_found_and_the_span_is_a_week(tmp_path):
    found = profile_of(read(condition_csv(tmp_path / "a.csv")))
    assert [period.name for period in found.periods] == ["day", "week"]
    assert all(period.p_value <= 0.05 for period in found.periods)
    assert found.span == WEEK
    assert found.span_line == 'span = "7d"'
    assert seconds("7d") == found.span
    assert (found.start, found.n) == (START.isoformat(sep=" "), week_of_days()[1].size)
    assert found.longest_gap == 15 * 7200


def test_the_profile_is_what_the_statistic_says(tmp_path):
    values, kept = week_of_days()
    found = profile_of(read(condition_csv(tmp_path / "a.csv")))
    direct = st.seasonality(kept * 7200.0, np.round(values[kept], 4))
    assert [(one.seconds, one.strength, one.p_value) for one in found.periods] == [
        (one.seconds, one.strength, one.p_value) for one in direct.periods
    ]
    np.testing.assert_array_equal(found.autocorrelation.coefficients, direct.autocorrelation.values)


@pytest.mark.parametrize(
    ("separator", "written"),
    [
        (";", None),
        ("\t", lambda moment: moment.strftime("%Y-%m-%d %H:%M:%S")),
        (",", lambda moment: moment.astimezone(timezone(timedelta(hours=5.5))).isoformat()),
        (",", lambda moment: moment.strftime("%Y%m%dT%H%M%SZ")),
        (",", lambda moment: moment.isoformat(timespec="milliseconds" if moment.hour else "seconds")),
        (",", lambda moment: str(moment.timestamp())),
    ],
)
def test_every_way_to_write_times_gives_the_same(tmp_path, separator, written):
    plain = read(condition_csv(tmp_path / "plain.csv"))
    other = read(condition_csv(tmp_path / "other.csv", separator=separator, written=written), time="when")
    np.testing.assert_array_equal(other.times, plain.times)
    np.testing.assert_array_equal(other.values, plain.values)
    assert other.dated


def test_parquet_and_milliseconds_since_1970(tmp_path):
    plain = read(condition_csv(tmp_path / "plain.csv"))
    moments = pl.Series("when", plain.times * 1000).cast(pl.Int64)
    frame = pl.DataFrame({"when": moments.cast(pl.Datetime("ms")), "quality": plain.values})
    frame.write_parquet(tmp_path / "a.parquet")
    np.testing.assert_array_equal(read(tmp_path / "a.parquet").times, plain.times)
    frame.with_columns(moments).write_parquet(tmp_path / "b.parquet")
    counted = read(tmp_path / "b.parquet", time="when")
    np.testing.assert_array_equal(counted.times, plain.times)
    assert "milliseconds" in counted.notes[0]


def test_too_short_data_say_what_is_not_tested_and_keep_it_in_the_span(tmp_path):
    path = condition_csv(tmp_path / "a.csv")
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:60]))
    found = profile_of(read(path))
    assert [one.name for one in found.untested] == ["week"]
    assert "13.3 days or longer" in found.untested[0].reason
    assert found.span == WEEK


def test_repeated_and_missing_values_are_counted(tmp_path):
    rows = "".join(f"{place},{place % 7}\n{place},\n{place},{place % 7}\n" for place in range(100))
    found = profile_of(read(write(tmp_path, f"t,x\n{rows}")))
    assert (found.n, found.missing, found.repeated) == (100, 100, 100)


def test_constant_data_have_no_periods(tmp_path):
    found = profile_of(read(write(tmp_path, "t,x\n" + "".join(f"{3600 * i},5\n" for i in range(600)))))
    assert (found.periods, found.untested, found.span_line) == ((), (), None)
    assert "All values are equal: nothing varies with time." in found.notes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        (b"\x00\x01\x02ELF" * 50, "binary"),
        ("t,x\n", "no row"),
        ("t,x\n1,2\n", "1 different times"),
        ("when,x\n2026-01-01,a\n", "no column of numbers"),
        ("name,x\na,1\nb,2\n", "no column of times"),
        ("when,x\n2026-01-01,1\n2026-02-30,2\n", r"line 3: '2026-02-30' in column 'when' is not a time"),
        ("when,x\n,1\n,2\n", "no column of times"),
        ("t,x\n1,1\n2,2\n3,oops\n", "line 4: 'oops'"),
        ("t,x\n1,1\n2,inf\n", "line 3: 'inf'"),
        ("t,x\n1,nan\n2,\n", "no column of numbers|holds no number"),
        (
            "day,x\n01/02/2026,1\n02/02/2026,2\n",
            "'01/02/2026' in column 'day' may begin with the day or with the month",
        ),
    ],
)
def test_wrong_input_is_named(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(AnalysisError, match=message):
        profile_of(read(path))


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(AnalysisError, match="No such file"):
        read(tmp_path / "none.csv")
    with pytest.raises(AnalysisError, match="is a folder"):
        read(tmp_path)


def test_several_columns_have_to_be_named(tmp_path):
    path = write(tmp_path, "when,then,x,y\n2026-01-01,2026-01-02,1,2\n2026-01-03,2026-01-05,1,2\n")
    with pytest.raises(TrialwiseError, match="several columns hold times: when, then") as raised:
        read(path)
    assert raised.value.exit_code == 2
    with pytest.raises(TrialwiseError, match="several columns hold numbers: x, y"):
        read(path, time="then")
    assert read(path, time="then", value="y").values.tolist() == [2, 2]
    with pytest.raises(AnalysisError, match="no column 'tehn'") as raised:
        read(path, time="tehn", value="y")
    assert "'then' is there" in raised.value.hint


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (WEEK, "7 days"),
        (DAY, "1 day"),
        (9000, "2.5 hours"),
        (60, "1 minute"),
        (1, "1 second"),
        (0.25, "0.25 seconds"),
    ],
)
def test_lengths_in_words(length, words):
    assert length_words(length) == words


@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared")
@pytest.mark.parametrize("method", ["default", "paper"])
def test_the_link_of_the_paper_has_a_day_and_a_week(method):
    found = profile_of(read(SHARED / "triscale_flocklab_link_quality.csv"), method=method)
    assert [period.name for period in found.periods] == ["day", "week"]
    assert found.span_line == 'span = "7d"'


@pytest.mark.parametrize(
    ("step", "words"), [(3600, "one every hour"), (7200, "one every 2 hours"), (1, "one every second")]
)
def test_one_of_a_unit_is_told_in_the_singular(step, words, tmp_path):
    rows = [f"{1_700_000_000 + step * place},{place % 3}" for place in range(19)]
    path = write(tmp_path, "\n".join(["time,value", *rows]) + "\n")
    about_the_data = document(profile_of(read(path))).evidence[0]
    assert plain(about_the_data.text).endswith(words)
