"""Fixed against random order: SciPy's numbers, brute force, edges."""

import numpy as np
import pytest
from scipy import stats

from midranks import MIDRANKS
from trialwise import statistics as st
from trialwise.statistics.comparing.shift import _differences, shift_between
from trialwise.statistics.tests.anderson import _deviation, anderson_darling, limit_tail
from trialwise.statistics.tests.shapiro import shapiro_wilk


def two(seed, m, n, *, tied=False):
    random = np.random.default_rng(seed)
    x, y = random.normal(10, size=m), random.normal(10.5, 1.5, size=n)
    return (x.round(), y.round()) if tied else (x, y)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("m", "n"), [(5, 5), (10, 12), (50, 50), (611, 590)])
def test_kruskal_wallis_and_effect_sizes(m, n, tied):
    x, y = two(m, m, n, tied=tied)
    found, theirs = st.order_effect(x, y, comparisons=4), stats.kruskal(x, y)
    assert (found.h, found.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert found.eta_squared == pytest.approx((theirs.statistic - 1) / (m + n - 2))
    assert found.epsilon_squared == pytest.approx(theirs.statistic / (m + n - 1))
    assert found.percent_difference == pytest.approx(100 * (x.mean() - y.mean()) / x.mean())
    assert found.alpha_corrected == 0.0125
    assert found.significant is bool(theirs.pvalue < 0.0125)
    if not tied:
        assert found.shapiro_fixed == pytest.approx(stats.shapiro(x).pvalue, rel=1e-5, abs=1e-8)
        assert found.shapiro_random == pytest.approx(stats.shapiro(y).pvalue, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("m", "n"), [(5, 9), (10, 10), (49, 31), (300, 280), (2000, 2100)])
def test_differences_are_those_of_all_pairs(m, n, tied):
    x, y = map(np.sort, two(n, m, n, tied=tied))
    every = np.sort(np.subtract.outer(x, y).ravel())
    wanted = [1, 2, every.size // 3, every.size // 2, every.size - 1, every.size]
    assert _differences(x, y, wanted) == pytest.approx(
        [every[rank - 1] for rank in wanted], rel=1e-14, abs=1e-14
    )
    assert shift_between(x, y, 0.95).estimate == pytest.approx(np.median(every), abs=1e-14)


@pytest.mark.parametrize(("m", "n", "rank"), [(5, 5, 3), (10, 10, 24), (7, 20, 35), (4, 4, 1), (8, 8, 14)])
def test_exact_ranks_are_those_of_published_tables(m, n, rank):
    """Tables of Mann and Whitney's U at 2.5 %: the critical value plus one."""
    x, y = np.arange(m) * 1000.0, np.random.default_rng(1).random(n) * 5000
    every = np.sort(np.subtract.outer(x, y).ravel())
    found = shift_between(x, y, 0.95)
    assert (found.low, found.high) == (every[rank - 1], every[-rank])


def test_a_shift_of_three_values_has_no_interval_at_95_percent():
    found = st.order_effect([1, 2, 3], [4, 5, 6]).shift
    assert (found.estimate, found.low, found.high) == (-3, None, None)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("m", "n"), [(8, 8), (20, 7), (50, 60)])
@pytest.mark.filterwarnings("ignore:p-value")
def test_anderson_darling_is_scipys(m, n, tied):
    x, y = two(m * n, m, n, tied=tied)
    statistic, p_value = anderson_darling(x, y)
    method = stats.PermutationMethod(3000, rng=np.random.default_rng(1))
    permuted = stats.anderson_ksamp([x, y], **MIDRANKS, method=method)
    assert (statistic - 1) / _deviation(m, n) == pytest.approx(permuted.statistic)
    assert p_value == pytest.approx(permuted.pvalue, abs=0.03)


def test_tail_of_anderson_darling():
    """Quantiles of the limit: Stephens 1974, case 0."""
    for z, tail in ((1.933, 0.10), (2.492, 0.05), (3.070, 0.025), (3.857, 0.01)):
        assert limit_tail(z) == pytest.approx(tail, rel=0.03)
    assert limit_tail(0.0) == 1.0
    assert limit_tail(8.0) == pytest.approx(limit_tail(8 - 1e-9), rel=0.02)
    assert 0 < limit_tail(40) < 1e-17


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 11, 12, 13, 100, 5000])
@pytest.mark.parametrize("kind", ["normal", "exponential", "uniform"])
def test_shapiro_wilk_is_scipys(n, kind):
    random = np.random.default_rng(n)
    for _ in range(20):
        values = np.sort(getattr(random, kind)(size=n))
        assert shapiro_wilk(values) == pytest.approx(stats.shapiro(values).pvalue, rel=1e-4, abs=1e-7)


