"""How many more trials decide: where the variance is as good as known, what the noncentral t distribution of SciPy says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from trialwise.statistics.estimates.moments import Moments
from trialwise.statistics.sequential.forecast import CHANCE, _pooled, trials_to_decide

PILOT = 1_000_000
"""Trials of the pilot: the variance drawn from them hardly differs from what they have."""
NEARER = 0.9
"""What of the difference that was found is counted on."""


def chance_of_a_difference(effect: float, count: int, alpha: float) -> float:
    """Exact power of the two-sided t test of two samples of unit variance."""
    df = 2 * count - 2
    away = effect * (count / 2) ** 0.5
    critical = stats.t.isf(alpha / 2, df)
    return float(stats.nct.sf(critical, df, away) + stats.nct.cdf(-critical, df, away))


@pytest.mark.parametrize("alpha", [0.05, 0.01])
@pytest.mark.parametrize("effect", [0.3, 1.0, 1.6, 2.5, 4.0])
def test_the_bill_is_the_smallest_number_whose_exact_power_is_enough(effect: float, alpha: float) -> None:
    wanted = next(
        count
        for count in itertools.count(2)
        if chance_of_a_difference(NEARER * effect, count, alpha) >= CHANCE
    )
    assert (
        trials_to_decide(Moments(PILOT, 10.0, 1.0), Moments(PILOT, 10.0 + effect, 1.0), None, alpha) == wanted
    )


def test_old_and_new_values_together_are_what_drawing_them_shows() -> None:
    random = np.random.default_rng(3)
    old = random.normal(11.0, 2.0, 200)
    before, truth = Moments(200, float(old.mean()), float(old.var(ddof=1))), Moments(200, 12.5, 9.0)
    together = np.hstack([np.tile(old, (4000, 1)), random.normal(12.5, 3.0, (4000, 300))])
    found = _pooled(before, truth, 300)
    assert found.n == 500
    assert found.mean == pytest.approx(together.mean(), rel=1e-3)
    assert found.variance == pytest.approx(together.var(axis=1, ddof=1).mean(), rel=5e-3)
