"""Convergence tests and the metric of a trial."""

import numpy as np
import pytest
from scipy import stats

from trialwise import statistics as st
from trialwise.statistics.scaling import to_unit_range


def noise(count=2000, seed=1, spread=1.0):
    return np.random.default_rng(seed).normal(0, spread, count)


def test_a_steady_run_converges_and_its_interval_lies_within_the_tolerance():
    result = st.convergence(100 + noise())
    assert result.converged
    assert result.verdict == "steady"
    assert -0.05 <= result.low < result.slope < result.high <= 0.05
    assert (result.warmup, result.n, len(result.batches)) == (0, 2000, 20)


def test_a_ramp_drifts_and_the_slope_is_its_rise_as_a_share_of_the_middle():
    result = st.convergence(np.linspace(90, 110, 2000) + noise())
    assert (result.converged, result.verdict) == (False, "drifting")
    assert result.slope == pytest.approx(0.2, abs=0.01)
    assert "beyond 5 %" in result.reason


def test_noise_that_hides_the_answer_is_inconclusive_and_says_how_much_decides():
    result = st.convergence(100 + noise(200, spread=60))
    assert result.verdict == "inconclusive"
    assert result.length_needed > 2000
    assert str(result.length_needed) in result.reason


def test_a_warm_up_is_cut_and_the_metric_is_that_of_the_rest():
    samples = 100 * np.minimum(np.arange(3000) / 600, 1) + noise(3000)
    metric = st.trial_metric(samples, "mean", convergence={"confidence": 95, "tolerance": 5})
    assert metric.converged
    assert 450 <= metric.convergence.warmup <= 700
    assert metric.value == np.mean(samples[metric.convergence.warmup :])
    assert metric.convergence.batch_starts[0] == metric.convergence.warmup


def test_the_length_of_white_noise_follows_the_formula():
    lengths = [st.convergence(100 + noise(1000, seed, 10)).length_needed for seed in range(60)]
    assert np.median(lengths) == pytest.approx(411, rel=0.15)


def test_the_interval_is_that_of_a_line_with_degrees_of_freedom_reduced_for_correlation():
    values = 100 + np.convolve(noise(2149, spread=10), np.ones(150) / 12, "valid")
    batches = values.reshape(20, 100).mean(axis=1)
    line = stats.linregress(np.arange(20), batches)
    residuals = batches - line.intercept - line.slope * np.arange(20)
    raw = residuals[1:] @ residuals[:-1] / (residuals @ residuals)
    correlation = raw + (1 + 4 * raw) / 20
    assert 0 < correlation < 0.95
    freedom = 20 * (1 - correlation) / (1 + correlation) - 2
    error = line.stderr * np.sqrt(18 / freedom)
    half = stats.t.ppf(0.95, freedom) * error * 20 / np.median(batches)
    result = st.convergence(values, tolerance=90)
    assert result.slope == pytest.approx(line.slope * 20 / np.median(batches))
    assert (result.low, result.high) == pytest.approx((result.slope - half, result.slope + half))


def test_scaling_maps_limits_or_extremes_to_one():
    values = np.array([2.0, 3.0, 6.0])
    assert to_unit_range(values, None).tolist() == [-1.0, -0.5, 1.0]
    assert to_unit_range(values, (0.0, 12.0)).tolist() == pytest.approx([-2 / 3, -0.5, 0.0])
    assert to_unit_range(np.array([-1.7e308, 0.0, 1.7e308]), None).tolist() == [-1.0, 0.0, 1.0]


def test_limits_replace_the_median_as_the_reference():
    drifting = np.linspace(-1, 1, 1000) + noise(1000, spread=0.1)
    assert st.convergence(drifting, limits=(-100, 100)).converged
    assert not st.convergence(drifting, limits=(-2, 2)).converged
    zeros = np.repeat(np.tile([-1.0, 0.0, 1.0, 0.0], 5), 50)
    assert "give limits" in st.convergence(zeros).reason


def test_a_measure_that_is_zero_throughout_has_no_drift():
    samples = np.where(np.arange(2000) % 10 == 0, 5.0, 0.0)
    assert st.trial_metric(samples, 50, convergence={}).converged
    assert st.trial_metric(samples, 50, convergence={}).convergence.slope == 0.0


@pytest.mark.parametrize("method", ["default", "paper"])
def test_constant_values_converge_with_slope_zero(method):
    result = st.convergence(np.full(50, 3.3), method=method)
    assert (result.converged, result.slope, result.low, result.high) == (True, 0.0, 0.0, 0.0)


