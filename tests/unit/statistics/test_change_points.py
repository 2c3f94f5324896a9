"""Change points against t tests of SciPy, all orders of short series, and E-divisive by brute force."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from binomial import least, most
from trialwise.errors import StatisticsError
from trialwise.statistics import change_points, values_needed
from trialwise.statistics.pooled.phase_randomization import normal_scores
from trialwise.statistics.tests.change_points import neighbour_correlation
from trialwise.statistics.tests.change_scan import LEAST, best_split, largest, tail


def deviate(first, second):
    """The normal deviate that is as rare as the t statistic of two samples."""
    return stats.norm.isf(stats.ttest_ind(first, second).pvalue / 2)


def best_of_all(values):
    """The largest deviate of all splits of a whole series, and its place."""
    places = range(LEAST, values.size - LEAST + 1)
    return max((deviate(values[:at], values[at:]), at) for at in places)


@pytest.mark.parametrize("n", [10, 13, 60])
def test_the_statistic_is_that_of_t_tests(n):
    values = np.random.default_rng(n).normal(size=n) + 3 * (np.arange(n) >= n // 2)
    found = best_split(values)
    inside, at = values[found.begin : found.end], found.at - found.begin
    assert found.z == pytest.approx(deviate(inside[:at], inside[at:]), rel=0.01)
    assert found.z >= best_of_all(values)[0] * 0.99


def test_a_stretch_is_found_that_no_split_of_the_whole_shows():
    values = np.random.default_rng(2).normal(size=120)
    values[50:62] += 2.5
    found = best_split(values)
    inside = values[found.begin : found.end]
    assert found.z == pytest.approx(
        deviate(inside[: found.at - found.begin], inside[found.at - found.begin :]), rel=0.01
    )
    assert found.z > best_of_all(values)[0] + 1
    assert found.at in {49, 50, 51, 61, 62, 63}


def test_the_tail_holds_for_all_orders_of_ten_values():
    scores = normal_scores(np.arange(10.0))
    rows = np.array([[*scores[list(left)], *np.delete(scores, left)] for left in combinations(range(10), 5)])
    maxima = largest(rows)
    assert rows.shape[0] == 252
    for z in np.unique(maxima[maxima > 2]):
        exact = np.mean(maxima >= z - 1e-9)
        assert exact * 0.95 <= tail(float(z), 10) <= 3 * exact


@pytest.mark.parametrize("n", [20, 50, 150])
def test_the_tail_is_that_of_shuffles(n):
    shuffles = 6000
    rows = np.random.default_rng(n).permuted(
        np.tile(normal_scores(np.arange(float(n))), (shuffles, 1)), axis=1
    )
    z = next(z for z in np.arange(2, 5, 0.005) if tail(float(z), n) <= 0.05)
    assert least(0.042, shuffles) <= np.mean(largest(rows) >= z) <= most(0.05, shuffles)


def e_divisive(values, rng, shuffles=199):
    """The place that Matteson and James (2014) choose first, and its p-value by shuffles, with distances computed one by one."""

    def best(series):
        apart = np.abs(series[:, None] - series[None, :])
        n = series.size
        found = []
        for at in range(LEAST, n - LEAST + 1):
            between = 2 * apart[:at, at:].mean()
            first = apart[:at, :at].sum() / (at * (at - 1))
            second = apart[at:, at:].sum() / ((n - at) * (n - at - 1))
            found.append((at * (n - at) / n * (between - first - second), at))
        return max(found)

    energy, at = best(values)
    beyond = sum(best(rng.permutation(values))[0] >= energy for _ in range(shuffles))
    return at, (1 + beyond) / (1 + shuffles)


@pytest.mark.parametrize("place", [8, 20, 31])
def test_e_divisive_finds_the_same_place(place):
    rng = np.random.default_rng(place)
    values = rng.normal(size=40) + 3 * (np.arange(40) >= place)
    at, p_value = e_divisive(values, rng)
    (found,) = change_points(values).changes
    assert p_value <= 0.01
    assert abs(found.at - at) <= 1


def test_levels_up_and_down_have_their_places_sizes_and_sides():
    values = np.random.default_rng(5).normal(100, 1, size=150)
    values[60:90] += 5
    up, down = change_points(values).changes
    assert (up.at, down.at) == (60, 90)
    assert up.low < 5 < up.high
    assert down.low < -5 < down.high
    assert (up.n, down.n) == ((60, 30), (30, 60))


def test_backwards_is_the_same_change():
    values = np.random.default_rng(6).normal(size=80) + 3 * (np.arange(80) >= 30)
    (forwards,), (backwards,) = change_points(values).changes, change_points(values[::-1]).changes
    assert backwards.at == 80 - forwards.at
    assert backwards.shift == pytest.approx(-forwards.shift)
    assert backwards.p_value == pytest.approx(forwards.p_value)


def test_spikes_over_a_constant_are_no_change_and_a_step_is():
    spike = np.full(100, 7.0)
    spike[97] = 8
    assert change_points(spike).changes == ()
    assert change_points(np.full(100, 7.0)).changes == ()
    step = np.where(np.arange(100) < 80, 7.0, 8.0)
    (found,) = change_points(step).changes
    assert (found.at, found.before, found.after, found.low, found.high) == (80, 7, 8, 1, 1)


def test_a_line_is_a_drift_and_a_step_is_none():
    rng = np.random.default_rng(7)
    line = change_points(rng.normal(size=100) + np.linspace(0, 8, 100))
    assert line.changes == ()
    assert line.drift is not None
    assert line.drift.change == pytest.approx(8, abs=1)
    assert change_points(2.0 * np.arange(40) + np.arange(40) % 3).drift is not None
    step = change_points(rng.normal(size=100) + 4 * (np.arange(100) >= 50))
    assert step.drift is None
    assert len(step.changes) == 1


def test_correlation_is_estimated_past_changes():
    found = []
    for seed in range(8):
        values = np.random.default_rng(seed).normal(size=1500)
        for at in range(1, values.size):
            values[at] += 0.6 * values[at - 1]
        found += [neighbour_correlation(values + height * (np.arange(1500) // 300 % 2)) for height in (0, 10)]
    assert np.mean(found[::2]) == pytest.approx(0.6, abs=0.05)
    assert np.mean(found[1::2]) == pytest.approx(0.6, abs=0.05)


def test_the_smallest_number_of_values_finds_a_step_and_one_less_does_not():
    for alpha in (0.05, 0.0005):
        n = values_needed(alpha)
        series = [np.arange(float(size)) for size in (n, n - 1)]
        found = [change_points(values, alpha=alpha) for values in series]
        assert found[0].more == 0
        assert found[1].more == 1 or n == 2 * LEAST
        assert found[1].changes == () or n == 2 * LEAST
        assert found[1].drift is None or n == 2 * LEAST


@pytest.mark.parametrize("values", [[], [1, float("nan")], [[1, 2]]])
def test_what_is_no_series_is_refused(values):
    with pytest.raises(StatisticsError):
        change_points(values)
