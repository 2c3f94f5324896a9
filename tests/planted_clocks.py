"""Two clocks whose difference is known, and packets between them: the matrix of a real path's troubles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trialwise.measurement.clocks.probes import Probes

Array = npt.NDArray[np.float64]
BASE = 0.028
"""Seconds of one-way delay."""


@dataclass(frozen=True)
class Planted:
    """What is true of a record; seconds, and ppm for the skew.

    `route` and `step` happen at half time; the step is one of the clock of B.
    """

    seconds: float = 60.0
    rate: float = 20.0
    noise: float = 1e-3
    stamps: float = 10e-6
    offset: float = 0.0
    skew: float = 20.0
    asymmetry: float = 0.0
    loads: int = 0
    loss: float = 0.0
    reordering: bool = False
    route: float = 0.0
    step: float = 0.0

    def offset_at(self, times: Array | float) -> Array:
        """B less A when A shows these times."""
        times = np.asarray(times, np.float64)
        return self.offset + self.skew * 1e-6 * times + self.step * (times >= self.seconds / 2)

    def drawn(self, seed: int) -> tuple[Probes, Probes]:
        """The probes that arrive from A to B, and from B to A."""
        rng = np.random.default_rng(seed)
        return self._way(rng, forward=True), self._way(rng, forward=False)

    def _way(self, rng: np.random.Generator, *, forward: bool) -> Probes:
        leaves = np.arange(0, self.seconds, 1 / self.rate) + rng.uniform(0, 1 / self.rate)
        loaded = self.loads == 2 or (self.loads == 1 and forward)
        delay = BASE + (self.asymmetry if forward else 0.0) + self.noise * rng.exponential(size=leaves.size)
        delay += rng.uniform(0, self.stamps, leaves.size)
        if loaded:
            delay += 0.05 * ((leaves / 2.1 + rng.uniform()) % 1)
        if forward:
            delay += self.route * (leaves >= self.seconds / 2)
        if self.reordering:
            delay += (rng.uniform(size=leaves.size) < 0.02) * 0.12
        arrives = leaves + delay
        of_b = [times + self.offset_at(times) for times in (leaves, arrives)]
        sent, received = (leaves, of_b[1]) if forward else (of_b[0], arrives)
        kept = rng.uniform(size=leaves.size) >= self.loss
        return Probes.of(np.rint(sent[kept] * 1e9), np.rint(received[kept] * 1e9))
