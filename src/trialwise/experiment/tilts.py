"""Tilted workloads: from which other distribution the sizes of a simulated trial are drawn, so that its tail is seen more often."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Literal, TypeAlias

LOG_LIKELIHOOD = "tilt:log_likelihood"
"""Under this name the ledger keeps, for each flow, the logarithm of the likelihood ratio of its trial when it ended."""
EXPECTED_FLOWS = "tilt:expected_flows"
"""Flows of a trial in the mean, λT: exact, since arrivals are Poisson."""
LOAD_RATIO = "tilt:load_ratio"
"""Load that the untilted sizes of the trial offer over the load asked for: not 1 where sizes are those of a fit."""


@dataclass(frozen=True, slots=True)
class SwitchingTilt:
    """CCEval's switching change of measure (its Algorithm 2).

    Sizes S (bytes) are lognormal, by the mean and the standard deviation of ln S; until a flow has taken longer than `threshold`
    seconds they are drawn from the tilted lognormal.
    """

    mu: float
    sigma: float
    tilted_mu: float
    tilted_sigma: float
    threshold: float
    method: Literal["switching"] = "switching"


@dataclass(frozen=True, slots=True)
class DefensiveTilt:
    """A defensive mixture: sizes are those of the workload, at ranks U = F(S) with a density that is constant between `edges`.

    The first `most` flows of a trial are drawn by it, so that its likelihood ratio has a bound.
    """

    edges: tuple[float, ...]
    density: tuple[float, ...]
    most: int
    method: Literal["defensive"] = "defensive"

    @property
    def bound(self) -> float:
        """The logarithm of the largest likelihood ratio that a trial can have."""
        return -self.most * log(min(self.density))


Tilt: TypeAlias = SwitchingTilt | DefensiveTilt
Tilts: TypeAlias = tuple[tuple[str, Tilt | None], ...]
"""By name; None where a table says that nothing is tilted."""
