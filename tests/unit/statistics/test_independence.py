"""Tests of independence."""

from itertools import permutations

import numpy as np
import pytest

from trialwise import statistics as st
from trialwise.statistics.tests.independence import _product_variance, median_coverage


def lag_one(values):
    deviations = np.asarray(values) - np.mean(values)
    return deviations[1:] @ deviations[:-1] / (deviations @ deviations)


@pytest.mark.parametrize("count", [5, 6, 7])
def test_the_p_value_of_few_values_is_that_of_every_order(count):
    values = np.round(np.random.default_rng(count).normal(size=count), 1)
    observed = abs(lag_one(values) + 1 / count)
    orders = [abs(lag_one(order) + 1 / count) >= observed - 1e-9 for order in permutations(values)]
    assert st.independence(values).p_lag1 == pytest.approx(np.mean(orders))


@pytest.mark.parametrize("count", [8, 30, 101, 1000])
def test_shuffles_and_approximation_agree_with_other_shuffles(count):
    random = np.random.default_rng(count)
    values = random.gamma(2, size=count)
    values[1:] += 0.12 * values[:-1]
    observed = abs(lag_one(values) + 1 / count)
    draws = [abs(lag_one(random.permutation(values)) + 1 / count) >= observed for _ in range(4000)]
    assert st.independence(values).p_lag1 == pytest.approx(np.mean(draws), abs=0.035)


def test_the_variance_over_all_orders_is_exact():
    deviations = np.array([3.0, -1.0, 0.5, -2.0, 1.0, 2.5, -4.0])
    products = [np.array(order[1:]) @ np.array(order[:-1]) for order in permutations(deviations)]
    assert _product_variance(deviations) == pytest.approx(np.var(products))


def test_one_huge_value_among_very_many_gives_a_probability():
    values = np.zeros(200_000)
    values[77] = 1e300
    assert 0 < st.independence(values).p_lag1 <= 1


def test_the_autocorrelation_is_biased_and_the_same_by_transform():
    for count in (40, 300):
        values = np.random.default_rng(count).normal(5, 2, count)
        deviations = values - values.mean()
        expected = [deviations[k:] @ deviations[:-k] / (deviations @ deviations) for k in range(1, count)]
        assert st.independence(values).autocorrelation == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_too_few_values_for_any_test(count):
    result = st.independence(np.arange(count) ** 2)
    assert (result.independent, result.stationary, result.p_value) == (None, None, None)
    assert count == 1 or "5 values are needed" in result.reason
    assert result.autocorrelation.shape == (count - 1,)


@pytest.mark.parametrize("method", ["default", "paper"])
def test_constant_values_have_nothing_to_correlate(method):
    result = st.independence([2.5] * 12, method=method)
    assert np.isnan(result.autocorrelation).all()
    assert result.autocorrelation.shape == (11,)
    assert "constant" in result.reason
    assert result.independent is (None if method == "default" else True)


def test_a_trend_and_neighbours_that_follow_each_other_are_found():
    trend = st.independence(np.arange(20) + np.random.default_rng(0).normal(size=20))
    assert (trend.independent, trend.stationary) == (False, False)
    assert "trend" in trend.reason
    waves = st.independence(np.sin(np.arange(40) * 0.7))
    assert (waves.independent, waves.stationary) == (False, True)
    assert "neighbours" in waves.reason


def test_a_reversed_series_and_another_unit_have_the_same_p_value():
    values = np.random.default_rng(6).normal(size=25)
    expected = st.independence(values)
    for other in (values[::-1], 1000 + 3 * values, -values):
        assert st.independence(other).p_value == pytest.approx(expected.p_value, abs=0.01)


def test_the_paper_sees_no_positive_lag_one_in_seven_values():
    """METHODS c: the largest lag-1 autocorrelation of 7 values, .71, is below its threshold of .74."""
    result = st.independence([0, 0, 0, 0, 1, 1, 1], method="paper")
    assert result.autocorrelation[0] < result.threshold == pytest.approx(0.737, abs=1e-3)


def test_the_paper_asks_every_lag_and_stationarity():
    alternating = st.independence([1, -1] * 10, method="paper")
    assert alternating.independent is False
    assert "1.95" in alternating.reason
    rising = st.independence(range(6), method="paper")
    assert (rising.independent, rising.stationary) == (False, False)
    assert st.independence(range(6), limits=(-500, 500), method="paper").stationary


def test_dependence_takes_away_coverage():
    """METHODS c, N = 30: .90 at a correlation of .3, .82 at .5, within the approximation's 4 points."""
    assert median_coverage(30, 0.3) == pytest.approx(90, abs=4)
    assert median_coverage(30, 0.5) == pytest.approx(82, abs=4)
    assert median_coverage(30, 0.0) == pytest.approx(95)


@pytest.mark.parametrize("values", [(1, 1, 2, 1, 3, 2, 2), (0, 0, 0, 1, 0, 1, 1), (5, 4, 4, 4, 2, 1, 1)])
def test_a_trend_of_tied_values_is_judged_among_all_their_orders(values):
    def score(order):
        return sum(np.sign(later - one) for at, one in enumerate(order) for later in order[at + 1 :])

    among = [abs(score(order)) >= abs(score(values)) for order in permutations(values)]
    assert st.independence(list(map(float, values))).p_trend == pytest.approx(np.mean(among), rel=1e-12)
