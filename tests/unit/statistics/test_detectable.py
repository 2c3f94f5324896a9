"""The smallest difference that can be seen, and exact intervals of shares."""

import numpy as np
import pytest
from scipy.stats import binomtest, chi2, nct, t

from trialwise import statistics as st


# Cohen's d of a two-sided t test at 5 % with a power of 90 %; n = 20 and 64 as G*Power 3.1 has them.
@pytest.mark.parametrize(("n", "expected"), [(20, 1.0520), (64, 0.5776)])
def test_two_samples_as_published(n, expected):
    assert st.detectable_difference(1.0, 10, n).difference == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("n", [2, 5, 30, 1000])
def test_the_power_is_what_was_asked_for(n, paired):
    found = st.detectable_difference(3.0, 10, n, confidence=99, power=80, paired=paired)
    df = n - 1 if paired else 2 * n - 2
    centre = found.difference / (3.0 * np.sqrt((1 if paired else 2) / n))
    assert nct.sf(t.ppf(0.995, df), df, centre) == pytest.approx(0.8, abs=1e-5)


def test_bounds_are_those_of_the_deviation():
    found = st.detectable_difference(2.0, 15, 8)
    assert found.low == pytest.approx(found.difference * np.sqrt(15 / chi2.ppf(0.975, 15)))
    assert found.high == pytest.approx(found.difference * np.sqrt(15 / chi2.ppf(0.025, 15)))


@pytest.mark.parametrize(("deviation", "df", "n"), [(-1, 3, 5), (np.nan, 3, 5), (1, 0, 5), (1, 3, 1)])
def test_what_cannot_be_is_refused(deviation, df, n):
    with pytest.raises(ValueError, match="expected"):
        st.detectable_difference(deviation, df, n)


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (3, 40), (0, 200), (57, 1000)])
@pytest.mark.parametrize("confidence", [80, 95, 99])
def test_shares_as_scipy_has_them(hits, n, confidence):
    found = st.proportion(hits, n, confidence=confidence)
    expected = binomtest(hits, n).proportion_ci(confidence / 100, "exact")
    assert (found.low / 100, found.high / 100) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize(("hits", "n"), [(0, 0), (-1, 3), (4, 3)])
def test_shares_that_cannot_be_are_refused(hits, n):
    with pytest.raises(ValueError, match="expected"):
        st.proportion(hits, n)
