"""Scrambled Sobol points: the rounds of a block spread their flow lists evenly, and each block is an independent sample."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, sqrt

import numpy as np

from trialwise.arrays import Array
from trialwise.experiment.seeds import seed_of
from trialwise.experiment.simulation import SOBOL_BLOCK

_MOST = 257
"""Maximum number of Sobol coordinates; later ones matter little, and are random."""


def dimensions(expected: float) -> int:
    """Return the number of Sobol coordinates: the number of flows, then size and time of as many flows as a list rarely exceeds."""
    return min(1 + 2 * ceil(expected + 3 * sqrt(expected)), _MOST)


def sobol_point(seed: int, series: int, round_: int, expected: float) -> Array:
    """Return the point of a round, in [0, 1): shape (coordinates,).

    Each block of 256 rounds of a series is one scramble of the first 256 Sobol points (Owen 1998; SciPy's `qmc.Sobol` with a linear
    matrix scramble and a digital shift, which keep every point uniform and thus every estimate unbiased), by the seed of the
    experiment, the series and the block. Rounds count from 1, `expected` is the mean number of flows.
    """
    block, place = divmod(round_ - 1, SOBOL_BLOCK)
    return _block(seed_of(seed, "sobol", series, block), dimensions(expected))[place]


@lru_cache(maxsize=8)
def _block(seed: int, number: int) -> Array:
    from scipy.stats import qmc  # takes half a second, which trials without it save

    return qmc.Sobol(number, scramble=True, rng=np.random.default_rng(seed)).random(SOBOL_BLOCK)
