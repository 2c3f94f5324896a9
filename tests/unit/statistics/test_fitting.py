"""Energy distances against SciPy's, tolerance factors against NIST's, exceedances against all orders, a search against minima."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import energy_distance as of_scipy

from trialwise.errors import StatisticsError
from trialwise.statistics.fitting.energy import energy_distance, null_distance
from trialwise.statistics.fitting.exceedance import exceedance_p, values_beyond
from trialwise.statistics.fitting.surrogate import fitted, proposal, sobol
from trialwise.statistics.fitting.tolerance import tolerance_factor, tolerance_interval


@pytest.mark.parametrize("seed", range(5))
def test_the_energy_distance_is_the_square_of_scipys(seed: int):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=7), rng.normal(0.5, 2, size=12)
    assert energy_distance(a, b) == pytest.approx(of_scipy(a, b) ** 2)


def test_two_points_are_twice_their_distance_apart_and_a_sample_is_not_apart_from_itself():
    assert energy_distance([0.0], [3.0]) == 6
    assert energy_distance([1.0, 2.0, 5.0], [1.0, 2.0, 5.0]) == 0


def test_the_null_distance_is_what_samples_of_one_distribution_are_apart():
    rng = np.random.default_rng(1)
    found = np.mean([null_distance(rng.normal(size=10), 6) for _ in range(2000)])
    apart = np.mean([energy_distance(rng.normal(size=10), rng.normal(size=6)) for _ in range(2000)])
    assert found == pytest.approx(apart, rel=0.05)
    assert found == pytest.approx(2 / np.pi**0.5 * (1 / 10 + 1 / 6), rel=0.03)  # of standard normal values


def test_the_null_distance_is_the_mean_over_all_splits_in_halves():
    values = np.array([1.0, 2.0, 4.0, 9.0])
    splits = [list(half) for half in combinations(range(4), 2)]
    apart = [energy_distance(values[one], np.delete(values, one)) for one in splits]
    assert null_distance(values, 4) * (1 / 2 + 1 / 2) / (1 / 4 + 1 / 4) == pytest.approx(np.mean(apart))


def test_the_tolerance_factor_is_that_of_nist():
    # NIST/SEMATECH e-Handbook of Statistical Methods, 7.2.6.3: N = 43, 90 % of the population with 99 %
    assert tolerance_factor(43, 90, 99) == pytest.approx(2.217, abs=5e-4)


def test_the_tolerance_interval_holds_its_share():
    rng = np.random.default_rng(2)
    lows, highs = np.array([tolerance_interval(rng.normal(size=10)) for _ in range(2000)]).T
    from scipy.stats import norm

    held = norm.cdf(highs) - norm.cdf(lows)
    assert (held >= 0.9).mean() == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize(("n", "m"), [(3, 2), (4, 5), (6, 3)])
def test_the_probability_of_values_beyond_others_is_that_of_all_orders(n: int, m: int):
    counts = []
    for places in combinations(range(n + m), n):
        others = [place for place in range(n + m) if place not in places]
        counts.append(values_beyond(places, others))
    for beyond in range(n + 1):
        share = np.mean([count >= beyond for count in counts])
        assert exceedance_p(beyond, n, m) == pytest.approx(share, abs=1e-12)


def test_many_values_beyond_take_no_time_and_no_large_numbers():
    assert exceedance_p(0, 20_000, 30_000) == 1
    # In the limit, each value beyond has the probability of its side's extreme: (r + 1) p^r (1 - p)^2 with p = n / (n + m).
    p = 0.4
    limit = sum((r + 1) * p**r * (1 - p) ** 2 for r in range(5, 200))
    assert exceedance_p(5, 20_000, 30_000) == pytest.approx(limit, rel=1e-3)


def test_values_within_the_margin_are_not_beyond():
    assert values_beyond([0.0, 1.0, 5.0, 9.5, 10.1], [1.0, 9.0], margin=1.0) == 1
    with pytest.raises(StatisticsError, match="none such"):
        exceedance_p(3, 2, 5)


def branin(point: np.ndarray) -> float:
    x, y = 15 * point[0] - 5, 15 * point[1]
    return (
        (y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6) ** 2
        + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x)
        + 10
    )


def test_expected_improvement_finds_the_minimum_of_branins_function():
    points = list(sobol(16, 2, seed=1))
    for step in range(24):
        values = np.array([branin(point) for point in points])
        best = int(values.argmin())
        process = fitted(np.array(points), values)
        points.append(proposal(process, float(values[best]), step, [points[best]]))
    assert min(branin(point) for point in points) < 0.397887 + 0.05


def test_a_process_passes_through_what_it_knows():
    points = sobol(16, 1, seed=3)
    values = np.sin(6 * points[:, 0])
    mean, deviation = fitted(points, values).predict(points)
    assert mean == pytest.approx(values, abs=0.02)
    assert (deviation < 0.1).all()
