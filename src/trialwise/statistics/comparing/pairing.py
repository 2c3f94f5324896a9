"""The gain from running both sides on the same workloads (common random numbers)."""

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
    """How much narrower pairing makes the interval of a difference."""

    correlation: float
    """Between both sides over units; NaN if a side does not vary."""
    gain: float
    """Variance of the difference of independent sides over that of pairs: the factor in units for the same width."""
    n: int
    method: str


def pairing_gain(a: ArrayLike, b: ArrayLike) -> PairingGain:
    """Compute (s_a² + s_b²) / s_(b-a)², the variance gain of `paired_difference` over `difference` in these units.

    Parameters
    ----------
    a, b
        One number per unit, for the same units in the same order.

    Raises
    ------
    StatisticsError
        The sides differ in length, or have fewer than two values or values that are not finite.
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
