"""A slow drift passes for an effect of the order where the halves run one after the other, and not where they are mixed."""

from __future__ import annotations

import numpy as np
from scipy.stats import kruskal

from trialwise.design.orders import order_of_round

EXPERIMENTS = 500
ROUNDS = 100
ALPHA = 0.05


def false_alarms(fixed_rounds) -> float:
    """The share of experiments in which Kruskal and Wallis tell the halves apart; nothing but time makes them differ.

    The drift is linear, with one standard deviation of the noise between the middles of the two halves.
    """
    rng = np.random.default_rng(5)
    drift = 2 * np.arange(ROUNDS) / ROUNDS
    found = 0
    for seed in range(EXPERIMENTS):
        is_fixed = fixed_rounds(seed)
        values = drift + rng.standard_normal(ROUNDS)
        found += kruskal(values[is_fixed], values[~is_fixed]).pvalue < ALPHA
    return found / EXPERIMENTS


def mixed(seed: int) -> np.ndarray:
    return np.array([order_of_round("fixed+random", seed, 1, r + 1) == "fixed" for r in range(ROUNDS)])


def one_after_the_other(seed: int) -> np.ndarray:
    del seed
    return np.arange(ROUNDS) < ROUNDS // 2


def test_a_drift_is_no_effect_of_the_order_when_the_halves_are_mixed():
    assert false_alarms(mixed) <= ALPHA + 2 * np.sqrt(ALPHA * (1 - ALPHA) / EXPERIMENTS)


def test_it_would_be_one_if_they_ran_one_after_the_other():
    assert false_alarms(one_after_the_other) > 0.9
