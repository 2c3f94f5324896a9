"""Importance sampling with bounded risk: ranks of sizes from a defensive mixture learnt on a surrogate, or no tilt at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, expm1, inf, log

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.numbers import write
from trialwise.statistics.checks import Array, as_percent
from trialwise.statistics.simulation.importance import importance_quantile, tail_weight, variance_ratio
from trialwise.statistics.sizing.switching import Cycle, Simulate, SwitchingSampler, run_cycle

EDGES = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 1.0)
"""Edges of the pieces of the rank density: finer where sizes are large."""
STRENGTHS = (0.5, 1.0, 2.0, 3.0)
"""c: the likelihood ratio of a trial is at most e^c."""
WORTH = 1.5
"""Minimum ratio of variances on the surrogate for tilting."""
_TAIL = 1000
"""Mean number of tail responses that the density is learnt from."""


@dataclass(frozen=True, slots=True, eq=False)
class DefensiveMixture:
    """Ranks U of sizes S = F⁻¹(U) from the density 1 - ε + ε h(u), h piecewise constant; a `Proposal` whose coordinate is U."""

    size_of: Callable[[float], float]
    """F⁻¹ for ranks from 0 to 1: the distribution itself, not a fit."""
    edges: Array
    masses: Array
    """Mass of h in each piece."""
    share: float
    """ε."""

    def tilted(self, random: np.random.Generator) -> tuple[float, float, float]:
        """Draw a size; return it, its rank, and minus the log density of the rank."""
        rank = float(random.random())
        if float(random.random()) < self.share:
            piece = self._piece(float(random.random()))
            low, high = float(self.edges[piece]), float(self.edges[piece + 1])
            rank = low + (high - low) * float(random.random())
        return self.size_of(rank), rank, -log(self.density(rank))

    def _piece(self, share: float) -> int:
        return min(int(np.count_nonzero(np.cumsum(self.masses) <= share)), self.masses.size - 1)

    def plain(self, random: np.random.Generator) -> float:
        """Draw a size from the true distribution."""
        return self.size_of(float(random.random()))

    def density(self, rank: float) -> float:
        """Return the density of a rank; at least 1 - ε."""
        piece = min(int(np.count_nonzero(self.edges <= rank)), self.masses.size) - 1
        width = float(self.edges[piece + 1] - self.edges[piece])
        return 1 - self.share + self.share * float(self.masses[piece]) / width


@dataclass(frozen=True, slots=True)
class DefensiveChoice:
    """A surrogate's verdict on tilting, for use on the expensive simulator."""

    used: bool
    """True to tilt; otherwise `mixture` is the true distribution."""
    mixture: DefensiveMixture
    threshold: float
    """The surrogate's quantile: a response above it ends the tilted phase."""
    most: int
    """Maximum number of tilted sizes per trial."""
    strength: float
    """c; 0 without tilting."""
    variance_ratio: float
    """Variance of a trial's tail count without importance sampling over that with it, on the surrogate."""
    reason: str

    def sampler(self, rate: float, random: np.random.Generator) -> SwitchingSampler:
        """Build the sampler of one trial with this number of arrivals per unit of time."""
        return SwitchingSampler(self.mixture, rate, random, threshold=self.threshold, most=self.most)


def defensive_choice(
    surrogate: Simulate,
    size_of: Callable[[float], float],
    rate: float,
    percentile: float,
    mean_flows: float,
    random: np.random.Generator,
    *,
    cycles: int = 4000,
    strengths: Sequence[float] = STRENGTHS,
    edges: Sequence[float] = EDGES,
) -> DefensiveChoice:
    """Learn a mixture on a free surrogate, and test whether it pays off.

    Plain cycles give the threshold γ and, for each piece of the ranks, the excess frequency of sizes in cycles with a tail response,
    Σ H N_piece / Σ H N relative to its width: the cross-entropy optimum among piecewise constant densities (Rubinstein and Kroese
    2004), from at least a thousand tail responses. The normalised excess over the uniform density is h. With ε = 1 - e^(-c/n) and at
    most n = λT tilted sizes, the likelihood ratio of a trial never exceeds e^c (Hesterberg 1995: defensive mixtures). The strength c
    with the largest ratio of variances is chosen if that is at least 1.5; otherwise nothing is tilted.

    Parameters
    ----------
    surrogate
        Simulates one trial of a cheap model; see `Simulate`.
    size_of
        F⁻¹, from a rank in [0, 1) to a size.
    rate
        Arrivals per unit of time.
    percentile
        In percent.
    mean_flows
        E[α], λT for Poisson arrivals.
    random
        Random generator.
    cycles
        Minimum number of surrogate cycles per strength; more if fewer than a thousand tail responses are expected.
    strengths
        Values of c, each above 0.
    edges
        Edges of the pieces, from 0 to 1.

    Raises
    ------
    StatisticsError
        Edges or strengths are invalid.
    """
    bounds = np.array(edges, dtype=np.float64)
    if bounds.size < 3 or bounds[0] != 0 or bounds[-1] != 1 or (np.diff(bounds) <= 0).any():
        raise StatisticsError(f"the edges are {edges!r}; expected numbers from 0 to 1 in ascending order")
    if not strengths or min(strengths) <= 0:
        raise StatisticsError(f"the strengths are {strengths!r}; expected numbers above 0")
    tail = float(1 - as_percent(percentile, "percentile")) * mean_flows
    number = max(cycles, ceil(_TAIL / tail))
    most = max(1, round(mean_flows))
    uniform = DefensiveMixture(size_of, bounds, np.diff(bounds), 0.0)

    def drawn(mixture: DefensiveMixture, threshold: float) -> list[Cycle]:
        limit = inf if mixture is uniform else most
        return [
            run_cycle(surrogate, SwitchingSampler(mixture, rate, random, threshold=threshold, most=limit))
            for _ in range(number)
        ]

    plain = drawn(uniform, inf)
    threshold = importance_quantile(plain, percentile, mean_flows).estimate
    masses = _excess(plain, threshold, bounds)
    best, ratio, strength = uniform, 1.0, 0.0
    for candidate in strengths:
        mixture = DefensiveMixture(size_of, bounds, masses, -expm1(-candidate / most))
        found = variance_ratio(plain, drawn(mixture, threshold), threshold)
        if found > ratio:
            best, ratio, strength = mixture, found, candidate
    used = ratio >= WORTH
    reason = (
        f"on {number} cycles of the surrogate the variance of the tail falls {write(ratio, digits=2)} times at c = {strength:g}"
        + (
            ""
            if used
            else f"; that is not worth a tilt (below {WORTH:g}): sizes are drawn from the true distribution"
        )
    )
    return DefensiveChoice(
        used, best if used else uniform, threshold, most, strength if used else 0.0, ratio, reason
    )


def _excess(cycles: Sequence[Cycle], threshold: float, edges: Array) -> Array:
    """Return the masses of h: the excess frequency of sizes of each piece in trials with tail responses."""
    counts = np.zeros(edges.size - 1)
    for cycle in cycles:
        if weight := tail_weight(cycle, threshold):
            counts += weight * np.histogram(cycle.coordinates, edges)[0]
    excess = np.maximum(counts / counts.sum() - np.diff(edges), 0.0)
    total = float(excess.sum())
    # If no size is more frequent, nothing can be gained: h is then the largest sizes, and the surrogate shows no gain.
    return excess / total if total else np.eye(edges.size - 1)[-1]
