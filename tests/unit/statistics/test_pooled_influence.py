"""One number a trial for statistics of all samples: their mean is the statistic, their spread its standard error."""

import numpy as np
import pytest

from trialwise import statistics as st

Array = np.ndarray


def clustered(random: np.random.Generator, trials: int = 300) -> list[Array]:
    return [random.lognormal(random.normal(0, 0.4), 1, random.poisson(30) + 1) for _ in range(trials)]


@pytest.mark.parametrize("percentile", [50, 90, 99])
def test_mean_is_the_quantile_and_spread_its_error(percentile: float) -> None:
    trials = clustered(np.random.default_rng(3))
    values = st.pooled_influence(trials, percentile)
    found = st.pooled_quantile(trials, percentile)
    assert values.mean() == pytest.approx(found.estimate)
    assert values.shape == (300,)
    error = values.std(ddof=1) / np.sqrt(300)
    assert error == pytest.approx((found.high - found.low) / 2 / 1.96, rel=0.25)


def test_of_the_mean_it_is_the_ratio_estimator() -> None:
    trials = clustered(np.random.default_rng(4))
    values, found = st.pooled_influence(trials), st.pooled_mean(trials)
    assert values.mean() == pytest.approx(np.concatenate(trials).mean())
    interval = st.mean_interval(values)
    assert (interval.low, interval.high) == pytest.approx((found.low, found.high), rel=1e-9)


def test_pairs_know_what_trials_have_in_common() -> None:
    random = np.random.default_rng(5)
    shared = clustered(random)
    slower = [1.1 * each * random.lognormal(0, 0.01, each.size) for each in shared]
    a, b = st.pooled_influence(shared, 90), st.pooled_influence(slower, 90)
    paired, apart = st.paired_difference(a, b).welch, st.difference(a, b).welch
    assert paired.low < 0.1 * a.mean() < paired.high
    assert paired.high - paired.low < 0.3 * (apart.high - apart.low)


def test_equal_samples_have_no_influence() -> None:
    np.testing.assert_array_equal(st.pooled_influence([[2.0, 2.0], [2.0]], 90), [2.0, 2.0])
    with pytest.raises(ValueError, match="at least 2"):
        st.pooled_influence([[1.0, 2.0]], 50)
