"""Holm's correction against statsmodels, and by hand."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from trialwise.statistics.comparing.holm import holm


@pytest.mark.parametrize(
    ("given", "expected"),
    [([], []), ([0.03], [0.03]), ([0.04, 0.01, 0.03], [0.06, 0.03, 0.06]), ([0.5, 0.6], [1.0, 1.0])],
)
def test_holm(given, expected):
    assert holm(given) == pytest.approx(expected)


@pytest.mark.parametrize("number", [1, 2, 7, 60])
def test_it_is_that_of_statsmodels(number):
    p_values = np.random.default_rng(number).uniform(0, 0.2, number)
    assert holm(p_values.tolist()) == pytest.approx(multipletests(p_values, method="holm")[1])
