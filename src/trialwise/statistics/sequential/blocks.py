"""Sequential estimates of trials that were sampled jointly in blocks; each block counts as one observation."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trialwise.statistics.pooled.influence import pooled_influence
from trialwise.statistics.sequential.sampling import TrialForecast
from trialwise.statistics.sequential.states import SequentialState, SequentialUnweighted
from trialwise.statistics.sizing.replicates import block_gain

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from trialwise.statistics.checks import Array


class SequentialBlocks:
    """A sequential estimate with looks after complete blocks, independent scrambled Sobol samples (Owen 1998).

    Pooled estimates have blocks as their clusters; for one number per trial, a block contributes its mean. Trials of an incomplete
    block are excluded, as in `estimate_of_blocks`.
    """

    def __init__(
        self,
        of_blocks: SequentialUnweighted[Any],
        size: int,
        percentile: float | None,
    ) -> None:
        """Take the estimate over blocks, the trials per block, and the percentile of a pooled quantile (None for means)."""
        self._of_blocks = of_blocks
        self._size = size
        self._percentile = percentile
        self._key: Hashable = None
        self._open: list[Array] = []
        self._whole: list[Array] = []
        self._taken = 0

    def add(self, block: Hashable, trial: ArrayLike) -> bool:
        """Add a trial (a number or its samples) of a block, in consecutive order, and return True if the rule stops now.

        Raises
        ------
        StatisticsError
            The rule had stopped before, or a value of the trial is not finite.
        """
        if block != self._key:
            self._key, self._open = block, []
        self._open.append(np.atleast_1d(np.asarray(trial, dtype=np.float64)))
        self._taken += 1
        if len(self._open) < self._size:
            return False
        trials, self._open = self._open, []
        self._whole += trials
        return self._of_blocks.add_samples(np.concatenate(trials))

    @property
    def state(self) -> SequentialState:
        """Return the current state, with numbers of trials, not of blocks."""
        seen, size = self._of_blocks.state, self._size
        trials, low, high = (
            one and size * one for one in (seen.forecast.trials, seen.forecast.low, seen.forecast.high)
        )
        return replace(
            seen,
            n=size * seen.n,
            next_look=self._taken - len(self._open) + size * (seen.next_look - seen.n),
            forecast=TrialForecast(trials, low, high, seen.forecast.factors),
            method=seen.method.replace(" trials ", " blocks ") + f"; blocks of {size} trials",
        )

    @property
    def blocks(self) -> int:
        """Number of complete blocks so far."""
        return len(self._whole) // self._size

    @property
    def gain(self) -> float:
        """Return the variance of as many independent trials over that of these; StatisticsError before two blocks (`block_gain`)."""
        if not self._of_blocks.pools:
            return block_gain(np.concatenate(self._whole or [np.empty(0)]), self._size)
        return block_gain(pooled_influence(self._whole, self._percentile), self._size)
