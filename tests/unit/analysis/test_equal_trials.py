"""Trials that all gave the same number are called what they are, beside the estimate of their mean."""

import numpy as np
import pytest

from trialwise.analysis.estimation.estimates import estimate
from trialwise.experiment.model import Metric
from trialwise.experiment.sources import ReturnSource

QUEUE = Metric("queue", ReturnSource("queue"))


@pytest.mark.parametrize("values", [[1128.4] * 30, [0.0] * 2, [0.1 + 0.2] * 7])
def test_equal_trials_say_as_much_as_one(values):
    found = estimate(QUEUE, "per_trial", [np.array([value]) for value in values])
    assert f"all {len(values)} trials gave the same number" in found.note
    assert "n = 1 in effect" in found.note


def test_equal_means_of_many_samples_say_as_much_as_one():
    found = estimate(QUEUE, "per_trial", [np.array([0.1, 0.2, 0.7]) for _ in range(30)])
    assert "all 30 trials gave the same number" in found.note


@pytest.mark.parametrize("values", [[5.0], [1128.4] * 29 + [1128.5]])
def test_trials_that_vary_and_a_single_one_say_nothing_of_it(values):
    found = estimate(QUEUE, "per_trial", [np.array([value]) for value in values])
    assert "same number" not in found.note
