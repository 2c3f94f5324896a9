"""Differences between two sides that ran in the same units."""

import numpy as np
import pytest
from scipy import stats

from trialwise import statistics as st
from trialwise.statistics.comparing.signed_ranks import _counts, _normal_coverage, _normal_rank

# Student 1908, extra hours of sleep by two drugs in the same ten patients (R's data set `sleep`).
FIRST = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SECOND = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def test_of_students_sleep():
    found = st.paired_difference(FIRST, SECOND)
    # R: t.test(second, first, paired = TRUE): t = 4.0621, df = 9, p-value = 0.002833, interval 0.7001142 2.4598858
    assert found.welch.estimate == pytest.approx(1.58)
    assert (found.welch.low, found.welch.high) == pytest.approx((0.7001142, 2.4598858), abs=1e-7)
    assert found.welch.df == 9
    assert found.p_value == pytest.approx(0.002833, abs=5e-7)
    assert found.verdict == "different"


def test_equals_scipy():
    rng = np.random.default_rng(5)
    a = rng.normal(10, 3, 12)
    b = a + rng.normal(0.3, 1, 12)
    found = st.paired_difference(a, b, margin=1)
    assert found.p_value == pytest.approx(stats.ttest_rel(b, a).pvalue)
    lower = stats.ttest_1samp(b - a, -1, alternative="greater").pvalue
    upper = stats.ttest_1samp(b - a, 1, alternative="less").pvalue
    assert found.p_equivalent == pytest.approx(max(lower, upper))


def test_the_interval_of_signed_ranks_is_that_of_the_test():
    rng = np.random.default_rng(6)
    d = rng.normal(0.5, 1, 14)
    found = st.paired_difference(np.zeros(14), d).hodges_lehmann
    for bound, side in ((found.low, -1), (found.high, 1)):
        assert stats.wilcoxon(d - (bound + side * 1e-9)).pvalue <= 0.05
        assert stats.wilcoxon(d - (bound - side * 1e-9)).pvalue > 0.05
    assert found.estimate == pytest.approx(np.median([(x + y) / 2 for i, x in enumerate(d) for y in d[i:]]))


def test_a_relative_margin_is_met_by_tests_of_each_pair():
    rng = np.random.default_rng(7)
    a = rng.normal(100, 30, 20)
    b = 1.01 * a + rng.normal(0, 0.5, 20)
    found = st.paired_difference(a, b, margin=3, relative=True)
    assert found.verdict == "equivalent"
    assert found.margin == pytest.approx(0.03 * a.mean())
    lower = stats.ttest_1samp(b - 0.97 * a, 0, alternative="greater").pvalue
    upper = stats.ttest_1samp(b - 1.03 * a, 0, alternative="less").pvalue
    assert found.p_equivalent == pytest.approx(max(lower, upper))
    assert st.difference(a, b, margin=3, relative=True).verdict == "undecided"


def test_fiellers_set_is_where_students_test_does_not_reject():
    rng = np.random.default_rng(8)
    a = rng.normal(10, 2, 9)
    b = 1.2 * a + rng.normal(0, 1, 9)
    ratio = st.paired_difference(a, b).ratio
    for bound in (ratio.low, ratio.high):
        assert stats.ttest_1samp(b - bound * a, 0).pvalue == pytest.approx(0.05)


def test_a_first_side_around_0_has_a_ratio_without_bounds():
    rng = np.random.default_rng(9)
    ratio = st.paired_difference(rng.normal(0, 1, 8), rng.normal(0, 1, 8)).ratio
    assert not ratio.bounded


def test_the_bill_decides():
    rng = np.random.default_rng(10)
    a = rng.normal(50, 20, 6)
    b = a + rng.normal(0.2, 3, 6)
    found = st.paired_difference(a, b, margin=1.5)
    assert found.verdict == "undecided"
    units = found.trials_needed
    decided = 0
    spread, shift = (b - a).std(ddof=1), (b - a).mean()
    for seed in range(400):
        later = np.random.default_rng([10, seed])
        base = later.normal(50, 20, units)
        again = base + later.normal(shift, spread, units)
        decided += st.paired_difference(base, again, margin=1.5).verdict != "undecided"
    assert decided >= 0.85 * 400


def test_a_family_bills_pairs_as_pairs():
    rng = np.random.default_rng(11)
    a = rng.normal(50, 20, 6)
    b = a + rng.normal(0.2, 3, 6)
    one = st.paired_difference(a, b, margin=1.5)
    family = st.difference_family({"only": one})
    assert family.members["only"].trials_needed == one.trials_needed


def test_sides_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match="a has 2 values and b 3"):
        st.paired_difference([1, 2], [1, 2, 3])


def test_a_negative_first_side_is_judged_as_its_mirror_image():
    rng = np.random.default_rng(12)
    a = rng.normal(100, 30, 20)
    b = 1.01 * a + rng.normal(0, 0.5, 20)
    found, mirrored = (st.paired_difference(s * a, s * b, margin=3, relative=True) for s in (1, -1))
    assert found.p_equivalent == mirrored.p_equivalent


def test_the_ratio_alone_is_that_of_the_difference():
    random = np.random.default_rng(3)
    a = random.lognormal(0, 0.5, 40)
    b = a * random.lognormal(0.1, 0.2, 40)
    assert st.paired_ratio(a, b, confidence=90) == st.paired_difference(a, b, confidence=90).ratio
    with pytest.raises(ValueError, match="a pair takes one of each"):
        st.paired_ratio(a, b[1:])


@pytest.mark.parametrize("n", [60, 120])
def test_the_level_of_many_signed_ranks_is_nearly_the_exact_one(n):
    """The normal approximation against the exact law of the sum of ranks (Wilcoxon 1945)."""
    for tail in (0.005, 0.025, 0.1):
        c = _normal_rank(n, tail)
        exact = 1 - 2 * float(np.sum(_counts(n)[:c]) / 2.0**n)
        assert _normal_coverage(n, c) == pytest.approx(exact, abs=2e-3)
        assert exact == pytest.approx(1 - 2 * tail, abs=0.01)


@pytest.mark.parametrize(("shift", "least"), [(1.0, 5), (3.0, 6)])
def test_pairs_that_do_not_vary_need_as_many_as_the_verdict_of_their_signs_does(shift, least):
    """The sign test of n pairs has 0.5^n at least, of both sides twice that: 0.5^5 and 2 · 0.5^6 are below 5 %."""

    def found(pairs):
        return st.paired_difference([10.0] * pairs, [10.0 + shift] * pairs, margin=2.0)

    assert [found(pairs).trials_needed for pairs in range(2, least)] == [least] * (least - 2)
    assert found(least - 1).verdict == "undecided"
    assert found(least).verdict == ("equivalent" if shift < 2 else "different")
