"""Two stages, and CCEval's rule."""

from math import ceil

import numpy as np
import pytest
from scipy import stats

from trialwise import statistics as st

PILOT = np.random.default_rng(1).normal(50, 5, 20)


def test_the_size_for_a_mean():
    half = stats.t.ppf(0.975, 19) * PILOT.std(ddof=1) / np.sqrt(20)
    found = st.two_stage_size(PILOT, 1.0)
    assert (found.half_width, found.target, found.n) == (pytest.approx(half), 1.0, 20)
    assert found.size == ceil(1.15 * 20 * half**2)
    relative = st.two_stage_size(PILOT, 2, relative=True)
    assert relative.target == pytest.approx(0.02 * PILOT.mean())
    assert relative.size == ceil(1.15 * 20 * (half / relative.target) ** 2)


def test_the_size_for_a_percentile():
    ordered = np.sort(PILOT)
    found = st.two_stage_size(PILOT, 0.5, estimand="median")
    assert found.half_width == pytest.approx((ordered[14] - ordered[5]) / 2)
    assert found.size == ceil(1.15 * 20 * (found.half_width / 0.5) ** 2)
    by_number = st.two_stage_size(PILOT, 0.5, estimand=50)
    assert (by_number.size, by_number.estimand) == (found.size, "p50")


def test_a_size_never_is_too_small_for_its_interval():
    assert st.two_stage_size(PILOT, 1000, estimand="median").size == 6
    assert st.two_stage_size(PILOT, 1000).size == 10
    st.two_stage_interval(PILOT[:6], 1000, estimand="median")


def test_the_interval_is_that_of_a_fixed_number():
    found = st.two_stage_interval(PILOT, 2.0)
    theirs = stats.ttest_1samp(PILOT, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx(tuple(theirs))
    assert found.reached is (found.half_width <= 2)
    assert not st.two_stage_interval(PILOT, 0.1).reached
    ranks = st.percentile_interval(PILOT, 75, 80)
    quartile = st.two_stage_interval(PILOT, 2.0, confidence=80, estimand=75)
    assert (quartile.low, quartile.high, quartile.estimand) == (ranks.low, ranks.high, "p75")


def test_a_pilot_without_spread_asks_for_as_many_again():
    found = st.two_stage_size([3.0] * 20, 0.1)
    assert found.size == 20
    assert "forecasts nothing" in found.note


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([1.0], {}, "needs at least 2"),
        ([1.0] * 5, {"estimand": "median"}, "needs 6 values; there are 5"),
        (range(20), {"estimand": 95}, "needs 72 values; there are 20"),
        (range(20), {"estimand": "mode"}, "allowed: mean, median or a percentile"),
        ([-1.0, 1.0], {"relative": True}, "estimate is 0"),
        (range(20), {"precision": 0}, "precision"),
        (range(20), {"precision": 1e-9}, "would be needed"),
    ],
)
def test_bad_pilots(values, options, message):
    with pytest.raises(ValueError, match=message):
        st.two_stage_size(values, **{"precision": 1.0, **options})


def naive_rule(values, margin, start):
    v = stats.norm.ppf(0.975)
    for n in range(start, len(values) + 1):
        seen = np.asarray(values[:n])
        if v * seen.std(ddof=1) <= margin / 100 * abs(seen.mean()) * np.sqrt(n):
            return n
    return None


def test_large_numbers_size_like_small_ones():
    huge = st.two_stage_size(PILOT * 1e300, 2, relative=True)
    assert huge.size == st.two_stage_size(PILOT, 2, relative=True).size
    assert st.relative_margin_stop(PILOT * 1e300, margin=5).n == st.relative_margin_stop(PILOT, margin=5).n


@pytest.mark.parametrize("start", [2, 3, 20])
@pytest.mark.parametrize("margin", [2, 5, 10])
def test_ccevals_rule_one_trial_at_a_time(start, margin):
    for seed in range(10):
        values = np.random.default_rng(seed).normal(100, 15, 150)
        found = st.relative_margin_stop(values, margin=margin, start=start)
        expected = naive_rule(values, margin, start)
        assert (found.stopped, found.n) == (expected is not None, expected or 150)
        if found.stopped:
            assert found.high - found.low <= 2 * margin / 100 * found.mean * (1 + 1e-12)
        assert found.mean == pytest.approx(values[: found.n].mean())


def test_ccevals_rule_always_warns_and_says_what_is_worse_here():
    values = np.random.default_rng(2).normal(100, 15, 150)
    plain = st.relative_margin_stop(values, margin=1).warning
    assert "two-stage rule" in plain
    assert "here the largest" not in plain
    assert "all equal" in st.relative_margin_stop([5.0] * 20, margin=1).warning
    spiky = [10.0, 10.1, 9.9] * 10 + [100.0]
    assert "largest trial makes 9" in st.relative_margin_stop(spiky, margin=0.1).warning


def test_ccevals_forecast():
    values = np.random.default_rng(3).normal(100, 15, 20)
    found = st.relative_margin_stop(values, margin=1)
    expected = (stats.norm.ppf(0.975) * values.std(ddof=1) / (0.01 * values.mean())) ** 2
    assert (found.stopped, found.forecast) == (False, ceil(expected))
    with pytest.raises(ValueError, match="start"):
        st.relative_margin_stop(values, margin=1, start=1)
    with pytest.raises(ValueError, match="tolerance"):
        st.relative_margin_stop(values, margin=0)
