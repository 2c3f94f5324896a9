"""Published analyses: Davies' dyestuff and pastes, with the REML estimates that lme4's book and manual print."""

import numpy as np
import pytest

from trialwise import statistics as st

# Davies and Goldsmith, Statistical Methods in Research and Production (1972), Tables 6.1 and 6.5.
DYESTUFF = [
    [1545, 1440, 1440, 1520, 1580],
    [1540, 1555, 1490, 1560, 1495],
    [1595, 1550, 1605, 1510, 1560],
    [1445, 1440, 1595, 1465, 1545],
    [1595, 1630, 1515, 1635, 1625],
    [1520, 1455, 1450, 1480, 1445],
]
PASTES = """
    62.8 62.6 60.1 62.3 62.7 63.1  60.0 61.4 57.5 56.9 61.1 58.9  58.7 57.5 63.9 63.1 65.4 63.7
    57.1 56.4 56.9 58.6 64.7 64.5  55.1 55.1 54.7 54.2 58.8 57.5  63.4 64.9 59.3 58.1 60.5 60.0
    62.5 62.6 61.0 58.7 56.9 57.7  59.2 59.4 65.2 66.0 64.8 64.1  54.8 54.8 64.0 64.0 57.7 56.8
    58.3 59.3 59.2 59.2 58.9 56.6
"""


def test_dyestuff():
    """lme4: batch 1764, residual 2451, mean 1527.5."""
    table = {"yield": np.ravel(DYESTUFF), "batch": np.repeat(list("ABCDEF"), 5)}
    found = st.variance_components(table, "yield", ["batch"])
    assert found == pytest.approx({"batch": 1764.05, "residual": 2451.25})
    assert found.interval().estimate == 1527.5


def test_pastes():
    """lme4: cask in batch 8.434, batch 1.657, residual 0.678, mean 60.0533."""
    table = {
        "strength": np.array(PASTES.split(), dtype=float),
        "batch": np.repeat(list("ABCDEFGHIJ"), 6),
        "cask": np.tile(np.repeat(list("abc"), 2), 10),
    }
    found = st.variance_components(table, "strength", ["batch", "cask"])
    assert found == pytest.approx({"batch": 1.657, "cask": 8.434, "residual": 0.678}, abs=6e-4)
    assert found.interval().estimate == pytest.approx(60.0533, abs=5e-5)
