"""Trials that equivalence takes: the formula, and what it comes to in simulation."""

import numpy as np
import pytest
from scipy import stats

from trialwise import statistics as st


@pytest.mark.parametrize("spread", [0.2, 0.5, 1.0, 2.0, 10.0])
def test_the_formula(spread):
    n = 2 * (stats.norm.ppf(0.95) + stats.norm.ppf(0.90)) ** 2 * spread**2 + 1
    assert st.equivalence_size(spread) == max(2, int(np.ceil(n)))


def test_nineteen_where_the_spread_is_the_margin_succeed_as_often_as_is_said():
    n = st.equivalence_size(1.0)
    assert n == 19
    for size, said in ((n, 0.83), (20, 0.855)):
        values = np.random.default_rng(5).normal(size=(2, 20_000, size))
        difference = values[1].mean(axis=-1) - values[0].mean(axis=-1)
        se = np.sqrt(values.var(axis=-1, ddof=1).sum(axis=0) / size)
        inside = np.abs(difference) + stats.t.ppf(0.95, 2 * size - 2) * se < 1
        assert inside.mean() == pytest.approx(said, abs=0.01)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), 1e6])
def test_what_makes_no_sense_is_refused(bad):
    with pytest.raises(ValueError, match=r"needed|expected"):
        st.equivalence_size(bad)
