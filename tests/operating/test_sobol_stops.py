"""Blocks of scrambled Sobol trials that stop at their first narrow look: the interval there holds as often as it says."""

import logging

import numpy as np
import pytest
from scipy.stats import qmc

from trialwise import statistics as st
from trialwise.rules import MIN_BLOCKS

LOG = logging.getLogger(__name__)
pytestmark = pytest.mark.operating
SIZE = 32
FLOWS = 3
"""Samples of a trial: exponential, of mean 1, by the coordinates of its point; the first one shifts all by up to a half."""


def block(random: np.random.Generator) -> np.ndarray:
    """Trials of one scramble; shape (trials, samples)."""
    points = qmc.Sobol(FLOWS + 1, rng=random).random(SIZE)
    return -np.log1p(-points[:, 1:]) + 0.5 * points[:, :1]


def truth(percentile: float | None) -> float:
    """Of an exponential plus a uniform on [0, 1/2): 1 - F(x) = 2 e^-x (e^(1/2) - 1) from x = 1/2 on."""
    return 1.25 if percentile is None else float(-np.log((1 - percentile / 100) / (2 * (np.exp(0.5) - 1))))


def course(percentile, precision):
    of_blocks = (
        st.SequentialPooledMean(precision, start=MIN_BLOCKS)
        if percentile is None
        else st.SequentialQuantile(percentile, precision, start=MIN_BLOCKS)
    )
    return st.SequentialBlocks(of_blocks, SIZE, percentile)


@pytest.mark.parametrize(("percentile", "precision"), [(None, 1.0), (90.0, 2.5)])
@pytest.mark.parametrize("repetitions", [60, pytest.param(4000, marks=pytest.mark.soak)])
def test_the_interval_at_the_stop_holds(percentile, precision, repetitions):
    held, taken = 0, []
    for seed in range(repetitions):
        random = np.random.default_rng([7, seed])
        found = course(percentile, precision)
        number = 0
        while not any(found.add(number, trial) for trial in block(random)):
            number += 1
        state = found.state
        held += state.low <= truth(percentile) <= state.high
        taken.append(state.n)
    LOG.info(
        "p%s to %s %%: holds in %.3f, after %g trials",
        percentile,
        precision,
        held / repetitions,
        np.median(taken),
    )
    assert min(taken) >= MIN_BLOCKS * SIZE
    assert np.median(taken) > MIN_BLOCKS * SIZE, "the rule has looked more than once"
    assert held / repetitions >= 0.94 - 2.5 * np.sqrt(0.06 * 0.94 / repetitions)
