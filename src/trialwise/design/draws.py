"""Values of the factors that are drawn at random for each round."""

from __future__ import annotations

import math

import numpy as np

from trialwise.design.seeds import generator
from trialwise.experiment.model import DrawnFactor, Level


def drawn_value(factor: DrawnFactor, seed: int, series: int, round_: int | str) -> Level:
    """Draw the factor's value for one round, with replacement; the same for all treatments of the round."""
    rng = generator(seed, "draw", factor.name, series, round_)
    if factor.values:
        return factor.values[int(rng.integers(len(factor.values)))]
    return _from_range(factor, rng)


def _from_range(factor: DrawnFactor, rng: np.random.Generator) -> Level:
    low, high = factor.low, factor.high
    if factor.logarithmic:
        value = math.exp(rng.uniform(math.log(low), math.log(high + 1 if factor.integer else high)))
        return min(int(value), int(high)) if factor.integer else value
    if factor.integer:
        return int(rng.integers(int(low), int(high), endpoint=True))
    return float(rng.uniform(low, high))
