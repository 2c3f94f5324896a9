"""Tests whose null law is that of the values with their ties: enumeration, likelihoods and SciPy as references."""

from itertools import combinations_with_replacement, permutations
from math import factorial, prod

import numpy as np
import pytest
from scipy import optimize, stats

from trialwise import statistics as st
from trialwise.statistics.comparing.pairwise import better_p_values
from trialwise.statistics.estimates.moments import Moments, shared_variance
from trialwise.statistics.rounded import _fitted, rounded_tail, step_of
from trialwise.statistics.tests.shapiro import _statistics, shapiro_wilk
from trialwise.statistics.tests.turning_points import _share_of_extremes, _turns, _variance_of_one


def turns(series):
    return sum((b - a) * (c - b) < 0 for a, b, c in zip(series, series[1:], series[2:], strict=False))


@pytest.mark.parametrize("values", [[0, 0, 1, 1, 0], [1, 2, 2, 1, 3], [0, 1, 0, 0, 0, 2, 1], [5, 5, 5, 1]])
def test_turning_points_are_counted_over_all_orders_of_the_values(values):
    found = st.turning_points(values)
    counts = [turns(order) for order in permutations(values)]
    assert (found.expected, found.variance) == pytest.approx((np.mean(counts), np.var(counts)))
    apart = abs(turns(values) - np.mean(counts)) - 1e-9
    assert found.p_value == pytest.approx(np.mean(np.abs(np.array(counts) - np.mean(counts)) >= apart))
    assert found.method.endswith("all orders")


def test_seeded_orders_of_a_tied_series_are_as_good_as_all():
    values = [0, 1, 0, 0, 2, 1, 0, 1]
    counts = np.array([turns(order) for order in permutations(values)])
    found = st.turning_points(values)
    exact = np.mean(np.abs(counts - counts.mean()) >= abs(turns(values) - counts.mean()) - 1e-9)
    assert found.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 9999))
    assert found.expected == pytest.approx(counts.mean())
    assert found.variance == pytest.approx(counts.var(), rel=0.06)


@pytest.mark.parametrize(
    "shares", [(0.9, 0.1), (0.5, 0.5), (1 / 3, 1 / 3, 1 / 3), (0.1, 0.3, 0.3, 0.2, 0.1), (0.01, 0.98, 0.01)]
)
def test_moments_of_a_long_tied_series_are_those_of_its_orders(shares):
    random = np.random.default_rng(1)
    counts = np.round(2000 * np.array(shares))
    series = np.repeat(np.arange(counts.size), counts.astype(int)).astype(float)
    drawn = _turns(random.permuted(np.tile(series, (4000, 1)), axis=1))
    expected = (series.size - 2) * _share_of_extremes(counts)
    variance = series.size * _variance_of_one(counts / counts.sum())
    assert drawn.mean() == pytest.approx(expected, abs=4 * np.sqrt(variance / 4000))
    assert drawn.var() == pytest.approx(variance, rel=0.1)


def test_without_ties_the_moments_of_one_value_are_kendalls():
    shares = np.full(4000, 1 / 4000)
    assert _share_of_extremes(np.ones(4000)) == pytest.approx(2 / 3)
    assert _variance_of_one(shares) == pytest.approx(16 / 90, rel=2e-3)


def test_turning_points_as_published_know_no_ties():
    found = st.turning_points([1, 3, 2, 5, 1, 9, 4, 1, 1], method="paper")
    assert (found.expected, found.variance) == pytest.approx((14 / 3, 115 / 90))
    assert st.turning_points([0, 1] * 40).p_value < 1e-3


def grouped_likelihood(ordered, step):
    """-log likelihood of normal values that were rounded to multiples of a step."""
    values, times = np.unique(ordered, return_counts=True)

    def negative(parameters):
        mean, deviation = parameters[0], np.exp(parameters[1])
        ends = (values[:, None] + np.array([-step / 2, step / 2]) - mean) / deviation
        return -times @ np.log(np.maximum(np.diff(stats.norm.cdf(ends), axis=1)[:, 0], 1e-300))

    return negative


