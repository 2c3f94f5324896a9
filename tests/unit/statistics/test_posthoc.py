"""All pairs of treatments against SciPy, and the studentized range behind them."""

import numpy as np
import pytest
from scipy import stats

from trialwise import statistics as st
from trialwise.statistics.comparing import studentized_range


def groups(sizes, seed=1):
    rng = np.random.default_rng(seed)
    return [rng.normal(place, 1 + 0.7 * place, size) for place, size in enumerate(sizes)]


def table(parts):
    return {"y": np.concatenate(parts), "g": np.repeat(np.arange(len(parts)), [len(part) for part in parts])}


@pytest.mark.parametrize("method", ["games_howell", "tukey"])
@pytest.mark.parametrize("sizes", [[5, 8], [4, 4, 4], [3, 9, 6, 12]])
def test_pairs_agree_with_scipy(method, sizes):
    parts = groups(sizes)
    found = st.posthoc(table(parts), "y", "g", method=method, confidence=90)
    expected = stats.tukey_hsd(*parts, equal_var=method == "tukey")
    interval = expected.confidence_interval(0.9)
    assert len(found.rows) == len(sizes) * (len(sizes) - 1) / 2
    for row in found.rows:
        there = (row.b, row.a)
        assert row.difference == pytest.approx(parts[row.b].mean() - parts[row.a].mean())
        assert row.difference == pytest.approx(expected.statistic[there])
        assert row.p_value == pytest.approx(expected.pvalue[there], abs=1e-7)
        assert (row.low, row.high) == pytest.approx((interval.low[there], interval.high[there]), rel=1e-6)
        assert row.n == (len(parts[row.a]), len(parts[row.b]))


@pytest.mark.parametrize("count", [2, 3, 6, 15, 40])
def test_the_studentized_range_is_scipys(count):
    freedom = np.array([1.0, 1.3, 2.5, 7.0, 31.4, 250.0])
    q = np.array([12.0, 40.0, 2.0, 6.5, 4.0, 9.0])
    assert studentized_range.upper_tail(q, count, freedom) == pytest.approx(
        stats.studentized_range.sf(q, count, freedom), abs=1e-8
    )
    found = studentized_range.critical(0.05, count, freedom)
    assert studentized_range.upper_tail(found, count, freedom) == pytest.approx(np.full(6, 0.05), abs=1e-10)


def test_the_range_of_two_is_the_absolute_t():
    freedom = np.array([1.0, 4.5, 30.0, 1e5])
    t = np.array([5.0, 2.0, 8.0, 3.0])
    assert studentized_range.upper_tail(t * np.sqrt(2), 2, freedom) == pytest.approx(
        2 * stats.t.sf(t, freedom), rel=1e-8
    )


def test_several_factors_are_compared_by_their_treatments():
    data = table(groups([4, 4, 4, 4])) | {"h": np.tile([1, 2], 8)}
    found = st.posthoc(data, "y", ["g", "h"])
    assert found.rows[0].a == (0, 1)
    assert len(found.rows) == 28
    assert found.n == 16


def test_a_treatment_with_one_trial_has_no_interval_and_the_rest_has():
    found = st.posthoc(table(groups([4, 1, 4])), "y", "g")
    assert [np.isnan(row.p_value) for row in found.rows] == [True, False, True]
    assert "2 of 3 pairs have no interval: one of the two has one trial" in found.note
    assert not np.isnan(found.rows[0].difference)
    assert not st.posthoc(table(groups([4, 1, 4])), "y", "g", method="tukey").note


def test_treatments_without_spread_are_not_judged_against_each_other():
    found = st.posthoc({"y": [1, 1, 2, 2, 3, 4], "g": list("aabbcc")}, "y", "g")
    assert [np.isnan(row.low) for row in found.rows] == [True, False, False]
    assert "neither of the two has any spread" in found.note


@pytest.mark.parametrize("method", ["games_howell", "tukey"])
def test_without_repeats_nothing_is_compared(method):
    with pytest.raises(ValueError, match="at least 2 trials"):
        st.posthoc({"y": [1, 2, 3], "g": list("abc")}, "y", "g", method=method)
