"""What the simulations share."""

import numpy as np
import pytest
from scipy.signal import lfilter


@pytest.fixture
def near():
    """Whether a simulated share agrees with one simulated elsewhere, each within its Monte-Carlo error."""

    def agrees(found, expected, repetitions, *, of=500, slack=0.01):
        spread = np.sqrt(max(expected * (1 - expected), 0.002) * (1 / repetitions + 1 / of))
        return abs(found - expected) <= 3.3 * spread + slack

    return agrees


@pytest.fixture
def autoregressive():
    """Stationary AR(1) series with mean 0 and standard deviation 1, one in each row."""

    def draw(random, count, rho, rows):
        shocks = random.normal(size=(rows, count + 300)) * np.sqrt(1 - rho**2)
        return lfilter([1], [1, -rho], shocks, axis=1)[:, 300:]

    return draw
