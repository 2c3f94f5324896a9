from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trialwise.statistics.tests.drift import batch_metrics, drift_test, mser5


def generator(seed):
    return np.random.Generator(np.random.PCG64DXSM(seed))


def test_batches_cover_everything_once_in_nearly_equal_parts():
    parts = batch_metrics(np.arange(1003.0), "max", batches=20)
    assert parts[-1] == 1002
    assert set(np.diff(np.concatenate([[-1], parts]))) == {50, 51}
    with pytest.raises(ValueError, match="19 samples"):
        batch_metrics(np.arange(19.0), "mean")


def test_drift_is_the_ordinary_least_squares_slope():
    metrics = 100 + 0.3 * np.arange(20) + generator(1).normal(size=20)
    result, line = drift_test(metrics), stats.linregress(np.arange(20), metrics)
    assert result.drift == pytest.approx(20 * line.slope / np.median(metrics))
    left = metrics - line.intercept - line.slope * np.arange(20)
    assert result.deviation == pytest.approx(np.sqrt(left @ left / 18) / np.median(metrics))


def test_interval_is_the_textbook_one_where_batches_are_uncorrelated():
    # Alternating residuals: their correlation is negative, which counts as 0.
    metrics = 100 + np.tile([1.0, -1.0], 10)
    result, line = drift_test(metrics), stats.linregress(np.arange(20), metrics)
    assert result.correlation == 0
    reach = 20 * stats.t.ppf(0.95, 18) * line.stderr / 100
    assert (result.high - result.drift, result.drift - result.low) == pytest.approx((reach, reach))


def test_correlated_batches_are_worth_fewer():
    slow = 100 + np.repeat([1.0, -1.0, 1.0, -1.0], 5)
    quick = 100 + np.tile([1.0, -1.0], 10)
    wide, narrow = drift_test(slow), drift_test(quick)
    assert wide.correlation > 0.5
    assert wide.high - wide.low > 3 * (narrow.high - narrow.low)


@pytest.mark.parametrize(
    ("rise", "noise", "verdict"),
    [(1, 0.1, "steady"), (20, 1, "drifting"), (-20, 1, "drifting"), (5, 3, "inconclusive")],
)
def test_verdicts(rise, noise, verdict):
    metrics = 100 + rise * np.linspace(0, 1, 20) + noise * generator(2).normal(size=20)
    for offset in (1, -1):
        assert drift_test(offset * metrics).verdict == verdict


def test_constant_batches_are_steady_even_at_zero():
    for value in (0.0, -3.0, 1.7e308):
        assert drift_test(np.full(20, value)).verdict == "steady"


def test_a_median_of_zero_has_no_relative_tolerance():
    with pytest.raises(ValueError, match="median batch is 0"):
        drift_test(np.array([0.0] * 15 + [1.0] * 5))


def by_the_formula(samples):
    means = samples[: samples.size // 5 * 5].reshape(-1, 5).mean(axis=1)
    half = means.size // 2
    criterion = [np.sum((means[d:] - means[d:].mean()) ** 2) / (means.size - d) ** 2 for d in range(half + 1)]
    best = int(np.argmin(criterion))
    return None if best == half else 5 * best


@pytest.mark.parametrize("seed", range(20))
def test_mser5_minimises_the_published_criterion(seed):
    rng = generator(seed)
    samples = rng.normal(size=int(rng.integers(40, 600))) * 10
    samples[: int(rng.integers(0, samples.size // 2))] += rng.uniform(-40, 40)
    assert mser5(samples) == by_the_formula(samples)


def test_mser5_of_a_ramp_of_38_seconds_in_120():
    # METHODS b: cut 31.5 % where the truth is 31.7 %.
    t = np.linspace(0, 120, 1000)
    ramp = np.minimum(t / 38, 1) * 92
    cuts = [mser5(ramp + 9.2 * generator(seed).normal(size=1000)) for seed in range(50)]
    assert np.mean(cuts) / 1000 == pytest.approx(0.315, abs=0.02)


def test_mser5_says_where_it_cannot_tell():
    assert mser5(np.linspace(0, 1, 300)) is None
    assert mser5(np.arange(10.0)) is None


def test_mser5_cuts_nothing_from_constant_data():
    assert mser5(np.full(101, 0.1)) == 0


@pytest.mark.parametrize("level", [10.0, 0.1, 1e6 / 3])
def test_rounding_does_not_decide_where_the_rest_is_constant(level):
    samples = np.concatenate([np.linspace(0, level, 100, endpoint=False), np.full(300, level)])
    assert mser5(samples) == 100


def test_limits_are_what_the_drift_is_a_share_of():
    metrics = 100 + np.linspace(0, 1, 20)
    by_median, by_limits = drift_test(metrics), drift_test(metrics, limits=(0, 50))
    assert by_limits.level == 25
    assert by_limits.drift == pytest.approx(by_median.drift * by_median.level / 25)
    assert drift_test(np.linspace(-1, 1, 21), limits=(0, 1)).verdict == "drifting"
