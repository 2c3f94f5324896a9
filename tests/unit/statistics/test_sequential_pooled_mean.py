"""The mean of all samples, sequentially: against the estimate that is made at once."""

import numpy as np
import pytest

from trialwise import statistics as st


def clusters(n, seed=1):
    random = np.random.default_rng(seed)
    return [random.lognormal(random.normal(0, 0.3), 1, random.integers(5, 60)) for _ in range(n)]


def test_its_interval_is_that_of_the_ratio_estimator_at_the_inner_confidence():
    trials = clusters(30)
    state = st.sequential_pooled_mean(trials, 0.1)
    expected = st.pooled_mean(trials, confidence=96)
    assert (state.n, state.looks, state.estimand) == (30, 1, expected.estimand)
    assert (state.estimate, state.low, state.high) == pytest.approx(
        (expected.estimate, expected.low, expected.high)
    )


def test_it_stops_at_the_first_narrow_look():
    trials = clusters(2000)
    state = st.sequential_pooled_mean(trials, 5)
    assert state.stopped
    assert state.half_width <= state.target
    before = st.sequential_pooled_mean(trials[: state.n - 1], 5)
    assert not before.stopped
    assert state.n == before.next_look


def test_trials_of_one_sample_are_a_plain_mean():
    values = np.random.default_rng(3).normal(10, 1, 50)
    pooled = st.sequential_pooled_mean([[value] for value in values], 0.5)
    plain = st.sequential_mean(values, 0.5)
    assert (pooled.low, pooled.high, pooled.n) == pytest.approx((plain.low, plain.high, plain.n))


def test_no_sample_at_all_is_said():
    with pytest.raises(ValueError, match="no trial has a sample"):
        st.sequential_pooled_mean([[]] * 30, 5)
    with pytest.raises(ValueError, match="is NaN"):
        st.sequential_pooled_mean([[float("nan")]], 5)
