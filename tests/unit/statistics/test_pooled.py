"""Estimands of all samples and of trials."""

import numpy as np
import pytest
from scipy import stats

from trialwise import statistics as st
from trialwise.statistics.pooled.clusters import ratio_standard_error
from trialwise.statistics.pooled.quantile import compatible_shares


def drawn(trials=40, seed=1):
    random = np.random.default_rng(seed)
    return [random.lognormal(random.normal(0, 0.3), 1, random.integers(20, 80)) for _ in range(trials)]


def test_shares_are_those_whose_exact_bounds_hold_p():
    low, high = compatible_shares(0.9, 200.0, 0.025)
    upper = stats.binomtest(round(low * 200), 200).proportion_ci(0.95).high
    lower = stats.binomtest(round(high * 200), 200).proportion_ci(0.95).low
    assert (upper, lower) == (pytest.approx(0.9, abs=0.005), pytest.approx(0.9, abs=0.005))
    assert stats.beta.ppf(0.975, low * 200 + 1, 200 * (1 - low)) == pytest.approx(0.9, rel=1e-6)
    assert compatible_shares(0.99, 30.0, 0.025)[1] == 1.0


def test_independent_samples_give_nearly_exact_ranks():
    """One sample a trial: the design effect is 1, and the bounds are binomial ranks, give or take Student for normal."""
    values = np.random.default_rng(2).normal(size=2000)
    found = st.pooled_quantile([[value] for value in values], 90)
    exact = st.percentile_interval(values, 90, 95)
    ordered = np.sort(values).tolist()
    assert found.design_effect == pytest.approx(1, abs=0.01)
    assert abs(ordered.index(found.low) + 1 - exact.low_rank) <= 2
    assert abs(ordered.index(found.high) + 1 - exact.high_rank) <= 2


def test_copies_of_a_sample_are_worth_one():
    values = np.random.default_rng(3).normal(size=300)
    once = st.pooled_quantile([[value] for value in values], 50)
    often = st.pooled_quantile([[value] * 7 for value in values], 50)
    assert (often.estimate, often.low, often.high) == (once.estimate, once.low, once.high)
    assert often.design_effect == pytest.approx(7 * once.design_effect)


def test_the_ratio_estimator_by_hand():
    trials = drawn()
    sums, sizes = np.array([trial.sum() for trial in trials]), np.array([trial.size for trial in trials])
    ratio = sums.sum() / sizes.sum()
    fit = np.mean((sums - ratio * sizes) ** 2) * 40 / 39 / 40 / sizes.mean() ** 2
    found = st.pooled_mean(trials)
    assert found.estimate == pytest.approx(np.concatenate(trials).mean())
    assert found.high - found.estimate == pytest.approx(stats.t.ppf(0.975, 39) * np.sqrt(fit))
    assert ratio_standard_error(sums, sizes) == pytest.approx(np.sqrt(fit))
    assert (found.trials, found.samples) == (40, sizes.sum())


@pytest.mark.parametrize("percentile", [50, 90])
def test_the_bootstrap_agrees(percentile):
    trials = drawn(150)
    delta = st.pooled_quantile(trials, percentile)
    boot = st.pooled_quantile(trials, percentile, method="bootstrap", resamples=800)
    assert (
        boot.estimate
        == delta.estimate
        == np.quantile(np.concatenate(trials), percentile / 100, method="inverted_cdf")
    )
    assert boot.high - boot.low == pytest.approx(delta.high - delta.low, rel=0.25)
    again = st.pooled_quantile(trials, percentile, method="bootstrap", resamples=800)
    assert (boot.low, boot.high) == (again.low, again.high)
    means = st.pooled_mean(trials), st.pooled_mean(trials, method="bootstrap")
    assert means[1].high - means[1].low == pytest.approx(means[0].high - means[0].low, rel=0.15)


def test_a_tail_beyond_the_samples_has_no_upper_bound():
    found = st.pooled_quantile(drawn(10), 99.9)
    assert found.high == np.inf
    assert np.isfinite(found.low)
    assert "trials like these" in found.note


def test_trials_may_be_empty_but_not_all():
    assert st.pooled_quantile([[], [1.0, 2.0], [3.0]], 50).trials == 3
    with pytest.raises(ValueError, match="no trial has a sample"):
        st.pooled_quantile([[], []], 50)
    with pytest.raises(ValueError, match="at least 2"):
        st.pooled_quantile([[1.0]], 50)
    with pytest.raises(ValueError, match=r"trials\[1\]\[0\] is NaN"):
        st.pooled_mean([[1.0], [np.nan]])


def test_the_mean_of_trials_is_students():
    trials = drawn()
    values = [np.quantile(trial, 0.5, method="inverted_cdf") for trial in trials]
    interval = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    found = st.per_trial_mean(trials, "median")
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert (found.convention, found.forced) == ("nearest_rank", False)
    assert st.per_trial_mean(trials, "mean").estimate == pytest.approx(
        np.mean([trial.mean() for trial in trials])
    )


def test_a_quantile_of_few_samples_is_refused_unless_forced():
    with pytest.raises(ValueError, match="or force it"):
        st.per_trial_mean(drawn(), 99)
    forced = st.per_trial_mean(drawn(), 99.9, forced=True)
    assert forced.forced
    assert forced.estimate < 0.7 * st.pooled_quantile(drawn(), 99.9).estimate


def test_a_quantile_whose_tail_is_one_trial_says_so():
    """Half of what lies beyond p90 is of one trial."""
    random = np.random.default_rng(12)
    steady = [random.normal(size=100) for _ in range(19)]
    found = st.pooled_quantile([*steady, random.normal(5, 1, 100)], 90)
    assert "of the samples beyond p90, the largest trial makes" in found.note
    assert st.pooled_quantile([*steady, random.normal(size=100)], 90).note == ""


def test_rare_samples_beyond_a_quantile_that_are_independent_are_no_tail():
    """One sample in a hundred, in trials of ten: numbers beyond it are skewed, and their interval is exact."""
    random = np.random.default_rng(13)
    assert st.pooled_quantile([random.normal(size=10) for _ in range(400)], 99).note == ""
