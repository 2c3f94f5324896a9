from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from trialwise.statistics.checks import as_values_with_gaps, seconds
from trialwise.statistics.time.timegrid import lay_out, read_series


def test_seconds_are_the_same_from_numbers_dates_and_datetimes():
    dates = np.array(
        ["2026-11-21T12:00:00.5", "2026-11-21T12:01:00", "2026-11-21T11:59:00"], dtype="datetime64[ns]"
    )
    start = datetime(2026, 11, 21, 12, 0, 0, 500_000, tzinfo=UTC)
    objects = [start, start + timedelta(seconds=59.5), start - timedelta(seconds=60.5)]
    for times in (dates, objects, [1e9 + 0.5, 1e9 + 60, 1e9 - 60]):
        np.testing.assert_allclose(seconds(times), [0, 59.5, -60.5], atol=1e-6)


def test_nanoseconds_survive():
    dates = np.array([1_795_000_000_000_000_000, 1_795_000_000_000_000_001], dtype="datetime64[ns]")
    assert seconds(dates)[1] == 1e-9


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([0, np.nan, 2], r"times\[1\] is NaN"),
        ([0, 1, np.inf], r"times\[2\] is infinite"),
        (np.array(["2026-01-01", "NaT"], dtype="datetime64[D]"), r"times\[1\] is NaT"),
        (np.ma.array([0.0, 1.0], mask=[False, True]), "masked"),
        ([[0, 1]], "2 dimensions; expected one"),
        ([], "at least 1"),
        (["a", "b"], "times holds <U1, not numbers"),
    ],
)
def test_bad_times_are_named(times, message):
    with pytest.raises(ValueError, match=message):
        seconds(times)


def test_series_is_sorted_averaged_and_freed_of_missing_values():
    series = read_series(
        [30, 10, 20, 10, 40], np.ma.array([3.0, 1.0, np.nan, 5.0, 9.0], mask=[0, 0, 0, 0, 1])
    )
    np.testing.assert_array_equal(series.times, [0, 20])
    np.testing.assert_array_equal(series.values, [3, 3])
    assert (series.missing, series.repeated) == (2, 1)


@pytest.mark.parametrize(
    ("times", "values", "message"),
    [
        ([0, 1], [1], "one length"),
        ([0, 1], [1, np.inf], r"values\[1\] is infinite"),
        ([0, 1], [1, np.nan], "1 different times"),
        ([5, 5, 5], [1, 2, 3], "1 different times"),
        ([0, 1], ["x", "y"], "values holds <U1, not numbers"),
    ],
)
def test_bad_series_are_named(times, values, message):
    with pytest.raises(ValueError, match=message):
        read_series(times, values)


def test_averaging_huge_values_stays_finite():
    series = read_series([0, 0, 1], [1.7e308, 1.7e308, 0])
    np.testing.assert_allclose(series.values, [1.7e308, 0])


def test_regular_times_with_jitter_and_gaps_get_one_cell_each():
    rng = np.random.default_rng(3)
    kept = np.sort(rng.choice(5000, 4000, replace=False))
    series = read_series(kept * 7200.3 + rng.uniform(-60, 60, 4000), np.arange(4000.0))
    grid = lay_out(series)
    assert grid.regular
    np.testing.assert_array_equal(grid.index, kept - kept[0])
    assert grid.cell == pytest.approx(7200.3, rel=1e-4)


def test_irregular_times_get_quarter_cells():
    times = np.cumsum(np.random.default_rng(4).exponential(60, 2000))
    grid = lay_out(read_series(times, times))
    assert not grid.regular
    assert grid.cell == pytest.approx(np.median(np.diff(times)) / 4)
    # Each cell's time is within half a cell of what was put there.
    assert grid.size <= 8 * 2000


def test_clustered_times_do_not_explode_the_grid():
    times = np.concatenate([np.arange(100) * 1e-6, 3e8 + np.arange(100) * 1e-6])
    assert lay_out(read_series(times, times)).size <= 8 * 200


def test_numbers_leave_the_input_alone():
    given = np.ma.array([1, 2], mask=[0, 1])
    np.testing.assert_array_equal(as_values_with_gaps(given), [1, np.nan])
    assert given.data.tolist() == [1, 2]
