"""TriScale, Fig. 5: wireless link quality on FlockLab in August 2019, every two hours, with gaps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trialwise.statistics.time.seasonality import seasonality

FILE = Path(__file__).parents[3] / "shared/data/triscale/triscale_flocklab_link_quality.csv"
DAY, WEEK = 86_400.0, 604_800.0


@pytest.fixture(scope="module")
def link_quality():
    if not FILE.exists():
        pytest.skip(f"{FILE} is absent: the shared study data are not beside this repository")
    rows = [line.split(",") for line in FILE.read_text().splitlines()[1:]]
    return np.array([time[:19] for time, _ in rows], dtype="datetime64[s]"), np.array(
        [float(v) for _, v in rows]
    )


def peaks(lags):
    """Peaks above the threshold, as the figure shows them, in whole days."""
    inner = lags.values[1:-1]
    above = (inner > lags.values[:-2]) & (inner > lags.values[2:]) & (inner > lags.threshold)
    return np.round(lags.lags[1:-1][above] / DAY, 2)


def test_day_and_week_come_out_and_the_span_is_a_week(link_quality):
    result = seasonality(*link_quality)
    assert [(period.name, period.seconds) for period in result.periods] == [("day", DAY), ("week", WEEK)]
    assert all(period.p_value <= 0.01 for period in result.periods)
    assert result.span == WEEK
    assert (result.n, result.tested) == (262, ("day", "week"))


def test_paper_finds_the_peaks_at_one_and_at_seven_days(link_quality):
    result = seasonality(*link_quality, method="paper")
    assert [period.name for period in result.periods] == ["day", "week"]
    assert result.span == pytest.approx(WEEK, rel=1e-4)
    assert result.autocorrelation.n == 312
    # Computed once with a plain loop over the median-filled grid.
    assert [round(period.strength, 3) for period in result.periods] == [0.596, 0.536]


def test_figure_5_has_a_peak_at_each_day_and_the_seventh_stands_out(link_quality):
    for method in ("paper", "default"):
        lags = seasonality(*link_quality, method=method).autocorrelation
        heights = dict(zip(np.round(lags.lags / DAY, 2), lags.values, strict=True))
        assert {1, 2, 3, 4, 5, 6, 7, 8} <= set(peaks(lags))
        assert heights[7] > max(heights[day] for day in (2, 3, 4, 5, 6, 8, 9))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_another_seed_changes_no_verdict(link_quality, seed):
    result = seasonality(*link_quality, seed=seed)
    assert {"day", "week"} <= {period.name for period in result.periods}
    assert result.span == WEEK


def test_ten_days_of_it_cannot_exclude_a_week(link_quality):
    times, values = link_quality
    result = seasonality(times[:110], values[:110])
    assert [period.name for period in result.periods] == ["day"]
    assert result.span == WEEK
    assert "neither show nor exclude a week" in result.note
