"""Change points against t tests of SciPy, series with known correlation, and E-divisive by brute force."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy import signal, stats

from binomial import least, most
from trialwise.errors import StatisticsError
from trialwise.statistics import change_points, values_needed
from trialwise.statistics.pooled.phase_randomization import normal_scores
from trialwise.statistics.tests.change_points import without_outliers
from trialwise.statistics.tests.change_scan import LEAST, best_split, largest, tail


def autoregressive(seed, rows, n, rho):
    """Stationary series in which neighbours correlate by rho, with standard deviation 1."""
    shocks = np.random.default_rng(seed).normal(size=(rows, n + 100)) * np.sqrt(1 - rho**2)
    return signal.lfilter([1], [1, -rho], shocks, axis=1)[:, 100:]


def deviate(first, second):
    """The normal deviate that is as rare as the t statistic of two samples, and the correlation of neighbours in what they leave."""
    rests = [side - side.mean() for side in (first, second)]
    correlation = sum(rest[1:] @ rest[:-1] for rest in rests) / sum(rest @ rest for rest in rests)
    return stats.norm.isf(stats.ttest_ind(first, second).pvalue / 2), correlation


def widened(first, second):
    """The deviate, divided by as much as means of values vary more that correlate like these, and by as much as the split hides."""
    z, correlation = deviate(first, second)
    n = first.size + second.size
    rho = np.clip(correlation + min(14 / n, 0.6) * (1 + correlation), 0, 0.97)
    return z / np.sqrt((1 + rho) / (1 - rho))


def best_of_all(values):
    """The largest deviate of all splits of a whole series."""
    places = range(LEAST, values.size - LEAST + 1)
    return max(widened(values[:at], values[at:]) for at in places)


@pytest.mark.parametrize("n", [10, 13, 60])
def test_the_statistic_is_that_of_t_tests_of_correlated_values(n):
    values = autoregressive(n, 1, n, 0.3)[0] + 3 * (np.arange(n) >= n // 2)
    found = best_split(values)
    inside, at = values[found.begin : found.end], found.at - found.begin
    assert found.z == pytest.approx(widened(inside[:at], inside[at:]), rel=0.01)
    assert found.z >= best_of_all(values) * 0.99
    z, correlation = deviate(inside[:at], inside[at:])
    assert found.seen == pytest.approx(
        z / np.sqrt((1 + max(correlation, 0)) / (1 - max(correlation, 0))), rel=0.01
    )


def test_a_stretch_is_found_that_no_split_of_the_whole_shows():
    values = np.random.default_rng(2).normal(size=120)
    values[50:62] += 3.5
    found = best_split(values)
    inside = values[found.begin : found.end]
    assert found.z == pytest.approx(
        widened(inside[: found.at - found.begin], inside[found.at - found.begin :]), rel=0.01
    )
    assert found.z > best_of_all(values) + 1
    assert found.at in {49, 50, 51, 61, 62, 63}


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("n", [10, 20, 50, 150])
def test_the_tail_bounds_that_of_series_whose_neighbours_correlate(n, rho):
    count = 2000
    scores = normal_scores(np.arange(float(n)))
    maxima = largest(scores[autoregressive([n, 7], count, n, rho).argsort(axis=1).argsort(axis=1)])
    z = next(z for z in np.arange(1, 6, 0.005) if tail(float(z), n) <= 0.05)
    assert np.mean(maxima >= z) <= most(0.05, count)
    assert rho < 0.8 or n < 20 or np.mean(maxima >= z) >= least(0.04, count)


def test_values_that_correlate_are_no_change_and_too_few_to_tell_are_undecided():
    rows = autoregressive(11, 150, 20, 0.8)
    found = [change_points(row) for row in rows]
    assert np.mean([bool(each.changes) or each.drift is not None for each in found]) <= most(0.05, 400)
    assert np.mean([each.is_undecided for each in found]) >= least(0.2, 400)
    independent = [change_points(row) for row in autoregressive(12, 150, 20, 0)]
    assert np.mean([each.is_undecided for each in independent]) <= most(0.05, 400)
    steps = [change_points(row + 4 * (np.arange(12) >= 6)) for row in autoregressive(13, 60, 12, 0)]
    assert np.mean([each.is_undecided for each in steps]) >= least(0.3, 60)
    assert not any(each.is_undecided and each.changes for each in steps)
    assert not change_points(np.full(12, 1.0)).is_undecided


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


def arrangements(ones, n):
    """All series of n values of which so many are 1 and the others 0."""
    rows = np.zeros((comb(n, ones), n))
    for row, places in zip(rows, combinations(range(n), ones), strict=True):
        row[list(places)] = 1
    return rows


@pytest.mark.parametrize(("ones", "n"), [(6, 14), (5, 16), (8, 16)])
def test_no_change_of_two_values_is_surer_than_among_all_arrangements(ones, n):
    rows = np.array([normal_scores(row) for row in arrangements(ones, n)])
    maxima = largest(rows)
    step = np.arange(n) >= n - ones
    z = max(best_split(normal_scores(1.0 * step)).z, largest(normal_scores(1.0 * step)[None, :])[0])
    exact = np.mean(maxima >= z * (1 - 1e-9))
    assert exact <= 3 / comb(n, ones)
    found = change_points(step, alpha=0.5)
    assert [change.at for change in found.changes] == [n - ones]
    assert found.changes[0].p_value >= exact
    # Runs of equal values are what correlated neighbours make: among them, the step is not as rare.
    assert found.changes[0].p_value >= 5 * exact


def test_ties_and_outliers_do_not_hide_a_step_that_is_clear():
    random = np.random.default_rng(8)
    step = 3.0 * (np.arange(100) >= 50)
    for values in (
        np.round(random.normal(size=100) + step),
        random.normal(size=100) + step + 20 * (random.random(100) < 0.05),
    ):
        (found,) = change_points(values).changes
        assert abs(found.at - 50) <= 2
    long = np.round(random.normal(size=3000) + 2 * (np.arange(3000) >= 1000))
    assert [abs(each.at - 1000) <= 5 for each in change_points(long).changes] == [True]


def test_an_outlier_lies_far_from_the_values_around_it_and_five_together_are_none():
    values = np.random.default_rng(9).normal(size=60)
    values[[10, 40]] += 30
    assert without_outliers(values).size == 58
    values[50:55] += 30
    assert without_outliers(values).size == 58
    values[57:] += 30
    assert without_outliers(values).max() < 35
    assert without_outliers(np.array([7.0] * 20 + [8.0])).size == 21


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
    rows = autoregressive(9, 4, 1500, 0.6)
    levels = 10 * (np.arange(1500) // 300 % 2)
    assert np.mean([change_points(row).correlation for row in rows]) == pytest.approx(0.6, abs=0.05)
    assert np.mean([change_points(row + levels).correlation for row in rows]) == pytest.approx(0.6, abs=0.05)


def test_the_smallest_number_of_values_finds_a_step_and_one_less_does_not():
    for alpha in (0.05, 0.0005):
        n = values_needed(alpha)
        low_and_high = [
            np.concatenate([np.arange(size // 2) % 2, 10 + np.arange(size - size // 2) % 2])
            for size in (n, n - 1)
        ]
        found = [change_points(values, alpha=alpha) for values in low_and_high]
        assert found[0].more == 0
        assert found[1].more == 1 or n == 2 * LEAST
        assert found[1].changes == () or n == 2 * LEAST


@pytest.mark.parametrize("values", [[], [1, float("nan")], [[1, 2]]])
def test_what_is_no_series_is_refused(values):
    with pytest.raises(StatisticsError):
        change_points(values)
