"""Differences of printed summaries: against SciPy, against the difference of the samples themselves, and under rounding."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from binomial import most
from trialwise import statistics as st
from trialwise.errors import StatisticsError

SIZES = [(2, 2), (5, 9), (10, 10), (30, 7)]


def two(seed, m, n):
    random = np.random.default_rng([seed, m, n])
    return random.normal(20, 1, m), random.normal(21, 3, n)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("confidence", [80, 95, 99])
def test_welch_from_summaries_is_scipys(sizes, confidence):
    a, b = (st.Summary.of(values) for values in two(1, *sizes))
    theirs = stats.ttest_ind_from_stats(b.mean, b.deviation, b.n, a.mean, a.deviation, a.n, equal_var=False)
    found = st.difference_of_summaries(a, b, confidence=confidence)
    assert (found.p_value, found.n) == (pytest.approx(theirs.pvalue), sizes)
    assert found.method == "Welch of printed means"


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("relative", [True, False])
def test_a_summary_says_what_its_sample_says(sizes, relative):
    a, b = two(2, *sizes)
    options = {"margin": 8.0 if relative else 1.5, "relative": relative}
    of_samples = st.difference(a, b, **options)
    found = st.difference_of_summaries(st.Summary.of(a), st.Summary.of(b), **options)
    for field in dataclasses.fields(st.Difference):
        if field.name not in ("hodges_lehmann", "method", "welch", "ratio", "percent"):
            ours, theirs = (getattr(one, field.name) for one in (found, of_samples))
            same = ours == theirs if isinstance(theirs, str | bool | None) else ours == pytest.approx(theirs)
            assert same, field.name
    for one, other in ((found.welch, of_samples.welch), (found.percent, of_samples.percent)):
        assert (one.low, one.estimate, one.high) == pytest.approx((other.low, other.estimate, other.high))
    assert found.hodges_lehmann is None


def test_what_the_last_digit_leaves_open_widens_the_interval():
    exact = st.Summary(10, 9.29, 0.01)
    rounded = dataclasses.replace(exact, rounding=(0.005, 0.005))
    assert exact.cautious_deviation == 0.01
    assert rounded.cautious_deviation == pytest.approx((0.015**2 + 10 * 0.005**2 / 3) ** 0.5)
    other = st.Summary(10, 9.28, 0.02)
    narrow, wide = (st.difference_of_summaries(other, one).welch for one in (exact, rounded))
    assert wide.high - wide.low > narrow.high - narrow.low


@pytest.mark.parametrize("deviation", [0.002, 0.01, 0.1])
def test_intervals_of_rounded_summaries_cover(deviation):
    """Values that vary less than the last printed digit, and more: the 95 % interval holds the difference in 95 % of cases or more."""
    random, missed, runs = np.random.default_rng(5), 0, 1000
    for _ in range(runs):
        mean = random.uniform(1, 2)
        sides = []
        for n in (10, 7):
            values = random.normal(mean, deviation, n)
            printed = round(float(values.mean()), 2), round(float(values.std(ddof=1)), 2)
            sides.append(st.Summary(n, *printed, rounding=(0.005, 0.005)))
        welch = st.difference_of_summaries(*sides).welch
        missed += not welch.low <= 0 <= welch.high
    assert missed / runs <= most(0.05, runs)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 0},
        {"deviation": -1.0},
        {"deviation": float("nan")},
        {"mean": float("inf")},
        {"rounding": (-0.1, 0.0)},
    ],
)
def test_numbers_that_describe_no_sample_are_refused(wrong):
    with pytest.raises(StatisticsError):
        st.Summary(**({"n": 3, "mean": 1.0, "deviation": 1.0} | wrong))


def test_one_value_on_a_side_says_nothing_about_its_spread():
    with pytest.raises(StatisticsError, match="there are 10 and 1"):
        st.difference_of_summaries(st.Summary(10, 1.0, 0.1), st.Summary(1, 1.0, 0.0))
