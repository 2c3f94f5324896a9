from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.signal import lfilter

from trialwise.statistics.sizing.pilots import long_run_variation, longest_oscillation, startup_samples
from trialwise.statistics.sizing.runtime import combine_pilots, runtime_needed


def generator(seed):
    return np.random.Generator(np.random.PCG64DXSM(seed))


def noise(n, rho=0.0, seed=1):
    drawn = generator(seed).standard_normal(n)
    drawn[1:] *= np.sqrt(1 - rho**2)
    return lfilter([1], [1, -rho], drawn)


def ledbat(duration, seed=1):
    """TriScale, Fig. 4: throughput ramps up during 38 s, then stays at about 92 Mbit/s."""
    t = np.arange(0, duration, 0.1)
    return t, np.minimum(t / 38, 1) * 92 + 3 * noise(t.size, 0.5, seed)


def at(curve, length):
    return int(np.argmin(np.abs(curve.times - length)))


def test_white_noise_needs_what_the_formula_says():
    needs = [runtime_needed(100 + 10 * noise(20_000, seed=seed)).runtime for seed in range(8)]
    # METHODS b: 411 at 10 % noise and 5 % tolerance for many batches; 20 batches take 23 % more.
    assert np.median(needs) == pytest.approx(411 * 1.23, rel=0.15)


def test_correlated_noise_needs_nineteen_times_as_much():
    needs = [runtime_needed(100 + 10 * noise(60_000, 0.9, seed)).runtime for seed in range(6)]
    assert np.median(needs) == pytest.approx(411 * 1.23 * 19, rel=0.25)


def test_half_the_tolerance_needs_four_times_the_length():
    samples = 100 + 10 * noise(30_000)
    ratio = runtime_needed(samples, tolerance=2.5).runtime / runtime_needed(samples).runtime
    assert ratio == pytest.approx(4, rel=0.01)


def test_long_ledbat_pilot_gives_the_ramp_and_a_runtime():
    t, y = ledbat(600)
    result = runtime_needed(y, times=t)
    assert result.startup == pytest.approx(38, abs=2)
    assert result.steady
    assert result.startup + 5 < result.runtime < 120
    assert result.runtime == pytest.approx(result.predicted)
    assert result.startup < result.observed < 120


def test_ledbat_curve_is_figure_4():
    t, y = ledbat(120)
    result = runtime_needed(y, times=t)
    curve = result.curve
    half, full = at(curve, 30), at(curve, 60)
    # "the computed mean throughput is about 40 Mbps, a totally wrong estimation"
    assert curve.values[half] == pytest.approx(38, abs=3)
    assert curve.verdicts[half] == "drifting"
    assert curve.verdicts[full] != "steady"
    assert curve.verdicts_after_startup[full] == "steady"
    assert curve.values_after_startup[full] == pytest.approx(92, abs=1)
    assert curve.values_after_startup[-1] == pytest.approx(92, abs=0.5)


@pytest.mark.parametrize(
    ("duration", "reason"), [(30, "still drifting at the end"), (60, "start-up may last longer")]
)
def test_short_ledbat_pilot_says_run_longer(duration, reason):
    t, y = ledbat(duration)
    result = runtime_needed(y, times=t)
    assert (result.runtime, result.predicted, result.observed, result.steady) == (None, None, None, False)
    assert reason in result.reason
    assert f"run longer than {duration} s" in result.reason


def test_drift_to_the_end_gives_no_runtime():
    result = runtime_needed(100 + 20 * np.linspace(0, 1, 3000) + 5 * noise(3000))
    assert result.runtime is None
    assert "still drifting at the end" in result.reason
    assert "run longer than 3000 samples" in result.reason


def test_a_noisy_short_pilot_is_told_how_long_to_run():
    result = runtime_needed(100 + 10 * noise(1000, 0.9))
    assert not result.steady
    assert result.runtime > 3000
    assert "confirm with a pilot of that length" in result.reason


def test_a_sawtooth_asks_for_ten_periods():
    t = np.arange(0, 300, 0.1)
    result = runtime_needed(80 + 20 * (t % 7) / 7 + noise(t.size), times=t)
    assert result.oscillation == pytest.approx(7, rel=0.01)
    assert result.runtime >= 70
    assert result.steady
    assert "periods of the oscillation of 7" in result.reason


def test_a_pilot_of_few_periods_is_too_short():
    t = np.arange(0, 300, 0.1)
    result = runtime_needed(80 + 20 * (t % 60) / 60 + noise(t.size), times=t)
    assert result.runtime == pytest.approx(600, rel=0.1)
    assert "at least ten periods" in result.reason


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_steady_noise_has_no_startup_and_no_oscillation(rho):
    pilots = [100 + 10 * noise(2000, rho, seed) for seed in range(40)]
    assert sum(bool(startup_samples(pilot)) for pilot in pilots) <= 1
    assert sum(longest_oscillation(pilot) is not None for pilot in pilots[:15]) <= 1


@pytest.mark.parametrize("level", [0.0, 150.0])
def test_startup_below_and_above_the_level(level):
    y = 100 + 5 * noise(2000)
    y[:200] += (level - 100) * np.exp(-np.arange(200) / 60)
    assert 60 <= startup_samples(y) <= 250


