"""The gain of blocks against direct computation and against trials that are drawn each by itself."""

import numpy as np
import pytest
from scipy.stats import qmc

from trialwise import statistics as st


def test_gain_is_variance_within_over_that_of_means():
    values = np.array([[1.0, 3.0], [2.0, 6.0], [4.0, 4.0]])
    within = np.mean([2.0, 8.0, 0.0]) / 2
    assert st.block_gain(values.ravel(), 2) == pytest.approx(within / np.var([2.0, 4.0, 4.0], ddof=1))


def test_independent_trials_gain_nothing_and_sobol_points_much():
    random = np.random.default_rng(1)
    assert 0.7 < st.block_gain(random.normal(size=400 * 16), 16) < 1.4
    sobol = [qmc.Sobol(1, rng=np.random.default_rng(seed)).random(16)[:, 0] for seed in range(30)]
    assert st.block_gain(np.concatenate(sobol), 16) > 50


@pytest.mark.parametrize(("number", "size"), [(15, 4), (4, 4), (8, 1)])
def test_no_whole_blocks_are_refused(number, size):
    with pytest.raises(ValueError, match="blocks"):
        st.block_gain(np.arange(float(number)), size)
