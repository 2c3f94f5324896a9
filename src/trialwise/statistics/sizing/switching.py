"""Importance sampling of one simulated trial: sizes from a tilted distribution until a rare response, then from the true one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log
from typing import Protocol, TypeAlias

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import Array, as_values


class Proposal(Protocol):
    """A distribution that sizes are drawn from, tilted or true."""

    def tilted(self, random: np.random.Generator) -> tuple[float, float, float]:
        """Draw a size; return it, its coordinate (which a tilt is fitted to), and ln f(S) - ln f~(S)."""
        ...

    def plain(self, random: np.random.Generator) -> float:
        """Draw a size from the true distribution."""
        ...


@dataclass(frozen=True, slots=True)
class LognormalTilt:
    """Lognormal sizes drawn from another lognormal distribution; the coordinate is ln S."""

    mu: float
    sigma: float
    tilted_mu: float
    tilted_sigma: float

    def tilted(self, random: np.random.Generator) -> tuple[float, float, float]:
        """Draw a size; return it, ln S, and ln f(S) - ln f~(S)."""
        at = float(random.normal(self.tilted_mu, self.tilted_sigma))
        squares = ((at - self.tilted_mu) / self.tilted_sigma) ** 2 - ((at - self.mu) / self.sigma) ** 2
        return exp(at), at, log(self.tilted_sigma / self.sigma) + squares / 2

    def plain(self, random: np.random.Generator) -> float:
        """Draw a size from the true distribution."""
        return float(random.lognormal(self.mu, self.sigma))


class SwitchingSampler:
    """Gaps and sizes of one trial, and its log likelihood ratio (CCEval Eq. 10, Algorithm 2).

    A simulation calls `gap` before each arrival, `arrival` for each size, and `finish` at each end. The first response above
    `threshold` ends the tilted phase: later draws come from the true distributions and the ratio stays. (CCEval calls that time τ;
    its text says "the arrival time of first flow", which it cannot be.) If the rate is tilted too, the gap in progress at the switch
    must be redrawn at the true rate.
    """

    def __init__(
        self,
        sizes: Proposal,
        rate: float,
        random: np.random.Generator,
        *,
        threshold: float = inf,
        tilted_rate: float | None = None,
        most: float = inf,
    ) -> None:
        """Set the distributions.

        Parameters
        ----------
        sizes
            True and tilted sizes.
        rate
            True arrivals per unit of time (Poisson).
        threshold
            γ_max: a response above it ends the tilted phase.
        tilted_rate
            Arrivals per unit of time in the tilted phase; None for the true rate.
        most
            Maximum number of tilted sizes; with a bounded ratio for each, this bounds the ratio of the trial.
        """
        self._sizes = sizes
        self._random = random
        self._rate = rate
        self._tilted_rate = rate if tilted_rate is None else tilted_rate
        self._threshold = threshold
        self._most = most
        self._log_ratio = 0.0
        self.switched = False
        self.coordinates: list[float] = []
        """Of the sizes drawn in the tilted phase."""

    def gap(self) -> float:
        """Draw the time from one arrival to the next."""
        return float(self._random.exponential(1 / (self._rate if self.switched else self._tilted_rate)))

    def arrival(self, gap: float) -> float:
        """Draw the size of a flow that arrives `gap` after the previous one."""
        self._count_gap(gap)
        if self.switched or len(self.coordinates) >= self._most:
            return self._sizes.plain(self._random)
        size, coordinate, log_ratio = self._sizes.tilted(self._random)
        self.coordinates.append(coordinate)
        self._log_ratio += log_ratio
        return size

    def finish(self, response: float, age: float = 0.0) -> float:
        """Return the log likelihood ratio of a flow that ends now, `age` after the last arrival; may end the tilted phase."""
        # Only a tilted rate depends on the age: it changes the probability of no arrival for that long.
        aged = -(self._rate - self._tilted_rate) * age
        if self.switched:
            return self._log_ratio
        if response > self._threshold:
            self.switched = True
            self._log_ratio += aged
            return self._log_ratio
        return self._log_ratio + aged

    def _count_gap(self, gap: float) -> None:
        if not self.switched and self._tilted_rate != self._rate:
            self._log_ratio += log(self._rate / self._tilted_rate) - (self._rate - self._tilted_rate) * gap


@dataclass(frozen=True, slots=True, eq=False)
class Cycle:
    """One trial under importance sampling."""

    responses: Array
    weights: Array
    """Likelihood ratio of each response."""
    coordinates: Array
    """Of the sizes drawn in the tilted phase."""


Simulate: TypeAlias = Callable[[SwitchingSampler], tuple[Array, Array]]
"""Runs one trial with the sampler's gaps and sizes until its last flow ends: responses, and the result of `finish` for each."""


def run_cycle(simulate: Simulate, sampler: SwitchingSampler) -> Cycle:
    """Simulate one trial.

    Raises
    ------
    StatisticsError
        The simulation returned responses and log ratios of different lengths, or numbers that are not finite.
    """
    responses, logs = simulate(sampler)
    checked, ratios = as_values(responses, "R", minimum=0), as_values(logs, "logL", minimum=0)
    if checked.size != ratios.size:
        raise StatisticsError(
            f"the simulation gave {checked.size} responses and {ratios.size} likelihood ratios"
        )
    return Cycle(checked, np.exp(ratios), np.array(sampler.coordinates, dtype=np.float64))
