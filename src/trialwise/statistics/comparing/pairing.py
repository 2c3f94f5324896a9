"""What running both sides on the same workloads (common random numbers) was worth."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import as_values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class PairingGain:
    """How much narrower pairs make a difference."""

    correlation: float
    """Of both sides over units; NaN where a side does not vary."""
    gain: float
    """Variance of a difference of independent sides over that of pairs: so many times the units the same width would take."""
    n: int
    method: str


def pairing_gain(a: ArrayLike, b: ArrayLike) -> PairingGain:
    """Ratio of variances (s_a² + s_b²) / s_(b-a)², the gain of `paired_difference` over `difference` in these units.

    Parameters
    ----------
    a, b
        One number for each unit, of the same units in the same order.

    Raises
    ------
    StatisticsError
        The sides have not as many values, fewer than two, or values that are not finite.
    """
    first, second = as_values(a, "a", minimum=2), as_values(b, "b", minimum=2)
    if first.size != second.size:
        raise StatisticsError(f"a has {first.size} values and b {second.size}; a pair takes one of each")
    apart = float(first.var(ddof=1) + second.var(ddof=1))
    paired = float((second - first).var(ddof=1))
    varies = bool(np.ptp(first) and np.ptp(second))
    return PairingGain(
        correlation=float(np.corrcoef(first, second)[0, 1]) if varies else nan,
        gain=apart / paired if paired else inf if apart else nan,
        n=first.size,
        method="variance of unpaired over paired differences",
    )
