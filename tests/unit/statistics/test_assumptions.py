"""Turning points, tests of assumptions, resampling."""

import numpy as np
import pytest
from scipy import stats

from trialwise import statistics as st


def test_turning_points_by_hand():
    """Peaks 3, 5 and 9, pits 2 and 0; of seven values 10/3 are expected, with variance 83/90."""
    found = st.turning_points([1, 3, 2, 5, 0, 9, 4])
    assert (found.count, found.n, found.ties) == (5, 7, 0)
    assert (found.expected, found.variance) == pytest.approx((10 / 3, 83 / 90))
    z = (5 - 10 / 3) / np.sqrt(83 / 90)
    assert (found.z, found.p_value) == pytest.approx((z, 2 * stats.norm.sf(z)))


def test_a_value_that_equals_its_neighbour_is_no_turning_point():
    found = st.turning_points([1, 2, 2, 1, 3])
    assert (found.count, found.ties, found.n) == (1, 1, 5)


def test_moments_of_turning_points_are_those_of_all_orders():
    from itertools import permutations

    counts = [st.turning_points(order).count for order in permutations(range(6))]
    found = st.turning_points(range(6))
    assert (np.mean(counts), np.var(counts)) == pytest.approx((found.expected, found.variance))


def test_turning_points_need_three_values():
    with pytest.raises(ValueError, match="at least 3"):
        st.turning_points([1, 2])


def test_normality_of_each_treatment():
    rng = np.random.default_rng(1)
    parts = [rng.normal(size=20), rng.exponential(size=30), np.array([1.0, 2.0])]
    data = {"y": np.concatenate(parts), "g": np.repeat(list("abc"), [20, 30, 2])}
    found = st.assumptions(data, "y", "g")
    assert [one.n for one in found.normality] == [20, 30, 2]
    for one, part in zip(found.normality[:2], parts, strict=False):
        assert one.p_value == pytest.approx(stats.shapiro(part).pvalue, abs=1e-6)
    assert np.isnan(found.normality[2].p_value)


def test_variance_that_differs_is_seen_and_none_is_said():
    rng = np.random.default_rng(2)
    data = {"y": np.concatenate([rng.normal(size=40), rng.normal(0, 5, 40)]), "g": np.repeat([1, 2], 40)}
    assert st.assumptions(data, "y", "g").breusch_pagan.p_value < 1e-4
    flat = st.assumptions({"y": [1, 1, 2, 2], "g": [1, 1, 2, 2]}, "y", "g")
    assert np.isnan(flat.breusch_pagan.p_value)
    assert np.isnan(flat.breusch_pagan_original.p_value)


def test_resampling_draws_with_replacement_and_says_what_it_does():
    values = np.arange(2000.0)
    drawn = st.resampled(values, seed=4)
    assert drawn.size == 2000
    assert set(drawn) <= set(values)
    assert np.unique(drawn).size / 2000 == pytest.approx(1 - np.exp(-1), abs=0.03)
    assert (drawn == st.resampled(values, seed=4)).all()
    assert (drawn != st.resampled(values, seed=5)).any()
    assert st.turning_points(values).p_value < 1e-10 < st.turning_points(drawn).p_value
    assert "28%" in st.RESAMPLING_WARNING
