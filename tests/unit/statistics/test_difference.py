"""The difference of two samples against SciPy and naive computations, its verdicts, and what cannot be told."""

from math import inf, isnan

import numpy as np
import pytest
from scipy import stats

from trialwise import statistics as st
from trialwise.statistics.comparing.fieller import _beyond
from trialwise.statistics.estimates.moments import Pair

SIZES = [(2, 2), (5, 9), (10, 10), (30, 7), (60, 80)]


def two(seed, m, n, *, shift=0.0, spread=1.0, mean=20.0):
    random = np.random.default_rng([seed, m, n])
    return mean + random.normal(size=m), mean + shift + spread * random.normal(size=n)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("confidence", [80, 95, 99])
def test_welch_is_scipys(sizes, confidence):
    a, b = two(1, *sizes, shift=0.5, spread=3)
    theirs = stats.ttest_ind(b, a, equal_var=False)
    bounds = theirs.confidence_interval(confidence / 100)
    found = st.difference(a, b, confidence=confidence)
    assert (found.welch.low, found.welch.high) == pytest.approx((bounds.low, bounds.high))
    assert (found.p_value, found.p_different) == pytest.approx((theirs.pvalue, theirs.pvalue))
    assert found.welch.df == pytest.approx(theirs.df)
    assert found.welch.estimate == pytest.approx(b.mean() - a.mean())
    assert found.n == found.welch.n == sizes
    assert found.standard_deviations == pytest.approx((a.std(ddof=1), b.std(ddof=1)))


@pytest.mark.parametrize("sizes", SIZES)
def test_two_one_sided_tests_are_scipys(sizes):
    a, b = two(2, *sizes, shift=0.3, spread=2)
    found = st.equivalence(a, b, margin=1.5)
    options = {"equal_var": False}
    lower = stats.ttest_ind(b + 1.5, a, alternative="greater", **options).pvalue
    upper = stats.ttest_ind(b - 1.5, a, alternative="less", **options).pvalue
    assert (found.p_lower, found.p_upper) == pytest.approx((lower, upper))
    bounds = stats.ttest_ind(b, a, **options).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((bounds.low, bounds.high))
    assert found.equivalent is bool(max(lower, upper) <= 0.05)


@pytest.mark.parametrize("sizes", SIZES)
def test_a_relative_margin_scales_the_first_sample(sizes):
    """b - (1 ± δ) a is tested as the difference to a sample that is 1 ± δ times as large."""
    a, b = two(3, *sizes, shift=0.3, spread=2)
    found = st.equivalence(a, b, margin=8, relative=True)
    lower = stats.ttest_ind(b, 0.92 * a, alternative="greater", equal_var=False).pvalue
    upper = stats.ttest_ind(b, 1.08 * a, alternative="less", equal_var=False).pvalue
    assert (found.p_lower, found.p_upper) == pytest.approx((lower, upper))
    assert found.equivalent is (found.low >= -8 and found.high <= 8)


@pytest.mark.parametrize("sizes", SIZES[1:])
@pytest.mark.parametrize("mean", [20, 3, -5])
def test_the_ends_of_the_ratio_are_where_welch_just_rejects(sizes, mean):
    a, b = two(4, *sizes, shift=1, spread=2, mean=mean)
    found = st.difference(a, b).ratio
    assert found.bounded
    assert found.estimate == pytest.approx(b.mean() / a.mean())
    assert found.low < found.estimate < found.high
    for end in (found.low, found.high):
        assert stats.ttest_ind(b, end * a, equal_var=False).pvalue == pytest.approx(0.05)


def test_a_ratio_to_what_may_be_0_has_no_bounds():
    """All but an interval of ratios is left, or nothing is ruled out."""
    small = np.array([-1.0, 1.0, 0.2])
    found = st.difference(small, [5.0, 6.0, 5.5]).ratio
    assert (found.low, found.high, found.bounded) == (-inf, inf, False)
    for end in found.excluded:
        assert stats.ttest_ind([5.0, 6.0, 5.5], end * small, equal_var=False).pvalue == pytest.approx(0.05)
    assert st.difference(small, [-5.0, 6.0, 0.5]).ratio.excluded is None
    percent = st.difference(small, [5.0, 6.0, 5.5]).percent
    assert percent.excluded == pytest.approx([100 * (end - 1) for end in found.excluded])


