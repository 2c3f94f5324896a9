"""Two samples pooled, as rank tests need them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trialwise.statistics.checks import Array


@dataclass(frozen=True, slots=True)
class Pooled:
    """Number of occurrences of each value in two samples, values in ascending order."""

    counts: Array
    """In both samples."""
    own: Array
    """In the first sample."""
    sizes: tuple[int, int]

    @classmethod
    def of(cls, first: Array, second: Array) -> Pooled:
        """Pool two non-empty samples; fastest if each is in ascending order."""
        both = np.concatenate([first, second])
        order = np.argsort(both, kind="stable")
        ordered = both[order]
        begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        counts = np.diff(begins, append=both.size).astype(np.float64)
        own = np.add.reduceat((order < first.size).astype(np.float64), begins)
        return cls(counts, own, (first.size, second.size))
