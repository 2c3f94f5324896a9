from __future__ import annotations

import numpy as np
import pytest

from trialwise.statistics.tests.correlogram import correlogram, standardized
from trialwise.statistics.time.timegrid import TimeGrid


def gappy(values, present):
    index = np.flatnonzero(present)
    return TimeGrid(2.0, index - index[0], values[index], regular=True)


def test_without_gaps_it_is_the_textbook_estimate():
    values = np.random.default_rng(1).normal(size=101)
    centred = values - values.mean()
    expected = [centred[: 101 - lag] @ centred[lag:] / (centred @ centred) for lag in range(1, 51)]
    result = correlogram(gappy(values, np.ones(101, dtype=bool)))
    np.testing.assert_allclose(result.values, expected, atol=1e-12)
    np.testing.assert_array_equal(result.lags, 2.0 * np.arange(1, 51))
    np.testing.assert_array_equal(result.pairs, 101 - np.arange(1, 51))
    assert result.threshold == pytest.approx(1.95 / np.sqrt(101))


def test_with_gaps_each_lag_rests_on_the_pairs_that_exist():
    rng = np.random.default_rng(2)
    values, present = rng.normal(size=60), rng.random(60) < 0.6
    present[[0, -1]] = True
    result = correlogram(gappy(values, present))
    centred = (values - values[present].mean()) / values[present].std()
    for lag in range(1, 31):
        both = present[: 60 - lag] & present[lag:]
        assert result.pairs[lag - 1] == both.sum()
        mean = (centred[: 60 - lag] * centred[lag:])[both].mean() if both.any() else 0
        assert result.values[lag - 1] == pytest.approx(mean * (60 - lag) / 60, abs=1e-10)


def test_constant_data_have_no_autocorrelation():
    result = correlogram(gappy(np.full(30, 4.0), np.ones(30, dtype=bool)))
    assert result.lags.size == result.values.size == result.pairs.size == 0


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e307])
def test_standardized_at_any_scale(scale):
    result = standardized(np.array([-9.0, 1.0, 2.0, 9.0]) * scale)
    np.testing.assert_allclose([result.mean(), np.mean(result**2)], [0, 1], atol=1e-12)