def test_where_the_first_mean_is_known_the_ratio_is_a_scaled_mean():
    b = np.array([5.0, 7.0, 6.5, 6.1])
    found = st.difference([2.0] * 4, b).ratio
    bounds = stats.ttest_1samp(b, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((bounds.low / 2, bounds.high / 2))


@pytest.mark.parametrize("tied", [False, True])
def test_hodges_lehmann_is_the_median_of_all_differences(tied):
    a, b = two(5, 9, 14)
    a, b = (a.round(), b.round()) if tied else (a, b)
    found = st.difference(a, b).hodges_lehmann
    every = np.sort(np.subtract.outer(b, a).ravel())
    assert found.estimate == pytest.approx(np.median(every))
    assert found.method == "exact ranks"
    # Critical value 31 of U for 9 and 14 values at 2.5 %: the 32nd difference from either end.
    assert (found.low, found.high) == pytest.approx((every[31], every[-32]))


@pytest.mark.parametrize(("m", "n"), [(4, 4), (5, 8), (20, 20)])
def test_what_the_ranks_attain_is_counted(m, n):
    a, b = two(6, m, n)
    found = st.difference(a, b).hodges_lehmann
    moved = b - found.low + 1e-9
    below = stats.mannwhitneyu(moved, a, method="exact", alternative="greater").pvalue
    assert found.attained >= 95
    assert below == pytest.approx((1 - found.attained / 100) / 2)


def test_different_is_an_interval_outside_of_the_margin():
    a, b = two(7, 12, 12, shift=4)
    plain = st.difference(a, b)
    edge = plain.welch.low
    assert plain.verdict == "different"
    assert plain.trials_needed == 0
    assert st.difference(a, b, margin=edge * 0.999).verdict == "different"
    near = st.difference(a, b, margin=edge * 1.001)
    assert near.verdict == "undecided"
    assert near.reason.startswith("a difference is there; whether it is more than the margin is undecided")
    assert near.trials_needed > 0
    assert near.p_different == pytest.approx(0.05, rel=0.02)
    percent = plain.percent.low
    assert st.difference(a, b, margin=percent * 0.999, relative=True).verdict == "different"
    assert st.difference(a, b, margin=percent * 1.001, relative=True).verdict == "undecided"


def test_equivalent_needs_a_margin_and_keeps_to_it():
    a, b = two(8, 30, 30)
    inner = st.equivalence(a, b, margin=1)
    edge = max(-inner.low, inner.high)
    assert st.difference(a, b, margin=edge * 1.001).verdict == "equivalent"
    assert st.difference(a, b, margin=edge * 0.999).verdict == "undecided"
    assert st.difference(a, b).verdict == "undecided"
    assert "no margin was given" in st.difference(a, b).reason


def test_a_relative_margin_is_told_in_both_units():
    a, b = two(9, 10, 10)
    found = st.difference(a, b, margin=3, relative=True)
    assert (found.margin, found.margin_percent) == (pytest.approx(0.03 * a.mean()), 3.0)
    assert st.difference(a, b, margin=3).margin_percent is None
    assert st.difference(a, b).margin is None


def test_signs_and_sides_mirror():
    a, b = two(10, 9, 12, shift=0.4)
    one, other = (st.difference(*pair, margin=6, relative=True) for pair in ((a, b), (-a, -b)))
    assert (one.p_equivalent, one.p_different) == pytest.approx((other.p_equivalent, other.p_different))
    assert (one.percent.low, one.percent.high) == pytest.approx((other.percent.low, other.percent.high))
    back = st.difference(b, a)
    assert (back.welch.low, back.hodges_lehmann.high) == pytest.approx(
        (-st.difference(a, b).welch.high, -st.difference(a, b).hodges_lehmann.low)
    )
    assert back.ratio.low == pytest.approx(1 / st.difference(a, b).ratio.high)


@pytest.mark.parametrize("power", [1000, -1000, -1070])
def test_huge_and_tiny_numbers_give_what_others_do(power):
    a, b = (np.ldexp(part, power) for part in two(11, 6, 8))
    plain = st.difference(np.ldexp(a, -power), np.ldexp(b, -power), margin=1.5)
    found = st.difference(a, b, margin=np.ldexp(1.5, power))
    assert (found.verdict, found.trials_needed) == (plain.verdict, plain.trials_needed)
    assert found.p_value == pytest.approx(plain.p_value)
    assert found.welch.low == pytest.approx(np.ldexp(plain.welch.low, power), rel=1e-3)
    assert found.ratio.high == pytest.approx(plain.ratio.high)


def test_the_same_constant_on_both_sides():
    found = st.difference([0.1] * 10, [0.1] * 10)
    assert (found.welch.estimate, found.welch.low, found.welch.high, found.p_value) == (0.0, 0.0, 0.0, 1.0)
    assert (found.verdict, found.trials_needed) == ("undecided", None)
    assert "no value of either side differs from another" in found.reason
    assert st.difference([0.1] * 10, [0.1] * 10, margin=0.01).verdict == "equivalent"


@pytest.mark.parametrize(("n", "decided"), [(2, False), (3, False), (4, True)])
def test_different_constants_are_told_apart_by_ranks(n, decided):
    """Complete separation has the two-sided p-value 2 / (2n choose n)."""
    found = st.difference([1.0] * n, [2.0] * n)
    assert found.verdict == ("different" if decided else "undecided")
    assert found.p_value == pytest.approx({2: 1 / 3, 3: 0.1, 4: 1 / 35}[n])
    assert found.trials_needed == (0 if decided else 4)
    assert (found.welch.low, found.welch.high) == ((1.0, 1.0) if decided else (-inf, inf))
    assert found.ratio.bounded is decided
    pooled = st.difference([1.0] * n, [2.0] * n, judged="pooled")
    assert pooled.trials_needed == max(0, 4 - n)


def test_a_first_mean_of_0_has_no_ratio():
    found = st.difference([0.0] * 5, [1.0, 2.0, 3.0, 2.0, 2.0])
    assert isnan(found.ratio.estimate)
    assert not found.ratio.bounded
    assert found.verdict == "different"
    assert isnan(st.difference([0.0] * 5, [0.0] * 5).percent.estimate)


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (([1.0], [1.0, 2.0]), {}, "a has 1 numbers; at least 2 are needed"),
        (([1.0, 2.0], [3.0]), {}, "b has 1 numbers; at least 2 are needed"),
        (([1.0, np.nan], [1.0, 2.0]), {}, r"a\[1\] is NaN"),
        (([1.0, 2.0], [1.0, 2.0]), {"margin": 0}, "the margin is 0"),
        (([1.0, 2.0], [1.0, 2.0]), {"margin": -3, "relative": True}, "the margin is -3"),
        (([1.0, 2.0], [1.0, 2.0]), {"confidence": 50}, "more than 50"),
        (([1.0, 2.0], [1.0, 2.0]), {"judged": "later"}, "judged is 'later'"),
    ],
)
def test_what_cannot_be_compared(arguments, options, said):
    with pytest.raises(ValueError, match=said):
        st.difference(*arguments, **options)


