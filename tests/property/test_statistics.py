"""What holds for all data: exact ranks, windows equal to NumPy's, no order where none has a meaning."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from trialwise import statistics as st
from trialwise.statistics.checks import as_percent
from trialwise.statistics.estimates.convergence import paper_windows
from trialwise.statistics.estimates.measures import window_measures
from trialwise.statistics.tests.drift import mser5

percentages = some.one_of(
    some.integers(1, 99).map(float),
    some.sampled_from([0.1, 2.5, 12.5, 25.0, 27.1, 50.0, 75.0, 87.5, 97.5, 99.9]),
    some.floats(0.5, 99.5),
)
# Confidences that binomial tails of few values reach exactly.
dyadic = some.integers(1, 6).flatmap(lambda k: some.integers(1, 2**k - 1).map(lambda j: 100 * j / 2**k))
numbers = some.floats(-1e6, 1e6, allow_subnormal=False)
series = some.lists(some.one_of(numbers, some.integers(-3, 3).map(float)), min_size=1, max_size=60)


def at_least(n, m, p):
    """P(Bin(n, p) >= m) in whole numbers."""
    return sum((comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(m, n + 1)), Fraction(0))


@given(some.integers(1, 25), some.one_of(percentages, some.just(50.0)), some.one_of(percentages, dyadic))
def test_one_sided_ranks_are_the_tightest_that_reach_the_confidence(n, percentile, confidence):
    p, level = as_percent(percentile, "percentile"), as_percent(confidence, "confidence")
    lower = st.percentile_interval(range(1, n + 1), percentile, confidence, bound="lower")
    reaching = [m for m in range(1, n + 1) if at_least(n, m, p) >= level]
    assert lower.low_rank == (max(reaching) if reaching else None)
    upper = st.percentile_interval(range(1, n + 1), percentile, confidence, bound="upper")
    reaching = [u for u in range(1, n + 1) if 1 - at_least(n, u, p) >= level]
    assert upper.high_rank == (min(reaching) if reaching else None)
    assert lower.note == "" or lower.needed > n


@given(some.integers(1, 25), percentages, some.one_of(percentages, dyadic))
def test_both_tails_are_equal_and_the_coverage_is_what_is_said(n, percentile, confidence):
    p, level = as_percent(percentile, "percentile"), as_percent(confidence, "confidence")
    both = st.percentile_interval(range(1, n + 1), percentile, confidence)
    tail = (1 - level) / 2
    low = [m for m in range(1, n + 1) if 1 - at_least(n, m, p) <= tail]
    high = [u for u in range(1, n + 1) if at_least(n, u, p) <= tail]
    assert (both.low_rank, both.high_rank) == (max(low, default=None), min(high, default=None))
    if both.attained is not None:
        covered = at_least(n, both.low_rank or 0, p) - (
            at_least(n, both.high_rank, p) if both.high_rank else 0
        )
        assert both.attained == pytest.approx(float(100 * covered), rel=1e-9)


@given(
    some.one_of(some.integers(5, 95).map(float), some.just(50.0)),
    some.one_of(some.floats(1, 99), dyadic),
    some.integers(0, 3),
)
def test_one_value_less_is_not_enough(percentile, confidence, robustness):
    p, level = as_percent(percentile, "percentile"), as_percent(confidence, "confidence")
    share = p if p < Fraction(1, 2) else 1 - p
    n = st.samples_needed(percentile, confidence, robustness=robustness)
    assert at_least(n, robustness + 1, share) >= level
    assert at_least(n - 1, robustness + 1, share) < level
    two = st.samples_needed(percentile, confidence, robustness=robustness, sides="two")

    def held(n):
        return min(at_least(n, 1 + robustness, share) for share in (p, 1 - p))

    assert held(two) >= (1 + level) / 2
    assert held(two - 1) < (1 + level) / 2


@given(series, percentages, percentages, some.randoms(use_true_random=False))
def test_the_order_of_values_changes_no_bound(values, percentile, confidence, random):
    shuffled = random.sample(values, len(values))
    assert st.percentile_interval(values, percentile, confidence) == st.percentile_interval(
        shuffled, percentile, confidence
    )
    one, other = st.kpi(values, percentile, confidence), st.kpi(shuffled, percentile, confidence)
    assert (one.value, one.rank, one.interval) == (other.value, other.rank, other.interval)
    one, other = (st.variability(each, percentile, confidence) for each in (values, shuffled))
    assert (one.low, one.high, one.score, one.relative) == (
        other.low,
        other.high,
        other.score,
        other.relative,
    )
    one, other = st.cdf_band(values, confidence), st.cdf_band(shuffled, confidence)
    for name in ("estimate", "low", "high", "simultaneous_low", "simultaneous_high"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@given(
    some.lists(some.tuples(some.integers(0, 9), some.integers(-50, 50)), min_size=2, max_size=40), percentages
)
def test_the_order_of_points_changes_no_slope_and_a_line_added_adds_its_slope(points, confidence):
    x, y = (np.array(column, dtype=float) for column in zip(*points, strict=True))
    if len(set(x)) < 2:
        return
    line = st.theil_sen(x, y, confidence)
    assert line == st.theil_sen(x[::-1], y[::-1], confidence)
    assert line.low <= line.slope <= line.high or confidence < 20
    assert st.theil_sen(x, y + 8 * x, confidence).slope == pytest.approx(line.slope + 8, abs=1e-9)


def shaped(shape, count, seed):
    random = np.random.default_rng(seed)
    shapes = {
        "noise": lambda: random.normal(100, 10, count),
        "ties": lambda: random.integers(0, 4, count).astype(float),
        "walk": lambda: random.normal(size=count).cumsum(),
        "sorted": lambda: np.arange(count) / 3,
        "steps": lambda: np.round(random.normal(size=count).cumsum()),
        "outliers": lambda: np.where(random.random(count) < 0.02, 1e12, random.lognormal(size=count)),
        "constant": lambda: np.full(count, 0.1),
    }
    return shapes[shape]()


shapes = some.sampled_from(["noise", "ties", "walk", "sorted", "steps", "outliers", "constant"])


@given(shapes, some.integers(2, 4000), some.integers(0, 10**6), percentages)
@settings(max_examples=60, deadline=None)
def test_window_percentiles_are_those_of_numpy_to_the_last_bit(shape, count, seed, percentile):
    values = shaped(shape, count, seed)
    starts, ends = paper_windows(count)
    expected = [np.percentile(values[a:b], percentile) for a, b in zip(starts, ends, strict=True)]
    assert window_measures(values, starts, ends, percentile).tolist() == expected


@given(shapes, some.integers(2, 4000), some.integers(0, 10**6), some.sampled_from(["mean", "min", "max"]))
@settings(max_examples=60, deadline=None)
def test_window_means_and_extremes_are_those_of_numpy(shape, count, seed, measure):
    values = shaped(shape, count, seed)
    starts, ends = paper_windows(count)
    reduce = {"mean": np.mean, "min": np.min, "max": np.max}[measure]
    expected = np.array([reduce(values[a:b]) for a, b in zip(starts, ends, strict=True)])
    allowed = 1e-14 * np.abs(values).max() if measure == "mean" else 0
    np.testing.assert_allclose(window_measures(values, starts, ends, measure), expected, rtol=0, atol=allowed)


@given(
    shapes,
    some.integers(1, 400),
    some.integers(0, 10**6),
    some.sampled_from(["default", "paper"]),
    some.floats(0.1, 200),
)
@settings(deadline=None)
def test_a_run_converges_just_when_the_interval_lies_within_the_tolerance(
    shape, count, seed, method, tolerance
):
    result = st.convergence(shaped(shape, count, seed), tolerance=tolerance, method=method)
    inside = result.low is not None and max(-result.low, result.high) <= tolerance / 100
    assert result.converged == inside == (result.verdict == "steady")
    assert result.converged == (result.reason == "")


@given(some.lists(some.integers(-100, 100), min_size=20, max_size=120))
def test_the_warm_up_is_where_the_standard_error_of_the_rest_is_least(values):
    array = np.array(values, dtype=float)
    if len(set(values)) < 2:
        return
    means = array[: array.size // 5 * 5].reshape(-1, 5).mean(axis=1)
    errors = [np.var(means[cut:]) / (means.size - cut) for cut in range(means.size // 2 + 1)]
    found = mser5(array)
    best = means.size // 2 if found is None else found // 5
    assert errors[best] == pytest.approx(min(errors), rel=1e-9, abs=1e-12)


@given(some.lists(some.integers(0, 30), min_size=5, max_size=30))
@settings(deadline=None)
def test_a_reversed_series_is_as_independent_and_p_values_are_probabilities(values):
    one, other = st.independence(values), st.independence(values[::-1])
    if len(set(values)) == 1:
        assert one.independent is None
        return
    assert 0 < one.p_value <= 1
    assert one.p_trend == pytest.approx(other.p_trend, abs=0.03)
    assert one.p_lag1 == pytest.approx(other.p_lag1, abs=0.03)
    assert np.abs(one.autocorrelation).max() <= 1 + 1e-12
    assert one.autocorrelation.sum() == pytest.approx(-0.5)
