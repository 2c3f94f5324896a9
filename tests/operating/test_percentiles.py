"""Coverage of intervals, bounds and bands."""

import numpy as np
import pytest
from scipy.special import ndtri

from trialwise import statistics as st

pytestmark = pytest.mark.operating
repeated = pytest.mark.parametrize("repetitions", [6000, pytest.param(200_000, marks=pytest.mark.soak)])

DRAWS = {
    "normal": (lambda random, shape: random.normal(size=shape), ndtri),
    "exponential": (lambda random, shape: random.exponential(size=shape), lambda p: -np.log1p(-p)),
    "uniform": (lambda random, shape: random.random(shape), lambda p: p),
}


@repeated
@pytest.mark.parametrize("count", [6, 10, 20, 50, 100])
@pytest.mark.parametrize("percentile", [50, 75, 90, 95])
def test_intervals_cover_what_they_say_and_at_least_what_is_asked(percentile, count, repetitions):
    random = np.random.default_rng([percentile, count])
    interval = st.percentile_interval(range(1, count + 1), percentile, 95)
    for draw, quantile in DRAWS.values():
        rows = np.sort(draw(random, (repetitions, count)), axis=1)
        true = quantile(percentile / 100)
        low = rows[:, interval.low_rank - 1] <= true if interval.low_rank else True
        high = rows[:, interval.high_rank - 1] >= true if interval.high_rank else True
        spread = np.sqrt(0.05 * 0.95 / repetitions)
        assert np.mean(low & high) == pytest.approx(interval.attained / 100, abs=4 * spread)
    assert interval.attained >= 95


@repeated
@pytest.mark.parametrize(("mean", "median"), [(1, 1), (3, 3)])
def test_closed_intervals_keep_their_coverage_on_ties(mean, median, repetitions):
    """METHODS a: at least .99 on Poisson counts, where half-open and open intervals fall below .95."""
    rows = np.sort(np.random.default_rng(mean).poisson(mean, (repetitions, 30)), axis=1)
    interval = st.percentile_interval(range(1, 31), 50, 95)
    low, high = rows[:, interval.low_rank - 1], rows[:, interval.high_rank - 1]
    assert np.mean((low <= median) & (median <= high)) >= 0.985
    assert np.mean((low < median) & (median < high)) < 0.95


@repeated
def test_the_smallest_sample_reaches_the_confidence_and_one_less_does_not(repetitions):
    random = np.random.default_rng(17)
    count = st.samples_needed(90, 90)
    reached = [np.mean(random.random((repetitions, n)).max(axis=1) >= 0.9) for n in (count - 2, count)]
    assert reached[1] >= 0.9 - 3 * np.sqrt(0.09 / repetitions)
    assert reached[0] < reached[1]
    assert reached[1] == pytest.approx(1 - 0.9**count, abs=4 * np.sqrt(0.09 / repetitions))


def test_the_simultaneous_band_holds_everywhere_together_and_single_bounds_do_not():
    random = np.random.default_rng(23)
    true = np.arange(0.02, 0.99, 0.02)
    together, single = [], []
    for _ in range(400):
        band = st.cdf_band(random.random(150), 90)
        below = np.where(np.isnan(band.simultaneous_low), -np.inf, band.simultaneous_low) <= true + 1e-12
        above = np.where(np.isnan(band.simultaneous_high), np.inf, band.simultaneous_high) >= true - 1e-12
        together.append((below & above).all())
        single.append(np.where(np.isnan(band.low), -np.inf, band.low) <= true)
    assert np.mean(together) >= 0.9 - 3 * np.sqrt(0.09 / 400)
    assert np.mean(single, axis=0).min() >= 0.9 - 4 * np.sqrt(0.09 / 400)
    assert np.mean(np.all(single, axis=1)) < 0.85


def test_sens_interval_covers_the_slope_of_independent_points():
    random = np.random.default_rng(5)
    x = np.arange(40.0)
    lines = [st.theil_sen(x, 0.3 * x + random.standard_t(3, 40), 90) for _ in range(800)]
    assert np.mean([line.low <= 0.3 <= line.high for line in lines]) == pytest.approx(0.9, abs=0.035)