def test_shapiro_wilk_where_there_is_none():
    assert np.isnan(
        [shapiro_wilk(np.arange(2.0)), shapiro_wilk(np.ones(9)), shapiro_wilk(np.arange(5001.0))]
    ).all()


def test_a_spread_that_differs_is_found_where_the_location_is_not():
    random = np.random.default_rng(3)
    found = st.order_effect(random.normal(100, 1, 40), random.normal(100, 10, 40))
    assert found.p_value > 0.05
    assert found.p_distribution < 0.001
    assert found.spread_ratio > 5


@pytest.mark.parametrize(
    ("n", "low", "high"),
    [(2, 1, 2), (5, 1, 5), (6, 1, 6), (10, 1, 10), (20, 5, 16), (50, 18, 33), (100, 40, 61)],
)
def test_ranks_of_the_median_after_le_boudec(n, low, high):
    found = st.median_interval(np.arange(1.0, n + 1)[::-1])
    assert (found.low_rank, found.high_rank, found.low, found.high) == (low, high, low, high)
    assert found.median == (n + 1) / 2


def test_other_confidences():
    values = np.arange(100.0)
    widths = [
        interval.high - interval.low
        for interval in (st.median_interval(values, confidence) for confidence in (80, 90, 95, 99))
    ]
    assert widths == sorted(set(widths))
    assert (
        st.order_effect(values, values, ci_confidence=80).fixed_interval.high
        == st.median_interval(values, 80).high
    )


CASES = [
    # fixed, random: six values each, the interval of the median is their range
    ([1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12], 1, 1),
    ([1, 2, 3, 4, 5, 6], [1.5, 2.5, 3.5, 3.6, 5, 6], 2, 2),
    ([1, 2, 2, 2, 2, 10], [9, 11, 11, 11, 11, 12], 3, 3),
    ([0, 3, 3, 3, 3, 4], [3.5, 3.6, 3.6, 3.6, 3.7, 9], 2, 3),
    ([1, 2, 3, 3, 4, 5], [3, 6, 6, 6, 6, 7], 2, 3),
    ([1, 1, 1, 1, 1, 3], [3, 5, 5, 5, 5, 5], 3, 3),
]


@pytest.mark.parametrize(("fixed", "random", "text", "strict"), CASES)
def test_cases(fixed, random, text, strict):
    for one, other in ((fixed, random), (random, fixed)):
        found = st.order_effect(one, other)
        assert (found.case, found.case_strict) == (text, strict)


def test_constant_values():
    found = st.order_effect([5, 5, 5], [5, 5, 5, 5])
    assert (found.h, found.p_value, found.significant, found.p_distribution) == (0, 1, False, 1)
    assert found.eta_squared == -0.2
    assert (found.case, found.case_strict) == (2, 3)
    assert np.isnan(found.spread_ratio)
    assert np.isnan(st.order_effect([0, 0], [1, 2]).percent_difference)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (([1], [1, 2]), {}, "fixed has 1 numbers"),
        (([1, 2], [1, float("nan")]), {}, r"random\[1\] is NaN"),
        (([1, 2], [1, 2]), {"alpha": 1.0}, "alpha is 1.0"),
        (([1, 2], [1, 2]), {"comparisons": 0}, "comparisons are 0"),
        (([1, 2], [1, 2]), {"ci_confidence": 100}, "must lie between"),
    ],
)
def test_refusals(arguments, options, words):
    with pytest.raises(ValueError, match=words):
        st.order_effect(*arguments, **options)
