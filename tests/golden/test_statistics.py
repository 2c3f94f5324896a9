"""Numbers of others: SciPy's, and those printed in the TriScale paper."""

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from trialwise import statistics as st

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "triscale"


def table(name):
    if not (DATA / name).exists():
        pytest.skip(f"{DATA / name} is not there")
    with (DATA / name).open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("percentile", "confidence", "runs"),
    [(95, 95, 59), (95, 99, 90), (99, 95, 299), (90, 95, 29), (50, 95, 5)],
)
def test_table_2_runs(percentile, confidence, runs):
    assert st.samples_needed(percentile, confidence) == runs


@pytest.mark.parametrize(("percentile", "confidence", "series"), [(50, 75, 3), (75, 75, 5), (50, 90, 5)])
def test_table_2_series(percentile, confidence, series):
    assert st.series_needed(percentile, confidence) == series
    assert st.variability(range(series), percentile, confidence).score is not None
    assert st.variability(range(series - 1), percentile, confidence).score is None


def test_figure_1_takes_ten_runs_and_95_percent_would_take_eleven():
    """Footnote 3: 10 runs carry the 25th and 75th percentile at 75 %, 11 are needed for 95 %."""
    for percentile in (25, 75):
        assert st.samples_needed(percentile, 75) <= 10
        assert st.samples_needed(percentile, 95) == 11
        assert st.kpi(range(10), percentile, 75).value is not None
        assert st.kpi(range(10), percentile, 95).needed == 11


def glossy(column, *days):
    rows = [row for row in table("triscale_glossy.csv") if row["date_time"][:10] in days]
    values = [float(row[column]) for row in sorted(rows, key=lambda row: row["date_time"]) if row[column]]
    return st.kpi(values, 50, 95, bound="lower").value


def test_section_5_2_one_day_each():
    """Printed: 88 % for N = 1 and 84 % for N = 2, each a series of 24 runs within one day.

    They come out as the lower bound of the median, N = 1 on a day of the weekend and N = 2 on a working day.
    """
    assert glossy("PRR_N1", "2019-08-24") == 88.0
    assert glossy("PRR_N2", "2019-08-26") == 84.0


def test_section_5_2_one_week():
    """Printed: 80 % for N = 1 and 88 % for N = 2 over a week, as the first whole week has it."""
    week = [f"2019-08-{day}" for day in range(22, 29)]
    assert (glossy("PRR_N1", *week), glossy("PRR_N2", *week)) == (80.0, 88.0)


def test_missing_values_of_a_series_are_refused_by_their_place():
    values = [row["value"] for row in table("triscale_demo_series.csv") if row["series"] == "metrics_prr"]
    numbers = [float(value or "nan") for value in values]
    with pytest.raises(ValueError, match=r"values\[4\] is NaN"):
        st.kpi(numbers, 50, 95)
    whole = [number for number in numbers if np.isfinite(number)]
    assert st.kpi(whole, 50, 95, bound="lower").value == 88.0


def test_the_delays_of_a_run_window_by_window():
    rows = table("triscale_raw_delay.csv")
    times, delays = (np.array([float(row[column]) for row in rows]) for column in ("x", "y"))
    metric = st.trial_metric(delays, 95, times=times, convergence={}, method="paper")
    length = delays.size // 2
    starts = [int(index * length / 100) for index in range(100)]
    windows = [np.percentile(delays[start:][:length], 95) for start in starts]
    low, high = delays.min(), delays.max()
    scaled_times = 2 * (times[starts] - times[0]) / (times[starts[-1]] - times[0]) - 1
    reference = stats.theilslopes(2 * (np.array(windows) - low) / (high - low) - 1, scaled_times, 0.95)
    assert (metric.convergence.slope, metric.convergence.low, metric.convergence.high) == pytest.approx(
        (reference.slope, reference.low_slope, reference.high_slope), rel=1e-9, abs=1e-12
    )
    passed = bool(max(-reference.low_slope, reference.high_slope) <= 0.05)
    assert metric.converged is passed
    assert metric.value == (np.median(windows) if passed else np.percentile(delays, 95))


@pytest.mark.parametrize("seed", range(12))
def test_bounds_are_those_of_quantile_test(seed):
    random = np.random.default_rng(seed)
    values = random.gamma(2, size=int(random.integers(12, 400)))
    percentile, confidence = random.uniform(20, 80), random.uniform(60, 99)
    for bound, alternative in (("lower", "greater"), ("upper", "less"), ("both", "two-sided")):
        ours = st.percentile_interval(values, percentile, confidence, bound=bound)
        test = stats.quantile_test(values, p=percentile / 100, alternative=alternative)
        theirs = test.confidence_interval(confidence / 100)
        assert ours.low == (theirs.low if np.isfinite(theirs.low) else None)
        assert ours.high == (theirs.high if np.isfinite(theirs.high) else None)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("tied", [False, True])
def test_slopes_are_those_of_theilslopes(seed, tied):
    random = np.random.default_rng(seed)
    count = int(random.integers(3, 150))
    x = random.integers(0, 30, count).astype(float) if tied else random.normal(size=count)
    y = random.integers(0, 9, count).astype(float) if tied else 2 * x + random.normal(size=count)
    x[:2] = 0, 1
    confidence = random.uniform(51, 99)
    ours, theirs = st.theil_sen(x, y, confidence), stats.theilslopes(y, x, confidence / 100)
    assert (ours.slope, ours.intercept) == pytest.approx(
        (theirs.slope, theirs.intercept), rel=1e-12, abs=1e-12
    )
    assert (ours.low, ours.high) == (theirs.low_slope, theirs.high_slope)


def test_slopes_of_many_points_are_those_of_theilslopes():
    random = np.random.default_rng(1)
    x, y = np.sort(random.normal(size=1800)), random.normal(size=1800).cumsum()
    ours, theirs = st.theil_sen(x, y, 90), stats.theilslopes(y, x, 0.9)
    assert (ours.slope, ours.low, ours.high) == (theirs.slope, theirs.low_slope, theirs.high_slope)


@pytest.mark.parametrize("count", [5, 12, 33, 60])
def test_trends_are_those_of_kendalltau(count):
    values = np.random.default_rng(count).normal(size=count) + np.arange(count) / 20
    theirs = stats.kendalltau(np.arange(count), values, method="exact").pvalue
    assert st.independence(values).p_trend == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("count", [61, 500])
def test_trends_of_many_values_come_near_kendalltau(count):
    for values in (np.random.default_rng(count).normal(size=count), np.arange(count) * 7 % 11):
        theirs = stats.kendalltau(np.arange(count), values, method="asymptotic").pvalue
        assert st.independence(values).p_trend == pytest.approx(theirs, abs=0.01)


def test_lag_one_of_many_values_is_that_of_permutation_test():
    values = np.random.default_rng(9).normal(size=60)

    def lag_one(order):
        deviations = order - values.mean()
        return np.sum(deviations[1:] * deviations[:-1]) + np.sum(deviations**2) / 60

    theirs = stats.permutation_test(
        (values,),
        lambda order: abs(lag_one(order)),
        permutation_type="pairings",
        alternative="greater",
        vectorized=False,
        n_resamples=3000,
        rng=np.random.default_rng(1),
    )
    assert st.independence(values).p_lag1 == pytest.approx(theirs.pvalue, abs=0.03)
