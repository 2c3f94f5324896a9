"""Scrambled Sobol flow lists: unbiased, narrower than random ones, and intervals of blocks hold."""

import logging

import numpy as np
import pytest

from trialwise import _core
from trialwise import statistics as st
from trialwise.trials.sobol import sobol_point

LOG = logging.getLogger(__name__)
pytestmark = pytest.mark.operating
WORKLOAD = {
    "sizes": "websearch", "arrivals": "poisson", "pattern": "one-way", "load": 0.3, "load_of": "bottleneck",
    "duration_ps": 5 * 10**9,
}  # fmt: skip
FABRIC = _core.Fabric("dumbbell:10x10,100Gbit/s,1us")
EXPECTED = _core.expected_flows(FABRIC, **WORKLOAD)
BLOCKS = 8


def offered(lists) -> np.ndarray:
    """Bytes of each list, of which the mean is known."""
    return np.array([each["size_bytes"].sum() for each in lists], dtype=float)


def sobol_lists(seed: int):
    """The lists of so many blocks of rounds, as trials have them."""
    for round_ in range(1, 256 * BLOCKS + 1):
        yield _core.generate_flows_from(
            FABRIC, sobol_point(seed, 1, round_, EXPECTED), seed=10_000 * seed + round_, **WORKLOAD
        )


@pytest.mark.parametrize("repetitions", [20, pytest.param(1000, marks=pytest.mark.soak)])
def test_intervals_of_blocks_hold_and_are_narrower(repetitions):
    true = 0.3 * 100e9 / 8 * 5e-3
    held, gains, means = [], [], []
    for seed in range(repetitions):
        values = offered(list(sobol_lists(seed)))
        blocks = st.mean_interval(values.reshape(BLOCKS, 256).mean(axis=1))
        held.append(blocks.low <= true <= blocks.high)
        gains.append(st.block_gain(values, 256))
        means.append(blocks.estimate)
    error = np.std(means, ddof=1) / np.sqrt(repetitions)
    LOG.info(
        "sobol: holds in %.3f, gain %.2f, off by %.2f standard errors",
        np.mean(held),
        np.median(gains),
        (np.mean(means) - true) / error,
    )
    assert abs(np.mean(means) - true) < 4 * error
    assert np.mean(held) >= 0.93 - 2.5 * np.sqrt(0.07 * 0.93 / repetitions)
    assert np.median(gains) > 2