def test_the_edge_function_is_welchs_test():
    a, b = two(12, 8, 5, spread=3)
    pair = Pair.of(a, b)
    for ratio in (-2.0, 0.5, 0.98, 1.02, 3.0):
        rejected = stats.ttest_ind(b, ratio * a, equal_var=False).pvalue < 0.05
        assert (_beyond(pair.a, pair.b, np.arctan(ratio), 0.05) > 0) == rejected


def test_bills_grow_towards_the_margin_and_with_the_spread():
    pattern = np.linspace(-1, 1, 10)
    bills = [
        st.difference(pattern, pattern + shift, margin=1.0).trials_needed for shift in (0.5, 0.6, 0.7, 0.8)
    ]
    assert bills == sorted(bills)
    assert len(set(bills)) == 4
    wide = st.difference(2 * pattern, 2 * pattern + 0.5, margin=1.0).trials_needed
    assert 3.5 * bills[0] < wide < 4.5 * bills[0]
    assert st.difference(pattern, pattern + 1, margin=1.0).trials_needed is None
    assert "no number up to 10,000" in st.difference(pattern, pattern + 1, margin=1.0).reason


def test_a_bill_for_all_trials_together_is_shorter():
    pattern = np.linspace(-1, 1, 10)
    fresh, pooled = (
        st.difference(pattern, pattern + 0.6, margin=1, judged=judged).trials_needed
        for judged in ("fresh", "pooled")
    )
    assert 0 < pooled < fresh


