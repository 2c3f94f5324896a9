"""How often intervals with control variates hold, with a good engine and with one that says nothing of the trials.

Lists of Poisson flows over two links in a row, first come first served: the good engine knows the first one only, and takes it for a
fifth faster; the worthless one has the times of other lists. Means of the controls come from lists of their own.
"""

import logging
import os

import numpy as np
import pytest

from binomial import least
from trialwise import statistics as st
from trialwise.analysis.estimation.level_choice import lists_that_pay

pytestmark = pytest.mark.operating
FLOWS, LISTS, KNOWN = 40, 200, 1000
REPETITIONS = int(os.environ.get("REPETITIONS", "150"))


def served(arrivals, services):
    """Leave times of flows that a link serves in turn, shape (lists, flows)."""
    leaves = np.empty_like(arrivals)
    free = np.zeros(len(arrivals))
    for flow in range(arrivals.shape[1]):
        free = np.maximum(arrivals[:, flow], free) + services[:, flow]
        leaves[:, flow] = free
    return leaves


def drawn(random, lists):
    """Completion times of lists, true and by the engine, each with as many flows: shape (lists, flows)."""
    arrivals = np.cumsum(random.exponential(1, (lists, FLOWS)), axis=1)
    services = 0.6 * random.lognormal(-0.5, 1, (lists, FLOWS))
    first = served(arrivals, services)
    return served(first, 0.8 * services) - arrivals, served(arrivals, services / 1.2) - arrivals


@pytest.mark.parametrize("percentile", [None, 90.0])
@pytest.mark.parametrize("worthless", [False, True])
def test_intervals_hold_whatever_the_engine_says(percentile, worthless):
    random = np.random.default_rng(31)

    def statistic(samples):
        return samples.mean() if percentile is None else np.percentile(samples, percentile)

    truth = statistic(drawn(random, 40_000)[0])
    level = statistic(drawn(random, 4000)[1])
    held, gains = 0, []
    for _ in range(REPETITIONS):
        times, engine = drawn(random, LISTS + KNOWN)
        if worthless:
            engine = np.roll(engine, 1, axis=0)
        own = (engine - level if percentile is None else (engine > level) - (1 - percentile / 100)).sum(
            axis=1
        )
        trials, x, mean = list(times[:LISTS]), own[:LISTS], own[LISTS:].mean()
        if percentile is None:
            found = st.control_variates(st.pooled_influence(trials), x, mean, surrogate_trials=KNOWN)
        else:
            found = st.control_variates_quantile(trials, percentile, x, mean, surrogate_trials=KNOWN)
        held += found.controlled.low <= truth <= found.controlled.high
        gains.append(found.gain)
    assert held / REPETITIONS >= least(0.95, REPETITIONS)
    assert (0.95 < np.median(gains) < 1.05) if worthless else (np.median(gains) > 2)


@pytest.mark.parametrize("percentile", [None, 90.0])
@pytest.mark.parametrize("worthless", [False, True])
def test_differences_of_schemes_hold_with_controls(percentile, worthless):
    """The second scheme's other link is slower by a quarter; the engines know a part of it, of each scheme one."""
    random = np.random.default_rng(77)

    def both(lists):
        arrivals = np.cumsum(random.exponential(1, (lists, FLOWS)), axis=1)
        services = 0.6 * random.lognormal(-0.5, 1, (lists, FLOWS))
        noise = random.lognormal(0, 0.2, (lists, FLOWS))
        first = served(arrivals, services)
        schemes = [served(first, scale * services * noise) - arrivals for scale in (0.8, 1.0)]
        return schemes, [served(first, scale * services) - arrivals for scale in (0.7, 0.9)]

    def statistic(samples):
        return samples.mean() if percentile is None else np.percentile(samples, percentile)

    schemes, engines = both(40_000)
    truth = statistic(schemes[1]) - statistic(schemes[0])
    levels = [statistic(engine[:4000]) for engine in engines]

    def controls(engine, level):
        beyond = engine - level if percentile is None else (engine > level) - (1 - percentile / 100)
        return beyond.sum(axis=1)

    held, gains = 0, []
    for _ in range(REPETITIONS):
        schemes, engines = both(LISTS + KNOWN)
        if worthless:
            engines = [np.roll(engine, 1, axis=0) for engine in engines]
        x = np.column_stack([controls(*each) for each in zip(engines, levels, strict=True)])
        y = np.column_stack([st.pooled_influence(list(each[:LISTS]), percentile) for each in schemes])
        means, spread = x[LISTS:].mean(axis=0), np.cov(x[LISTS:].T) / KNOWN
        found = st.controlled_values(y, x[:LISTS], means, spread, KNOWN)
        shown = st.paired_difference(*found.values.T).welch
        held += shown.low <= truth <= shown.high
        gains.append(found.gains[0, 1])
    name = f"{'mean' if percentile is None else 'p90'}{', worthless' if worthless else ''}"
    logging.getLogger(__name__).info("%s: %.3f held, gain %.2f", name, held / REPETITIONS, np.median(gains))
    assert held / REPETITIONS >= least(0.95, REPETITIONS)
    assert (0.9 < np.median(gains) < 1.1) if worthless else (np.median(gains) > 1.5)


def _levelled(y, x, number):
    """With the mean of the second control from so many lists, and with all of what that leaves unknown taken away."""
    base = st.LevelMeans.of([FIRST_FLOW], 10**6, [[x[:, 0].var(ddof=1)]])
    more = base.extended(x[LISTS : LISTS + number, :1], x[LISTS : LISTS + number, 1])
    return [
        st.control_variates(y, x[:LISTS], more.means, means_covariance=each, surrogate_trials=more.lists)
        for each in (more.covariance, more.covariance - more.own)
    ]


@pytest.mark.parametrize("worthless", [False, True])
def test_intervals_hold_with_as_many_lists_as_pay_by_the_trials_themselves(worthless):
    """The number of lists follows from the trials; the lists do not, so that their mean is as it would be."""
    random = np.random.default_rng(5)
    truth = drawn(random, 40_000)[0].mean()
    held, numbers = 0, []
    for _ in range(REPETITIONS):
        times, engine = drawn(random, LISTS + 400)
        if worthless:
            engine = np.roll(engine, 1, axis=0)
        y, x = times[:LISTS].mean(axis=1), np.column_stack([engine[:, 0], engine.mean(axis=1)])

        both = _levelled(y, x, 50)
        gains = 1 / both[0].gain, 1 / both[1].gain
        number = max(50, lists_that_pay(gains, (LISTS, 50), (1.0, 0.2)))
        found = _levelled(y, x, number)[0].controlled
        held += found.low <= truth <= found.high
        numbers.append(number)
    logging.getLogger(__name__).info("%.3f held, %s lists", held / REPETITIONS, np.median(numbers))
    assert held / REPETITIONS >= least(0.95, REPETITIONS)
    assert np.median(numbers) == 50 if worthless else 50 < np.median(numbers) <= 400


FIRST_FLOW = 0.6 / 1.2
"""The mean time of the first flow by the engine: it meets none, and exp(-.5 + 1/2) = 1."""
