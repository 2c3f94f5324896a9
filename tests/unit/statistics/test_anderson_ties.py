"""Anderson and Darling's p-value on tied data: the hypergeometric law, every arrangement, SciPy's permutations."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy import stats

from midranks import MIDRANKS
from trialwise import statistics as st
from trialwise.statistics.pooled.estimates import Pooled
from trialwise.statistics.tests import anderson_ties
from trialwise.statistics.tests.anderson import anderson_darling


def binary(successes, size):
    return np.repeat([0.0, 1.0], [size - successes, successes])


@pytest.mark.parametrize(
    ("first", "m", "second", "n", "right"),
    [(1, 15, 6, 15, 0.0801), (4, 40, 12, 40, 0.0482), (3, 20, 11, 30, 0.1183)],
)
def test_rates_of_success_follow_the_hypergeometric_law(first, m, second, n, right):
    """Two-sided by the statistic itself: of all tables those whose A² is at least the one that was found."""
    found = st.order_effect(binary(first, m), binary(second, n))
    both = first + second
    every = range(max(0, both - n), min(m, both) + 1)
    beyond = [
        own
        for own in every
        if anderson_darling(binary(own, m), binary(both - own, n))[0] >= found.anderson - 1e-9
    ]
    exact = sum(comb(m, own) * comb(n, both - own) for own in beyond) / comb(m + n, both)
    assert found.p_distribution == pytest.approx(exact, rel=1e-9)
    assert found.p_distribution == pytest.approx(right, abs=5e-5)


@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_share_of_all_arrangements(seed):
    random = np.random.default_rng(seed)
    m, n = 4 + seed % 3, 6
    both = random.integers(0, 2 + seed % 4, m + n).astype(float)
    statistic, p_value = anderson_darling(both[:m], both[m:])
    held = [np.isin(np.arange(m + n), chosen) for chosen in combinations(range(m + n), m)]
    beyond = [anderson_darling(both[own], both[~own])[0] >= statistic * (1 - 1e-9) - 1e-12 for own in held]
    assert p_value == pytest.approx(np.mean(beyond), rel=1e-9)


@pytest.mark.parametrize("step", [0.05, 0.5, 2.0])
def test_partial_sums_that_are_put_together_make_it_larger_and_hardly_so(step):
    random = np.random.default_rng(int(100 * step))
    x, y = (np.round(random.normal(size=40) / step) * step for _ in range(2))
    _, p_value = anderson_darling(x, y)
    method = stats.PermutationMethod(6_000, rng=np.random.default_rng(1))
    permuted = stats.anderson_ksamp([x, y], **MIDRANKS, method=method).pvalue
    assert p_value == pytest.approx(permuted, rel=0.05, abs=0.025)


def dealt(pooled, draws, seed):
    """A² of so many deals of the pooled values, by its definition."""
    (m, n), counts = pooled.sizes, pooled.counts
    own = np.random.default_rng(seed).multivariate_hypergeometric(counts.astype(int), m, size=draws)
    upto = np.cumsum(counts) - counts / 2
    beyond = (m + n) * (np.cumsum(own, axis=1) - own / 2) - m * upto
    weights = counts / (upto * (m + n - upto) - (m + n) * counts / 4)
    return (weights * beyond**2).sum(axis=1) * (m + n - 1) / ((m + n) * m * n)


SPREADS = {
    "counts": lambda random, n: random.poisson(2.0, n).astype(float),
    "half of them zero": lambda random, n: np.where(random.random(n) < 0.5, 0.0, random.normal(size=n)),
    "clock": lambda random, n: np.round(random.normal(size=n) * 200),
}


@pytest.mark.parametrize("kind", SPREADS)
@pytest.mark.parametrize(("m", "n"), [(200, 200), (700, 300)])
def test_beyond_what_is_affordable_the_law_of_the_quadratic_form_is_near(kind, m, n):
    random = np.random.default_rng(m)
    pooled = Pooled.of(np.sort(SPREADS[kind](random, m)), np.sort(SPREADS[kind](random, n)))
    assert not anderson_ties._affordable(pooled)
    draws = dealt(pooled, 6_000, 3)
    for share in (0.5, 0.2, 0.05, 0.01):
        at = float(np.quantile(draws, 1 - share))
        beyond = np.mean(draws >= at * (1 - 1e-9))
        assert anderson_ties.tied_tail(pooled, at) == pytest.approx(beyond, rel=0.2)


def test_both_ways_agree_where_both_are_affordable(monkeypatch):
    random = np.random.default_rng(4)
    pooled = Pooled.of(*(np.sort(random.poisson(4.0, 60).astype(float)) for _ in range(2)))
    exact = [anderson_ties.tied_tail(pooled, at) for at in (1.0, 2.5, 4.0)]
    monkeypatch.setattr(anderson_ties, "_MAX_STEPS", 0)
    near = [anderson_ties.tied_tail(pooled, at) for at in (1.0, 2.5, 4.0)]
    assert near == pytest.approx(exact, rel=0.2)


def test_it_does_not_depend_on_which_sample_comes_first():
    x, y = binary(3, 20), binary(11, 30)
    assert anderson_darling(x, y) == pytest.approx(anderson_darling(y, x), rel=1e-9)


def test_equal_samples_and_huge_differences():
    assert anderson_darling(binary(5, 10), binary(5, 10)) == (pytest.approx(0), 1.0)
    assert anderson_darling(np.zeros(30), np.ones(30))[1] == pytest.approx(2 / comb(60, 30), rel=1e-9)
    assert 0 <= anderson_darling(np.repeat([0.0, 1], 3000), np.repeat([2.0, 3], 3000))[1] < 1e-100