def test_percentiles_use_batch_percentiles_and_fifty_samples_a_batch():
    quiet = runtime_needed(100 + 0.01 * noise(5000), measure=95)
    assert quiet.runtime == 20 * 50
    loud = 100 + 10 * noise(200_000)
    # Long-run sd of a normal P95: sqrt(.05 * .95)/phi(1.645) = 2.11 sd, relative to 116.4.
    assert long_run_variation(loud, 95) == pytest.approx(0.181, rel=0.15)


def test_extremes_allow_no_prediction():
    bounded = runtime_needed(100 + generator(3).uniform(-1, 1, 5000), measure="max")
    assert bounded.predicted is None
    assert bounded.runtime == bounded.observed
    assert "extremes allow no prediction" in bounded.reason
    heavy = runtime_needed(generator(3).pareto(2, 5000), measure="max")
    assert heavy.runtime is None
    assert "measure a percentile" in heavy.reason


def test_the_percentiles_0_and_100_are_the_extremes():
    y = 100 + noise(2000)
    for percentile, name in ((0, "min"), (100.0, "max")):
        one, other = runtime_needed(y, measure=percentile), runtime_needed(y, measure=name)
        np.testing.assert_array_equal(one.curve.values, other.curve.values)
        assert (one.runtime, one.predicted) == (other.runtime, None)


def test_times_give_seconds_and_sort():
    y = 100 + 10 * noise(4000)
    t = np.arange(4000) * 0.25
    order = generator(4).permutation(4000)
    plain, timed = runtime_needed(y), runtime_needed(y[order], times=t[order])
    assert timed.runtime == pytest.approx(plain.runtime * 0.25)
    np.testing.assert_allclose(timed.curve.values, plain.curve.values)
    np.testing.assert_allclose(timed.curve.times, 0.25 * plain.curve.times)


def test_curve_ends_with_the_whole_pilot_and_starts_small():
    y = 100 + 10 * noise(3001)
    curve = runtime_needed(y).curve
    assert curve.times[-1] == 3001
    assert curve.times[0] <= 3001 / 50
    assert curve.values[-1] == pytest.approx(y.mean())
    assert len(curve.verdicts) == len(curve.verdicts_after_startup) == curve.times.size


def test_a_start_at_zero_is_cut():
    y = np.concatenate([np.zeros(300), 50 + noise(2000)])
    result = runtime_needed(y)
    assert result.startup == pytest.approx(300, abs=20)
    assert result.steady
    assert result.curve.verdicts[0] == "steady"  # constant so far


def test_constant_and_huge_and_negative():
    assert runtime_needed(np.full(50, 7)).runtime == 20
    assert runtime_needed(np.zeros(50)).steady
    huge = runtime_needed(1.5e308 + 1e306 * noise(2000))
    assert huge.steady
    assert runtime_needed(-100 - 10 * noise(5000)).runtime == runtime_needed(100 + 10 * noise(5000)).runtime


def test_same_input_same_result_and_nothing_changed():
    y = 100 + 10 * noise(1000)
    before = y.copy()
    y.flags.writeable = False
    np.testing.assert_equal(*(dataclasses.asdict(runtime_needed(y)) for _ in range(2)))
    np.testing.assert_array_equal(y, before)


@pytest.mark.parametrize(
    ("samples", "options", "message"),
    [
        ([1, 2, 3], {}, "at least 40"),
        ([1] * 49 + [float("nan")], {}, r"samples\[49\]"),
        ([1] * 50, {"times": [0] * 50}, "same time"),
        ([1] * 50, {"times": [0] * 49}, "one length"),
        ([1] * 50, {"measure": "mode"}, "measure"),
        ([1] * 50, {"measure": 101}, "percentile"),
        ([1] * 50, {"measure": float("nan")}, "percentile"),
        ([1] * 50, {"tolerance": 0}, "tolerance"),
        ([1] * 50, {"confidence": 95.0 + 5}, "confidence"),
        ([1] * 50, {"power": 100}, "power"),
        ([0] * 90 + [1] * 10, {}, "median batch is 0"),
    ],
)
def test_errors_say_which(samples, options, message):
    with pytest.raises(ValueError, match=message):
        runtime_needed(samples, **options)


def test_pilots_combine_to_the_longest_startup_and_the_longest_need():
    t, ramp = ledbat(600)
    quick = runtime_needed(100 + 20 * noise(6000), times=t)
    slow = runtime_needed(ramp, times=t)
    both = combine_pilots([slow, quick])
    assert both.startup == slow.startup
    assert both.runtime == pytest.approx(slow.startup + quick.runtime)
    assert both.steady
    assert "pilot 2 of 2" in both.reason


def test_one_pilot_without_runtime_leaves_none():
    t, ramp = ledbat(30)
    bad, good = runtime_needed(ramp, times=t), runtime_needed(100 + noise(300), times=t)
    both = combine_pilots([good, bad])
    assert both.runtime is None
    assert both.reason.startswith("pilot 2: still drifting")
    with pytest.raises(ValueError, match="no pilot"):
        combine_pilots([])
