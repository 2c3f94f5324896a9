"""Roots of functions, and the net that forecasts draw, against SciPy's, which takes half a second to import."""

from math import cos, exp, log, nan

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import qmc

from trialwise.errors import StatisticsError
from trialwise.statistics.roots import root_between
from trialwise.statistics.sequential.forecast import _shares

FUNCTIONS = [
    (lambda x: x**3 - 2 * x - 5, 2.0, 3.0),
    (lambda x: cos(x) - x, 0.0, 1.0),
    (lambda x: exp(x) - 1e-3, -20.0, 5.0),
    (lambda x: log(x) + 3, 1e-6, 10.0),
    (lambda x: (x - 1) ** 5, 0.0, 4.0),
    (lambda x: 1.0 if x > 0.3 else -1.0, 0.0, 1.0),
    (lambda x: x, -1.0, 0.0),
    (lambda x: x, 0.0, 1.0),
    (lambda x: 1e-200 * (x - 0.7), 0.0, 1.0),
]


@pytest.mark.parametrize("ends", [(0, 1), (1, 0)], ids=["upwards", "downwards"])
@pytest.mark.parametrize("accuracy", [(2e-12, 4 * 2.0**-52), (1e-15, 1e-14)], ids=["default", "finer"])
def test_roots_are_those_of_scipy(accuracy: tuple[float, float], ends: tuple[int, int]) -> None:
    apart, share = accuracy
    for function, *between in FUNCTIONS:
        low, high = (between[at] for at in ends)
        expected = brentq(function, low, high, xtol=apart, rtol=share, maxiter=200)
        assert root_between(function, low, high, apart=apart, share=share) == pytest.approx(
            expected, rel=1e-15, abs=0
        )


def test_what_brackets_no_root_is_refused() -> None:
    for function in (lambda x: x * x + 1, lambda _: nan):
        with pytest.raises(StatisticsError, match="no root is known to be between -1 and 1"):
            root_between(function, -1.0, 1.0)


def test_forecasts_draw_the_net_of_scipy() -> None:
    drawn = qmc.Sobol(2, rng=np.random.default_rng(7)).random_base2(6).T
    assert np.array_equal(_shares(), drawn)
