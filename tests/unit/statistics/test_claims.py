"""KPIs and variability scores."""

from fractions import Fraction

import numpy as np
import pytest

from trialwise import statistics as st
from trialwise.statistics.estimates.variability import joint_confidence


def test_a_kpi_is_the_value_at_its_rank():
    values = np.random.default_rng(2).normal(size=59)
    result = st.kpi(values, 95, 95)
    assert (result.value, result.rank, result.bound) == (values.max(), 59, "upper")
    assert result.attained == pytest.approx(100 * (1 - 0.95**59))
    assert (result.interval.percentile, result.interval.bound) == (95.0, "both")
    assert result.independent is result.independence.independent


def test_the_side_of_a_kpi():
    values = range(20)
    assert [st.kpi(values, p, 75).bound for p in (25, 49.9, 50, 75)] == ["lower", "lower", "upper", "upper"]
    assert st.kpi(values, 50, 95, bound="lower").rank == 6
    with pytest.raises(ValueError, match="bound"):
        st.kpi(values, 50, 95, bound="both")


def test_a_kpi_that_cannot_be_had_says_how_many_trials_it_needs():
    result = st.kpi(range(40), 95, 95)
    assert (result.value, result.rank, result.needed) == (None, None, 59)
    assert result.note.startswith("the 95 % upper bound on p95 needs 59 trials; there are 40")


def test_a_failed_independence_test_is_noted_and_changes_no_number():
    values = np.arange(30.0)
    result = st.kpi(values, 75, 95)
    assert "descriptive only" in result.note
    assert result.value == st.kpi(np.random.default_rng(1).permutation(values), 75, 95).value


def test_the_median_range_holds_both_bounds_together():
    result = st.variability([3.0, 1.0, 2.0], 50, 75)
    assert (result.low, result.high, result.score, result.relative) == (1.0, 3.0, 2.0, 1.0)
    assert (result.joint_confidence, result.prediction) == (75.0, 50.0)
    assert st.variability(range(5), 50, 90).joint_confidence == pytest.approx(93.75)


def test_the_quartile_range_holds_each_bound_by_itself():
    """METHODS h: of 75 % each, both together 56 %; a sixth series falls between five with probability 2/3."""
    result = st.variability([5, 4, 1, 2, 3], 75, 75)
    assert (result.low, result.high) == (1.0, 5.0)
    assert result.joint_confidence == pytest.approx(55.66, abs=0.01)
    assert result.prediction == pytest.approx(200 / 3)
    assert st.variability([5, 4, 1, 2, 3], 25, 75).score == result.score


@pytest.mark.parametrize(
    ("percentile", "levels"), [(25, {75: 8, 90: 11, 95: 13}), (10, {75: 20, 90: 29, 95: 35})]
)
def test_series_for_a_joint_confidence(percentile, levels):
    """METHODS h: the number of series from which the extremes hold both percentiles together."""
    for level, expected in levels.items():
        below, enough = (
            joint_confidence(n, 1, n, Fraction(percentile, 100)) for n in (expected - 1, expected)
        )
        assert below < level <= enough


def test_too_few_series_say_how_many_are_needed():
    result = st.variability([1.0, 2.0], 75, 75)
    assert (result.low, result.score, result.needed) == (None, None, 5)
    assert result.note == "the 75 % range from p25 to p75 needs 5 series; there are 2"
    assert "range of the median needs 3 series" in st.variability([1.0, 2.0], 50, 75).note


def test_a_median_of_zero_has_no_relative_score():
    assert st.variability([-1.0, 0.0, 1.0], 50, 75).relative is None