@pytest.mark.parametrize(("deviation", "step"), [(0.5, 1.0), (1.5, 1.0), (3.0, 0.25)])
def test_the_normal_distribution_of_rounded_values_is_the_most_likely_one(deviation, step):
    ordered = np.sort(step * np.rint(np.random.default_rng(4).normal(10.3, deviation, 60) / step))
    found = _fitted(ordered, step)
    best = optimize.minimize(
        grouped_likelihood(ordered, step), [ordered.mean(), np.log(deviation)], method="Nelder-Mead"
    )
    assert found == pytest.approx((best.x[0], np.exp(best.x[1])), abs=2e-3 * step)


@pytest.mark.parametrize("values", [[0, 0, 0, 3], [0, 1, 1, 5], [0, 0, 1, 2]])
def test_rounded_values_have_the_law_of_w_that_enumeration_gives(values):
    """Every sample of four rounded normal values with its probability, under the distribution that fits."""
    ordered = np.array(values, dtype=float)
    mean, deviation = _fitted(ordered, 1.0)
    cells = np.arange(np.floor(mean - 6 * deviation), np.ceil(mean + 6 * deviation) + 1)
    shares = np.diff(stats.norm.cdf(np.append(cells - 0.5, cells[-1] + 0.5), mean, deviation))
    samples = np.array(list(combinations_with_replacement(range(cells.size), 4)))
    ways = [factorial(4) / prod(factorial(int(n)) for n in np.bincount(row)) for row in samples]
    chances = np.array(ways) * shares[samples].prod(axis=1)
    assert chances.sum() == pytest.approx(1, abs=1e-6)
    own = float(_statistics(ordered[None, :])[0])
    exact = float(chances[_statistics(cells[samples]) <= own * (1 + 1e-9)].sum())
    found = rounded_tail(ordered, 1.0, own, _statistics)
    assert found == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 1999) + 1 / 2000)


def test_shapiro_wilk_is_scipys_where_ties_are_taken_for_chance():
    random = np.random.default_rng(2)
    for n in (5, 20, 200):
        values = np.sort(np.round(random.normal(size=n), 1))
        assert shapiro_wilk(values, ties=False) == pytest.approx(
            stats.shapiro(values).pvalue, rel=1e-4, abs=1e-7
        )
    drawn = np.sort(random.choice(random.normal(size=300), 300))
    assert shapiro_wilk(drawn) == shapiro_wilk(drawn, ties=False)


def test_rounding_does_not_hide_what_is_not_normal():
    random = np.random.default_rng(3)
    assert shapiro_wilk(np.sort(np.round(random.exponential(10, 60)))) < 0.01
    assert shapiro_wilk(np.sort(np.round(random.normal(100, 1.2, 60)))) > 0.05


def test_steps_are_the_least_ones_between_values_that_differ():
    assert step_of(np.array([0.1, 0.1, 0.3, 0.4, 0.4 + 1e-12])) == pytest.approx(0.1)
    assert step_of(np.array([1.0, 2.0, 4.0])) == 0.0
    assert step_of(np.array([0.0, 0.0, 1e-6, 5.0, 9.0])) == 0.0


ZEROS, SOME = np.zeros(10), np.repeat([0.0, 1.0], [180, 20])


def test_ten_trials_without_a_failure_do_not_differ_from_a_rare_failure():
    """The statistic is Student's with the variance of both samples together; taken for 0, one side's gave p = 3e-6."""
    theirs = stats.ttest_ind(SOME, ZEROS, equal_var=True)
    found = st.difference(ZEROS, SOME)
    assert found.welch.estimate / found.welch.se == pytest.approx(theirs.statistic)
    assert found.p_value > stats.fisher_exact([[10, 0], [180, 20]]).pvalue / 3
    assert found.verdict == "undecided"
    assert found.standard_deviations == pytest.approx((0.0, SOME.std(ddof=1)))
    assert "variance is that of both sides together" in found.reason
    assert st.difference(SOME, ZEROS).p_value == found.p_value
    assert stats.ttest_ind(SOME, ZEROS, equal_var=False).pvalue < 1e-5


