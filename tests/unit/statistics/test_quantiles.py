"""Quantile conventions, and when a trial has no quantile of its own."""

from math import ceil

import numpy as np
import pytest

from trialwise import statistics as st


@pytest.mark.parametrize("count", [1, 2, 44, 99, 100, 101])
@pytest.mark.parametrize("percentile", [1, 27.1, 50, 90, 99])
def test_conventions_are_numpys(count, percentile):
    values = np.random.default_rng(count).lognormal(0, 1, count)
    assert st.trial_quantile(values, percentile) == np.quantile(
        values, percentile / 100, method="inverted_cdf"
    )
    linear = st.trial_quantile(values, percentile, "linear")
    assert linear == pytest.approx(np.quantile(values, percentile / 100, method="linear"), rel=1e-14)


def test_the_nearest_rank_is_exact_where_a_double_is_not():
    """27.1 % of 1000 is 271; in doubles 0.271 * 1000 is a little more."""
    assert st.trial_quantile(np.arange(1, 1001), 27.1) == 271


def test_ccevals_equation_7():
    """The smallest response above which fewer than (1 - p) of all lie, where pN is not whole."""
    values = np.random.default_rng(1).permutation(44) + 1.0
    above = [value for value in sorted(values) if np.mean(values > value) < 0.1]
    assert st.trial_quantile(values, 90) == above[0] == ceil(0.9 * 44)


def test_few_samples_have_no_tail_quantile():
    said = st.quantile_refusal(44, 99)
    assert "0.44 samples beyond" in said
    assert "500 samples" in said
    assert "p88.64 or lower" in said
    assert st.quantile_refusal(500, 99) == st.quantile_refusal(44, 99, forced=True) == ""
    assert st.quantile_refusal(499, 99)
    assert "p11.36 or higher" in st.quantile_refusal(44, 1)


def test_what_is_refused():
    with pytest.raises(ValueError, match="convention"):
        st.trial_quantile([1.0], 50, "type 6")
    with pytest.raises(ValueError, match="percentile"):
        st.trial_quantile([1.0], 100)
