"""Intervals of percentiles and bands of distributions."""

import numpy as np
import pytest

from trialwise import statistics as st


def test_bounds_are_values_at_their_ranks():
    values = np.random.default_rng(3).normal(size=50)
    interval = st.percentile_interval(values, 50, 95)
    assert (interval.low_rank, interval.high_rank) == (18, 33)
    assert (interval.low, interval.high) == (np.sort(values)[17], np.sort(values)[32])
    assert interval.attained == pytest.approx(96.7161, abs=1e-3)
    assert (interval.n, interval.note) == (50, "")


def test_a_bound_not_to_be_had_says_what_lifts_it():
    interval = st.percentile_interval(range(60), 95, 95)
    assert (interval.low_rank, interval.high, interval.high_rank) == (53, None, None)
    assert interval.needed == 72
    assert interval.note == "the 95 % two-sided interval of p95 needs 72 values; there are 60"
    assert st.percentile_interval(range(72), 95, 95).high_rank == 72


def test_a_bound_not_asked_for_is_absent():
    upper = st.percentile_interval(range(59), 95, 95, bound="upper")
    assert (upper.low, upper.low_rank, upper.high, upper.high_rank) == (None, None, 58.0, 59)
    assert upper.attained == pytest.approx(100 * (1 - 0.95**59))
    lower = st.percentile_interval(range(59), 5, 95, bound="lower")
    assert (lower.low, lower.low_rank, lower.high) == (0.0, 1, None)


def test_nothing_to_be_had_has_no_coverage():
    interval = st.percentile_interval([7.0], 50, 95)
    assert (interval.low, interval.high, interval.attained, interval.needed) == (None, None, None, 6)


def test_three_values_hold_the_median_at_75_percent():
    interval = st.percentile_interval([3, 1, 2], 50, 75)
    assert (interval.low_rank, interval.high_rank, interval.attained) == (1, 3, 75.0)


@pytest.mark.parametrize(("percentile", "confidence", "rank"), [(10, 99.99, 4), (20, 80, 1)])
def test_upper_bounds_at_equality(percentile, confidence, rank):
    assert st.percentile_interval(range(rank), percentile, confidence, bound="upper").high_rank == rank
    if rank > 1:
        assert (
            st.percentile_interval(range(rank - 1), percentile, confidence, bound="upper").high_rank is None
        )


def test_the_band_has_the_ranks_of_single_bounds():
    values = np.random.default_rng(4).lognormal(size=200)
    band = st.cdf_band(values, 95)
    assert band.percentiles.tolist() == list(range(2, 100, 2))
    for place in (5, 24, 40):
        percentile = band.percentiles[place]
        assert band.low[place] == st.percentile_interval(values, percentile, 95, bound="lower").low
        assert band.high[place] == st.percentile_interval(values, percentile, 95, bound="upper").high
        assert band.estimate[place] == np.percentile(values, percentile)


def test_the_simultaneous_band_is_where_the_inequality_puts_it():
    values = np.arange(1.0, 101.0)
    band = st.cdf_band(values, 95)
    assert band.epsilon == pytest.approx(0.135810, abs=1e-6)
    middle = band.percentiles.tolist().index(50)
    # The smallest x with F_n(x) - epsilon >= 0.5, and the largest below which F_n + epsilon < 0.5.
    assert band.simultaneous_high[middle] == 64.0
    assert band.simultaneous_low[middle] == 37.0
    assert np.isnan(band.simultaneous_low[0])
    assert np.isnan(band.simultaneous_high[-1])
    assert band.note == "all bounds need 149 values; there are 100"