def test_a_constant_that_the_other_side_never_has_keeps_its_variance_of_0():
    noisy = np.random.default_rng(1).normal(5, 1, 40)
    found = st.difference(np.full(10, 4.6), noisy)
    assert found.p_value == pytest.approx(stats.ttest_1samp(noisy, 4.6).pvalue)
    assert "together" not in found.reason


def test_as_many_values_or_more_keep_their_own_variance():
    even = np.repeat([0.0, 1.0], [7, 3])
    assert st.difference(ZEROS, even).p_value == pytest.approx(stats.ttest_1samp(even, 0).pvalue)
    assert shared_variance(Moments.of(np.zeros(40)), Moments.of(even), np.zeros(40), even) is None


def test_ranks_judge_such_pairs_as_differences_do():
    groups = [ZEROS, SOME, np.random.default_rng(2).normal(3, 1, 12), np.zeros(5)]
    found = better_p_values(groups, 1)
    assert 2 * found[1, 0] == pytest.approx(st.difference(ZEROS, SOME).p_value)
    assert 2 * found[1, 3] == pytest.approx(st.difference(groups[3], SOME).p_value)
    assert 2 * found[2, 0] == pytest.approx(st.difference(ZEROS, groups[2]).p_value)


def test_treatments_without_a_failure_are_compared_in_pairs_and_together_as_two_sides_are():
    data = {
        "y": np.concatenate([ZEROS, SOME, np.repeat([0.0, 1.0], [36, 4])]),
        "g": np.repeat([0, 1, 2], [10, 200, 40]),
    }
    pair, *_ = st.posthoc(data, "y", "g").rows
    assert pair.difference / pair.standard_error == pytest.approx(
        stats.ttest_ind(SOME, ZEROS, equal_var=True).statistic
    )
    assert st.posthoc(data, "y", "g").rows[2].standard_error == pytest.approx(
        np.sqrt(SOME.var(ddof=1) / 200 + data["y"][-40:].var(ddof=1) / 40)
    )
    two = {name: column[:210] for name, column in data.items()}
    shared = SOME.var(ddof=1) * 199 / 208
    f = SOME.mean() ** 2 / (shared / 10 + SOME.var(ddof=1) / 200)
    assert st.anova(two, "y", "g").rows[0].f == pytest.approx(f)
    assert st.anova(two, "y", "g").rows[0].p_value > 0.2


def koenker(values, sizes):
    """n R² of a regression of squared residuals on treatments."""
    parts = np.split(np.asarray(values, dtype=float), np.cumsum(sizes)[:-1])
    squares = np.concatenate([(part - part.mean()) ** 2 for part in parts])
    groups = [part.mean() for part in np.split(squares, np.cumsum(sizes)[:-1])]
    explained = sum(n * (own - squares.mean()) ** 2 for n, own in zip(sizes, groups, strict=True))
    return squares.size * explained / ((squares - squares.mean()) ** 2).sum()


def test_breusch_pagan_of_tied_values_is_counted_over_their_orders():
    values = [0, 0, 1, 0, 1, 3, 0, 2]
    data = {"y": values, "g": list("aaaabbbb")}
    found = st.assumptions(data, "y", "g").breusch_pagan
    assert found.statistic == pytest.approx(koenker(values, (4, 4)))
    every = {order: koenker(order, (4, 4)) for order in set(permutations(values))}
    exact = np.mean(np.array(list(every.values())) >= found.statistic - 1e-9)
    assert found.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 1999) + 1e-3)


def test_breusch_pagan_without_ties_is_the_chi_squared_one():
    values = np.random.default_rng(1).normal(size=30)
    found = st.assumptions({"y": values, "g": np.repeat([0, 1, 2], 10)}, "y", "g").breusch_pagan
    assert found.p_value == pytest.approx(stats.chi2.sf(koenker(values, (10, 10, 10)), 2))
