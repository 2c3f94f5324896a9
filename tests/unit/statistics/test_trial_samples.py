"""Samples of many trials at once: to the last bit what each trial, or each part, gives by itself."""

import numpy as np
import pytest

from trialwise import statistics as st
from trialwise.statistics.pooled.clusters import Clusters


def drawn(trials=60, seed=5, *, empty=True):
    """Trials of 0 (or 1) to 19 samples, many of them tied."""
    random = np.random.default_rng(seed)
    return [np.round(random.lognormal(size=random.integers(0 if empty else 1, 20)), 1) for _ in range(trials)]


def assert_same(found, trials):
    wanted, got = Clusters.of(trials), found.clusters
    for name in ("ordered", "owners", "weights", "sizes"):
        np.testing.assert_array_equal(getattr(got, name), getattr(wanted, name))
    assert [each.tolist() for each in found] == [each.tolist() for each in trials]


def test_parts_have_the_order_that_sorting_them_gives():
    trials = drawn()
    whole = st.TrialSamples.of(trials)
    assert_same(whole, trials)
    assert_same(whole.first(17), trials[:17])
    assert_same(whole.joined(7), [np.concatenate(trials[at : at + 7]) for at in range(0, 56, 7)])
    assert_same(whole.with_samples(), [each for each in trials if each.size])
    wanted = whole.values < 1.5
    below = [each[each < 1.5] for each in trials]
    assert_same(whole.chosen(wanted), below)
    assert_same(whole.chosen(wanted).first(30).with_samples(), [each for each in below[:30] if each.size])


def test_trials_that_come_later_are_put_between_the_others():
    trials = drawn()
    parts = [st.TrialSamples.of(trials[at : at + 20]).in_order() for at in (0, 20, 40)]
    found = parts[0].followed_by(parts[1]).followed_by(parts[2])
    wanted = Clusters.of(trials)
    for name in ("ordered", "owners", "weights", "sizes"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))


@pytest.mark.parametrize("convention", ["nearest_rank", "linear"])
@pytest.mark.parametrize("measure", ["mean", "median", "min", "max", 27.1, 99.9])
def test_all_trials_at_once_are_each_by_itself(measure, convention):
    trials = drawn(empty=False)
    values = st.trial_metric_values(trials, measure, convention)
    assert values.tolist() == [st.trial_metric(each, measure, convention=convention).value for each in trials]
    if not isinstance(measure, str):
        found = st.trial_measures(trials, measure, convention)
        assert found.tolist() == [st.trial_quantile(each, measure, convention) for each in trials]


def test_means_of_huge_samples_do_not_overflow():
    trials = [np.array([1.5e308, 1.5e308]), np.array([1.0, 2.0])]
    assert st.trial_measures(trials, "mean").tolist() == [1.5e308, 1.5]


def test_what_is_wrong_is_said_of_the_first_trial_that_has_it():
    with pytest.raises(ValueError, match=r"trials\[1\] has 0 numbers"):
        st.trial_measures([np.ones(2), np.empty(0)], "mean")
    chosen = st.TrialSamples.of([np.ones(2), np.array([1.0, np.nan])])
    with pytest.raises(ValueError, match=r"trials\[1\]\[1\] is NaN"):
        _ = chosen.clusters
    assert chosen.chosen(np.isfinite(chosen.values)).clusters.sizes.tolist() == [2, 1]
