"""How often the interval of a paired difference of pooled quantiles holds the true one."""

import numpy as np
import pytest

from trialwise import statistics as st

pytestmark = pytest.mark.operating
_TRUE = {50: 1.0, 90: float(np.exp(1.2815515655446004 * np.hypot(1, 0.3)))}
"""Quantiles of a lognormal with sigma² = 1 + 0.3²: samples of all trials together."""


@pytest.mark.parametrize("percentile", [50, 90])
def test_interval_holds_at_its_level(percentile: int) -> None:
    random = np.random.default_rng(20)
    held, repetitions = 0, 400
    for _ in range(repetitions):
        base = [random.lognormal(random.normal(0, 0.3), 1, 40) for _ in range(60)]
        other = [1.2 * each * random.lognormal(0, 0.05, each.size) for each in base]
        a, b = st.pooled_influence(base, percentile), st.pooled_influence(other, percentile)
        found = st.paired_difference(a, b).welch
        wider = float(np.exp(np.log(_TRUE[percentile]) * np.hypot(np.hypot(1, 0.3), 0.05) / np.hypot(1, 0.3)))
        held += found.low <= 1.2 * wider - _TRUE[percentile] <= found.high
    # Standard error 1.1 points at 95 %.
    assert 0.91 <= held / repetitions <= 0.99
