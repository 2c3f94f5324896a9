"""Size and power of the drift test, and whether a predicted runtime keeps its promise (METHODS b)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from trialwise.statistics.sizing.runtime import runtime_needed
from trialwise.statistics.tests.drift import batch_metrics, drift_test, mser5


def generator(seed):
    return np.random.Generator(np.random.PCG64DXSM(seed))


def noise(rng, n, rho):
    drawn = rng.standard_normal(n)
    drawn[1:] *= np.sqrt(1 - rho**2)
    return lfilter([1], [1, -rho], drawn)


def verdict(samples, measure="mean"):
    return drift_test(batch_metrics(samples, measure)).verdict


def shares(repetitions, *, n=1000, rho=0.0, drift=0.0, cv=10.0, measure="mean"):
    """Share of verdicts "steady" and "drifting" of noise about 100 with a drift in percent."""
    rng = generator(1)
    line = 100 + drift * np.linspace(0, 1, n)
    verdicts = [verdict(line + cv * noise(rng, n, rho), measure) for _ in range(repetitions)]
    return verdicts.count("steady") / repetitions, verdicts.count("drifting") / repetitions


def error(repetitions, rate):
    return 3.1 * np.sqrt(rate * (1 - rate) / repetitions)


# METHODS b, "drift TOST steady / drifting" without the cut: expected share of "steady" and of "drifting".
PUBLISHED = [
    ({}, 0.98, 0.0),
    ({"rho": 0.5}, 0.57, 0.0),
    ({"rho": 0.9}, 0.002, 0.0),
    ({"drift": 1, "cv": 1}, 1.0, 0.0),
    ({"drift": 5}, 0.06, 0.02),
    ({"drift": 10}, 0.0, 0.92),
    ({"drift": 10, "rho": 0.9}, 0.0, 0.16),
]


def check_published(repetitions, setting, steady, drifting):
    found = shares(repetitions, **setting)
    for share, expected in zip(found, (steady, drifting), strict=True):
        # METHODS has an error of its own (500 repetitions), which weighs as much again.
        assert abs(share - expected) <= 0.01 + 1.5 * error(min(repetitions, 500), max(expected, 0.02))


@pytest.mark.operating
@pytest.mark.parametrize(("setting", "steady", "drifting"), PUBLISHED)
def test_rates_of_the_drift_test(setting, steady, drifting):
    check_published(250, setting, steady, drifting)


@pytest.mark.operating
@pytest.mark.soak
@pytest.mark.parametrize(("setting", "steady", "drifting"), PUBLISHED)
def test_rates_of_the_drift_test_long(setting, steady, drifting):
    check_published(3000, setting, steady, drifting)


@pytest.mark.operating
@pytest.mark.soak
@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_size_at_the_tolerance_stays_near_five_percent(rho):
    steady, _ = shares(2000, n=4000, rho=rho, drift=5)
    assert steady <= 0.05 + 0.03


@pytest.mark.operating
@pytest.mark.parametrize(("duration", "passes"), [(30, False), (60, False), (120, True), (300, True)])
def test_a_ramp_of_38_seconds_passes_after_the_cut_once_it_is_a_third(duration, passes):
    rng = generator(2)
    ramp = np.minimum(np.linspace(0, duration, 1000) / 38, 1) * 92
    for _ in range(30):
        samples = ramp + 4.6 * noise(rng, 1000, 0.0)
        cut = mser5(samples)
        assert verdict(samples) != "steady"
        assert (cut is not None and verdict(samples[cut:]) == "steady") == passes


def promise(repetitions, rho, pilot, measure="mean"):
    """Share of fresh trials of the predicted length that pass."""
    rng = generator(3)
    passed = 0
    for _ in range(repetitions):
        needed = runtime_needed(100 + 10 * noise(rng, pilot, rho), measure=measure).predicted
        passed += verdict(100 + 10 * noise(rng, int(needed), rho), measure) == "steady"
    return passed


@pytest.mark.operating
def test_a_trial_of_the_predicted_length_passes_four_times_in_five():
    passed = promise(60, 0.0, 5000)
    assert stats.binom.cdf(passed, 60, 0.8) > 0.001
    assert stats.binom.sf(passed - 1, 60, 0.8) > 0.001


@pytest.mark.operating
@pytest.mark.soak
@pytest.mark.parametrize(
    ("rho", "pilot", "measure"),
    [(0.0, 5000, "mean"), (0.5, 10_000, "mean"), (0.9, 60_000, "mean"), (0.0, 40_000, 95)],
)
def test_predictions_keep_their_promise_long(rho, pilot, measure):
    passed = promise(300, rho, pilot, measure)
    assert 0.72 <= passed / 300 <= 0.88
