"""Values of the factors that are sampled for each round."""

from __future__ import annotations

import math

import numpy as np

from trialwise.design.seeds import generator
from trialwise.experiment.model import DrawnFactor, Level


def drawn_value(factor: DrawnFactor, seed: int, series: int, round_: int | str) -> Level:
    """Sample the factor's value for one round, with replacement; it is the same for all treatments of the round."""
    rng = generator(seed, "draw", factor.name, series, round_)
    if factor.values:
        return factor.values[int(rng.integers(len(factor.values)))]
    if factor.integer:
        return _whole(factor, rng)
    return _real(factor, rng)


def _whole(factor: DrawnFactor, rng: np.random.Generator) -> int:
    low, high = int(factor.low), int(factor.high)
    if not factor.logarithmic:
        return int(rng.integers(low, high, endpoint=True))
    value = int(math.exp(rng.uniform(math.log(low), math.log(high + 1))))
    return min(max(value, low), high)


def _real(factor: DrawnFactor, rng: np.random.Generator) -> float:
    """Sample between the ends, whose difference may exceed the largest double; rounding must not leave the range."""
    low, high, share = factor.low, factor.high, rng.random()
    if factor.logarithmic:
        value = math.exp(math.log(low) * (1 - share) + math.log(high) * share)
    else:
        value = low * (1 - share) + high * share
    return min(max(value, low), high)
