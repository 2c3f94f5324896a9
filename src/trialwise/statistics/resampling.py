"""Resampling of a series with replacement, as the OML study does before its analysis of variance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trialwise.statistics.checks import Array, as_values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

RESAMPLING_FALSE_ALARMS = 0.28
"""False-positive rate for a main effect at nominal 5 %: 4 x 2 cells of 600 independent samples, no effect
(tests/operating/test_anova_rates.py).
"""
RESAMPLING_WARNING = (
    "resampling with replacement does not make samples independent, it hides that they are not: means of resampled series vary twice "
    "as much as an analysis of variance believes. Where nothing has an effect, a factor was found significant at the 5 % level in "
    f"{RESAMPLING_FALSE_ALARMS:.0%} of simulated experiments with independent samples, and in more with dependent ones. "
    "Analyse one number for each trial instead, and repeat trials."
)


def resampled(values: ArrayLike, seed: int = 0) -> Array:
    """Draw as many values from the series with replacement.

    Section 3.1.1 of the OML study does so if turning points show that samples are dependent. The resample passes the test, but the
    error of its mean remains, and the sampling error is added: `RESAMPLING_WARNING`.

    Parameters
    ----------
    values
        A series.
    seed
        Of PCG64DXSM.

    Raises
    ------
    StatisticsError
        No values, or values that are not finite.
    """
    array = as_values(values)
    return np.random.Generator(np.random.PCG64DXSM(seed)).choice(array, array.size)