def test_the_walkthroughs_row_of_a_single_trial():
    found = st.summary_difference([9.0, 10.0, 11.0], [9.5])
    assert (found.n, found.means) == ((3, 1), (10.0, 9.5))
    assert found.percent_difference == pytest.approx(-5)
    assert found.standard_deviations == (pytest.approx((2 / 3) ** 0.5), 0.0)
    assert found.percent_difference_deviation == -100
    assert isnan(st.summary_difference([0.0], [1.0]).percent_difference)


@pytest.mark.parametrize("sizes", SIZES)
def test_an_average_over_one_cell_is_the_sample(sizes):
    a, b = two(31, *sizes, shift=0.5, spread=3)
    options = {"margin": 8, "relative": True}
    alone, averaged = st.difference(a, b, **options), st.difference_of_averages([a], [b], **options)
    assert averaged.hodges_lehmann is None
    for name in ("means", "standard_deviations", "p_value", "p_different", "p_equivalent", "n", "verdict"):
        assert getattr(averaged, name) == pytest.approx(getattr(alone, name))
    assert (averaged.ratio.low, averaged.ratio.high) == pytest.approx((alone.ratio.low, alone.ratio.high))
    assert averaged.trials_needed == alone.trials_needed


def test_an_average_over_unequal_cells_is_welchs_contrast():
    """Worked by hand: variances 1 and 4 of 2 trials, 2.5 of 5 and 1 of 3."""
    a = [[0.0, 2**0.5], [10.0, 10 + 8**0.5]]
    b = [[1.0, 2.0, 3.0, 4.0, 5.0], [10.0, 11.0, 12.0]]
    found = st.difference_of_averages(a, b).welch
    shares = [1 / 2 / 4, 4 / 2 / 4, 2.5 / 5 / 4, 1 / 3 / 4]
    df = sum(shares) ** 2 / (
        shares[0] ** 2 / 1 + shares[1] ** 2 / 1 + shares[2] ** 2 / 4 + shares[3] ** 2 / 2
    )
    assert found.estimate == pytest.approx((3 + 11) / 2 - (2**0.5 / 2 + 10 + 2**0.5) / 2)
    assert (found.se, found.df) == pytest.approx((sum(shares) ** 0.5, df))
    assert found.high - found.estimate == pytest.approx(stats.t.ppf(0.975, df) * sum(shares) ** 0.5)


def test_averages_of_cells_without_spread_are_judged_by_ranks():
    same = st.difference_of_averages([[1, 1, 1, 1], [3, 3, 3, 3]], [[1, 1, 1, 1], [3, 3, 3, 3]], margin=1)
    assert (same.verdict, same.welch.se) == ("equivalent", 0)
    partly = st.difference_of_averages([[1, 1, 1], [3, 3.5, 4]], [[1, 1, 1], [3, 3.5, 4]])
    assert partly.welch.df == pytest.approx(stats.ttest_ind([3, 3.5, 4], [3, 3.5, 4], equal_var=False).df)


def test_averages_of_huge_values_do_not_overflow():
    huge = st.difference_of_averages(
        [[1e308, 1.2e308], [1e308, 1.1e308, 1e308]], [[1e307, 2e307], [1e307, 3e307]]
    )
    assert np.isfinite([huge.welch.low, huge.welch.high, huge.p_value]).all()


@pytest.mark.parametrize(("a", "b", "message"), [([[1, 2], [3]], [[1, 2]], "a"), ([], [[1, 2]], "0 cells")])
def test_averages_take_two_trials_of_each_cell(a, b, message):
    with pytest.raises(ValueError, match=message):
        st.difference_of_averages(a, b)


@pytest.mark.parametrize("mean", [2.0**60, 1e16, 1e300])
def test_a_ratio_that_doubles_cannot_bound_is_a_number(mean):
    """Of numbers that differ in their last places the interval is narrower than doubles lie apart."""
    a, b = mean + np.spacing(mean) * np.arange(9), mean + np.spacing(mean) * np.arange(3, 12)
    found = st.difference(a, b).ratio
    assert (found.low, found.estimate, found.high) == pytest.approx((1, 1, 1))
