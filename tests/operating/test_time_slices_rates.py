"""Intervals of one long run from slices of its time hold for dependent, skewed samples; `benches/time_slices.py` has more inputs."""

import logging
from contextlib import suppress
from math import log

import numpy as np
import pytest

from trialwise import statistics as st

LOG = logging.getLogger(__name__)
pytestmark = pytest.mark.operating
LOAD, COUNT = 0.5, 30_000


def sojourns(random):
    """Sojourns in an M/M/1 queue, exponential with the rate 1 - load, after 2,000 customers."""
    between, services = (random.exponential(mean, COUNT + 2000) for mean in (1 / LOAD, 1.0))
    steps = np.cumsum(np.concatenate([[0.0], services[:-1] - between[1:]]))
    return np.cumsum(between)[2000:], (steps - np.minimum.accumulate(steps) + services)[2000:]


@pytest.mark.parametrize("repetitions", [60, pytest.param(2000, marks=pytest.mark.soak)])
def test_intervals_from_slices_of_one_run_hold(repetitions):
    random = np.random.default_rng(1)
    truth = {None: 2.0, 50: 2 * log(2), 90: 2 * log(10)}
    held = {percentile: [] for percentile in truth}
    as_if_independent = []
    for _ in range(repetitions):
        times, values = sojourns(random)
        for percentile, true in truth.items():
            with suppress(st.DependentSlicesError):
                found = st.sliced_estimate([(times, values)], percentile, span=(times[0], times[-1])).found
                held[percentile].append(found.low <= true <= found.high)
        plain = st.mean_interval(values)
        as_if_independent.append(plain.low <= 2 <= plain.high)
    shares = {percentile: np.mean(each) for percentile, each in held.items()}
    LOG.info("slices: hold in %s, flows as the unit in %.3f", shares, np.mean(as_if_independent))
    assert all(len(each) > 0.95 * repetitions for each in held.values())
    noise = 3 * np.sqrt(0.95 * 0.05 / repetitions)
    assert all(0.945 - noise < share < 0.955 + noise for share in shares.values())
    assert np.mean(as_if_independent) < 0.6
