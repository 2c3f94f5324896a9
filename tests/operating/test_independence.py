"""Error rates of the independence tests: METHODS c."""

import numpy as np
import pytest

from trialwise import statistics as st

pytestmark = pytest.mark.operating
repeated = pytest.mark.parametrize("repetitions", [500, pytest.param(5000, marks=pytest.mark.soak)])


@pytest.fixture
def results(autoregressive):
    """Tests of AR(1) series, with a trend of so many standard deviations."""

    def test(count, rho, repetitions, *, trend=0.0, method="default"):
        random = np.random.default_rng([count, int(100 * rho), int(10 * trend)])
        rows = autoregressive(random, count, rho, repetitions) + trend * np.linspace(-0.5, 0.5, count)
        return [st.independence(row, method=method) for row in rows]

    return test


@repeated
@pytest.mark.parametrize("count", [5, 10, 20, 30, 150])
def test_independent_series_are_suspected_in_one_of_twenty_at_most(results, count, repetitions):
    found = results(count, 0, repetitions)
    highest = 0.05 + 3.3 * np.sqrt(0.05 * 0.95 / repetitions)
    assert np.mean([not result.independent for result in found]) <= highest
    assert np.mean([result.p_lag1 <= 0.05 for result in found]) <= highest
    assert np.mean([result.p_trend <= 0.05 for result in found]) <= highest


@repeated
@pytest.mark.parametrize(
    ("count", "rho", "power"), [(10, 0.5, 0.25), (20, 0.5, 0.51), (20, 0.7, 0.76), (30, 0.5, 0.73)]
)
def test_dependence_of_neighbours_is_found(results, near, count, rho, power, repetitions):
    found = np.mean([result.p_lag1 <= 0.05 for result in results(count, rho, repetitions)])
    assert near(found, power, repetitions, of=2400, slack=0.02)


@repeated
def test_trends_are_found(results, near, repetitions):
    """A trend of 2 standard deviations over 20 values: Kendall .67, lag-1 .22."""
    found = results(20, 0, repetitions, trend=2.0)
    assert near(np.mean([result.p_trend <= 0.05 for result in found]), 0.67, repetitions, of=2400, slack=0.02)
    assert np.mean([result.p_lag1 <= 0.05 for result in found]) < 0.35


@repeated
@pytest.mark.parametrize(("count", "alarms"), [(5, 0.0), (10, 0.05), (20, 0.14), (30, 0.24), (59, 0.45)])
def test_false_alarms_of_the_paper(results, near, count, alarms, repetitions):
    found = results(count, 0, repetitions, method="paper")
    correlated = [np.abs(result.autocorrelation).max() > result.threshold for result in found]
    assert near(np.mean(correlated), alarms, repetitions, of=2400, slack=0.02)
    assert all(not result.independent for result, beyond in zip(found, correlated, strict=True) if beyond)
    if count <= 20:
        assert np.mean([not result.stationary for result in found]) > 0.97


@repeated
@pytest.mark.parametrize(("rho", "covered"), [(0.3, 0.90), (0.5, 0.82), (0.7, 0.68)])
def test_what_dependence_does_to_an_interval_of_the_median(autoregressive, near, rho, covered, repetitions):
    rows = np.sort(autoregressive(np.random.default_rng(int(100 * rho)), 30, rho, 8 * repetitions), axis=1)
    interval = st.percentile_interval(range(1, 31), 50, 95)
    held = (rows[:, interval.low_rank - 1] <= 0) & (rows[:, interval.high_rank - 1] >= 0)
    assert near(np.mean(held), covered, 8 * repetitions, of=2400, slack=0.02)


@repeated
def test_passing_the_test_makes_an_interval_no_better(autoregressive, repetitions):
    """N = 20, correlation .7: coverage among series that pass is below that of all."""
    rows = autoregressive(np.random.default_rng(70), 20, 0.7, 2 * repetitions)
    intervals = [st.percentile_interval(row, 50, 95) for row in rows]
    held = np.array([interval.low <= 0 <= interval.high for interval in intervals])
    passed = np.array([st.independence(row).independent for row in rows])
    assert held[passed].mean() < held.mean() < 0.8
