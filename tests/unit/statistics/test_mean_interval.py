"""The mean with its interval against SciPy's, of few numbers by enumeration, and what says that one value makes it wrong."""

import numpy as np
import pytest
from scipy import stats

from trialwise import statistics as st
from trialwise.statistics.online_moments import RunningMoments, heavy_tail


@pytest.mark.parametrize("n", [2, 3, 30])
@pytest.mark.parametrize("confidence", [50, 95, 99.9])
def test_as_scipy_has_it(n, confidence):
    values = np.random.default_rng(n).lognormal(0, 2, n)
    found = st.mean_interval(values, confidence=confidence)
    wanted = stats.ttest_1samp(values, 0).confidence_interval(confidence / 100)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), rel=1e-12)
    assert (found.estimate, found.n, found.confidence) == (values.mean(), n, confidence)


def test_equal_values_have_an_interval_of_no_width():
    found = st.mean_interval([0.1] * 7)
    assert found.low == found.estimate == found.high
    assert found.method == "no interval: all values are equal"


@pytest.mark.parametrize("values", [[], [1.0], [1.0, float("nan")]])
def test_too_few_or_wrong_values_are_refused(values):
    with pytest.raises(ValueError, match="value"):
        st.mean_interval(values)


@pytest.mark.parametrize("n", [5, 10, 20, 60])
@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.9])
def test_of_two_numbers_the_interval_misses_in_at_most_5_percent(n, share):
    """By enumeration of the binomial law; Student's alone in up to 6.8 %. Equal values are no interval."""
    missed = 0.0
    for hits in range(1, n):
        found = st.mean_interval(np.repeat([7.0, 3.0], [hits, n - hits]))
        if not found.low <= 3 + 4 * share <= found.high:
            missed += stats.binom.pmf(hits, n, share)
    assert missed <= 0.05, missed


def test_it_is_the_wider_of_students_and_the_exact_one():
    values = np.repeat([0.0, 1.0], [19, 1])
    found = st.mean_interval(values)
    student = stats.t.interval(0.95, 19, values.mean(), stats.sem(values))
    exact = stats.binomtest(1, 20).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((student[0], exact.high))
    assert found.method.startswith("wider of")


def test_trials_of_one_size_with_two_means_have_the_same_bounds_pooled():
    values = np.repeat([0.0, 1.0], [19, 1])
    pooled, single = st.pooled_mean([np.full(4, value) for value in values]), st.mean_interval(values)
    assert (pooled.low, pooled.high) == pytest.approx((single.low, single.high))


@pytest.mark.parametrize("n", [10, 20, 60, 200])
def test_one_of_normal_values_is_said_to_be_far_in_about_one_of_a_hundred_at_most(n):
    random = np.random.default_rng([44, n])
    found = [heavy_tail(RunningMoments.of(random.normal(size=n))) != "" for _ in range(1000)]
    assert np.mean(found) <= stats.binom.ppf(0.99, 1000, 0.01) / 1000


@pytest.mark.parametrize(("n", "least"), [(20, 0.6), (60, 0.9)])
@pytest.mark.parametrize("sign", [1, -1])
def test_infinite_variance_is_seen(n, least, sign):
    """Pareto(1.3): .70 at n = 20, .97 at n = 60, in either direction."""
    random = np.random.default_rng([45, n])
    found = [heavy_tail(RunningMoments.of(sign * random.pareto(1.3, n))) != "" for _ in range(300)]
    assert np.mean(found) >= least


def test_the_limit_by_chance_is_grubbs():
    """Grubbs' test of n = 20 at 1 %, two-sided: G = 3.001 (Grubbs and Beck 1972, Table I, 0.5 % one-sided)."""
    values = np.append(np.linspace(-1, 1, 19), 0.0)

    def grubbs(far):
        array = np.append(values[:-1], far)
        return (array.max() - array.mean()) / array.std(ddof=1), heavy_tail(RunningMoments.of(array))

    silent = max(g for g, said in map(grubbs, np.linspace(2, 8, 2000)) if not said)
    assert silent == pytest.approx(3.001, abs=0.005)
