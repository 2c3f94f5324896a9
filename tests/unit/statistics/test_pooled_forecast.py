"""How uncertain the forecast of a pooled quantile is, against what it scatters."""

from fractions import Fraction

import numpy as np
import pytest

from trialwise.statistics.pooled.clusters import Clusters
from trialwise.statistics.pooled.forecast import forecast_spread
from trialwise.statistics.pooled.quantile import clustered_quantile
from trialwise.statistics.sequential.sampling import lognormal_factors

LEVEL, REACH = Fraction(96, 100), 2.07


def estimated(percentile, n, random, draw):
    trials = [draw(random, 1 + random.poisson(40)) for _ in range(n)]
    clusters, p = Clusters.of(trials), Fraction(str(percentile)) / 100
    return clusters, p, clustered_quantile(clusters, p, LEVEL, REACH, "nearest_rank")


def lognormal(random, size):
    return random.lognormal(0.3 * random.normal(), 1, size)


@pytest.mark.parametrize(("percentile", "n"), [(50, 100), (90, 100), (99, 100), (99, 400)])
def test_it_is_what_forecasts_scatter(percentile, n):
    random = np.random.default_rng([4, percentile, n])
    numbers, told = [], []
    for _ in range(150):
        clusters, p, found = estimated(percentile, n, random, lognormal)
        half = (found.high - found.low) / 2
        numbers.append(2 * np.log(half / found.estimate))
        told.append(forecast_spread(clusters, p, found, REACH, half, relative=True))
    assert np.sqrt(np.mean(np.square(told))) == pytest.approx(np.std(numbers), rel=0.35)


def test_a_tail_is_less_certain_than_the_middle_and_more_trials_help():
    random = np.random.default_rng(5)

    def spread(percentile, n):
        clusters, p, found = estimated(percentile, n, random, lognormal)
        target = (found.high - found.low) / 4
        return forecast_spread(clusters, p, found, REACH, target, relative=True)

    assert spread(50, 100) < spread(99, 100)
    assert spread(99, 1600) < spread(99, 100)


def test_an_absolute_width_does_not_ask_for_the_estimate():
    clusters, p, found = estimated(99, 100, np.random.default_rng(6), lognormal)
    half = (found.high - found.low) / 2
    relative, absolute = (
        forecast_spread(clusters, p, found, REACH, half, relative=each) for each in (True, False)
    )
    assert relative**2 - absolute**2 == pytest.approx(4 * (half / REACH / found.estimate) ** 2)


def test_a_slope_that_changes_inside_of_the_interval_widens_it():
    """A density that falls to a hundredth above the median: the wide interval says nothing of the narrow one."""

    def kinked(random, size):
        ranks = random.random(size)
        return np.where(ranks < 0.51, ranks, 0.51 + 100 * (ranks - 0.51)) + 10

    clusters, p, found = estimated(50, 60, np.random.default_rng(7), kinked)
    half = (found.high - found.low) / 2
    here, far = (
        forecast_spread(clusters, p, found, REACH, target, relative=True) for target in (half, half / 10)
    )
    assert far > 2 * here


def test_samples_that_are_all_tied_do_not_break_it():
    clusters, p, found = estimated(50, 50, np.random.default_rng(8), lambda random, size: np.full(size, 3.0))
    assert np.isfinite(forecast_spread(clusters, p, found, REACH, 1.0, relative=True))


def test_factors_of_a_logarithm():
    assert lognormal_factors(0.5) == pytest.approx((np.exp(-0.98), np.exp(0.98)), rel=1e-4)
