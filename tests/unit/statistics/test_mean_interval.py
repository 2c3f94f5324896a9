"""The mean with Student's interval against SciPy's."""

import numpy as np
import pytest
from scipy import stats

from trialwise import statistics as st


@pytest.mark.parametrize("n", [2, 3, 30])
@pytest.mark.parametrize("confidence", [50, 95, 99.9])
def test_as_scipy_has_it(n, confidence):
    values = np.random.default_rng(n).lognormal(0, 2, n)
    found = st.mean_interval(values, confidence=confidence)
    wanted = stats.ttest_1samp(values, 0).confidence_interval(confidence / 100)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), rel=1e-12)
    assert (found.estimate, found.n, found.confidence) == (values.mean(), n, confidence)


def test_equal_values_have_an_interval_of_no_width():
    found = st.mean_interval([0.1] * 7)
    assert found.low == found.estimate == found.high


@pytest.mark.parametrize("values", [[], [1.0], [1.0, float("nan")]])
def test_too_few_or_wrong_values_are_refused(values):
    with pytest.raises(ValueError, match="value"):
        st.mean_interval(values)