def test_the_scaling_of_the_paper_makes_units_not_matter():
    values, times = np.cumsum(noise(100)), np.arange(100.0)
    first = st.convergence(values, times=times, method="paper")
    second = st.convergence(7 - 3 * values, times=50 + times / 8, method="paper")
    assert second.slope == pytest.approx(-first.slope)
    assert (second.low, second.high) == pytest.approx((-first.high, -first.low))


def test_a_straight_line_has_slope_one_in_the_paper():
    result = st.convergence(np.arange(10.0), method="paper")
    assert (result.slope, result.low, result.high) == pytest.approx((1, 1, 1))
    assert (result.converged, result.verdict) == (False, "drifting")
    assert st.convergence(np.arange(10.0), limits=(-1000, 1000), method="paper").converged


def test_the_metric_of_the_paper_is_the_median_of_the_windows():
    samples = 100 + noise(1000)
    metric = st.trial_metric(samples, 95, convergence={}, method="paper")
    windows = [np.percentile(samples[int(i * 500 / 100) :][:500], 95) for i in range(100)]
    assert metric.converged
    assert metric.value == np.median(windows)
    assert metric.convergence.batches == tuple(windows)


def test_without_convergence_the_metric_is_that_of_all_samples():
    samples = np.linspace(0, 1, 101)
    for convergence in (None, {"expected": False}, {}):
        metric = st.trial_metric(samples, 95, convergence=convergence, method="paper")
        assert metric.value == np.percentile(samples, 95)
        assert metric.converged is (None if convergence != {} else False)


@pytest.mark.parametrize("measure", ["mean", "median", "min", "max", 50, 99.9, 0.1])
def test_measures_are_those_of_numpy(measure):
    values = noise(1001)
    reduce = {"mean": np.mean, "median": np.median, "min": np.min, "max": np.max}
    expected = reduce[measure](values) if measure in reduce else np.percentile(values, measure)
    assert st.measure_of(values, measure) == expected
    assert st.trial_metric(values, measure).value == expected


@pytest.mark.parametrize("measure", ["average", 0, 100, -1, float("nan"), None])
def test_unknown_measures_are_refused(measure):
    with pytest.raises(ValueError, match="measure"):
        st.measure_of([1, 2], measure)


@pytest.mark.parametrize(
    ("convergence", "message"),
    [
        ({"tolerence": 5}, "tolerence"),
        ({"tolerance": 0}, "tolerance"),
        ({"tolerance": "small"}, "tolerance"),
        ({"confidence": 100}, "confidence"),
        ({"confidence": 50}, "above 50"),
        ({"limits": (3, 1)}, "limits"),
    ],
)
def test_requirements_out_of_range_are_refused(convergence, message):
    with pytest.raises(ValueError, match=message):
        st.trial_metric([1, 2, 3], "mean", convergence=convergence)


@pytest.mark.parametrize(
    ("times", "message"),
    [([1, 2], "2 times for 3"), ([1, 3, 2], r"times\[2\]"), ([1, 2, float("nan")], "NaN")],
)
def test_times_out_of_order_are_refused(times, message):
    with pytest.raises(ValueError, match=message):
        st.convergence([1, 2, 4], times=times)


def test_times_that_are_all_the_same_have_no_slope():
    assert "all times are the same" in st.convergence([1, 2, 4], times=[5, 5, 5], method="paper").reason


def test_theil_sen_goes_through_the_medians():
    line = st.theil_sen([0, 1, 2, 3, 4], [1, 3, 5, 7, 100], 95)
    assert (line.slope, line.intercept) == (2.0, 1.0)
    assert line.low <= 2.0 <= line.high


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1, 2], [1], "at least 2"),
        ([1, 1], [1, 2], "same"),
        ([1, 2, 3], [1, 2], "3 x for 2 y"),
        ([0, 5e-324], [0, 1e308], "double"),
    ],
)
def test_theil_sen_refuses_what_has_no_slope(x, y, message):
    with pytest.raises(ValueError, match=message):
        st.theil_sen(x, y, 95)


@pytest.mark.parametrize("measure", ["mean", "median", "min", "max", 95])
@pytest.mark.parametrize("method", ["default", "paper"])
def test_every_measure_has_a_convergence_test(measure, method):
    samples = 100 + np.clip(noise(), -2, 2)
    result = st.trial_metric(samples, measure, convergence={}, method=method)
    assert result.converged
    assert np.isfinite(result.value)
