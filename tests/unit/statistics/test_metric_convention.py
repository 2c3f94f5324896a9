"""The metric of a trial by another convention of percentiles than the linear one."""

import numpy as np
import pytest

from trialwise.statistics import trial_metric


@pytest.mark.parametrize("percentile", [1, 37.5, 50, 99, 99.9])
def test_the_nearest_rank_is_numpys_inverted_distribution(percentile):
    samples = np.random.default_rng(1).lognormal(size=44)
    found = trial_metric(samples, percentile, convention="nearest_rank").value
    assert found == np.percentile(samples, percentile, method="inverted_cdf")


def test_other_measures_know_no_convention():
    samples = [1.0, 2.0, 4.0, 9.0]
    assert trial_metric(samples, "median", convention="nearest_rank").value == 2
    assert trial_metric(samples, "mean", convention="nearest_rank").value == 4
    assert trial_metric(samples, "max", convention="nearest_rank").value == 9


def test_windows_have_linear_percentiles():
    with pytest.raises(ValueError, match="windows have linear percentiles"):
        trial_metric(range(100), 50, convergence={}, convention="nearest_rank")
