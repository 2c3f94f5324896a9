"""Medians, scales and trimmed means of many groups of numbers at once."""

from __future__ import annotations

import numpy as np

from trialwise.statistics.checks import Array, Indices

_NORMAL = 1.4826
"""Factor from the median absolute deviation of normal values to their standard deviation."""


class Groups:
    """A grouping of numbers."""

    def __init__(self, labels: Indices) -> None:
        """Take integer labels; groups are numbered from 0 in label order, and `codes` holds these numbers."""
        _, self.codes, self.counts = np.unique(labels, return_inverse=True, return_counts=True)
        # The stable sort of 16-bit integers is linear in time.
        self._keys = self.codes.astype(np.int16) if self.counts.size < 2**15 else self.codes
        self._begins = np.cumsum(self.counts) - self.counts

    @classmethod
    def of_one(cls, size: int) -> Groups:
        """Return a single group of `size` numbers."""
        return cls(np.zeros(size, dtype=np.int64))

    def medians(self, values: Array) -> Array:
        """Return the median of each group."""
        return self._middle(self._sorted(values))

    def scales(self, values: Array) -> Array:
        """Estimate the standard deviation of each group by the median absolute deviation, which is robust to a few values.

        If that is 0, return the plain standard deviation, or 1 if nothing varies.
        """
        spreads = _NORMAL * self.medians(np.abs(values - self.medians(values)[self.codes]))
        return self._or_deviations(spreads, values) if (spreads == 0).any() else spreads

    def trimmed_means(self, values: Array, share: float) -> Array:
        """Return the mean of each group without this share of its values at each end (rounded down)."""
        ordered = self._sorted(values)
        cut = (share * self.counts).astype(np.int64)
        codes = np.repeat(np.arange(self.counts.size), self.counts)
        ranks = np.arange(ordered.size) - self._begins[codes]
        kept = (ranks >= cut[codes]) & (ranks < (self.counts - cut)[codes])
        return np.bincount(codes[kept], ordered[kept]) / (self.counts - 2 * cut)

    def _or_deviations(self, spreads: Array, values: Array) -> Array:
        means = np.bincount(self.codes, values) / self.counts
        squares = np.bincount(self.codes, (values - means[self.codes]) ** 2) / self.counts
        deviations = np.where(spreads > 0, spreads, np.sqrt(squares))
        return np.where(deviations > 0, deviations, 1.0)

    def _sorted(self, values: Array) -> Array:
        """Return the values group by group, each in ascending order."""
        if self.counts.size == 1:
            return np.sort(values)
        order = np.argsort(values)
        return values[order[np.argsort(self._keys[order], kind="stable")]]

    def _middle(self, ordered: Array) -> Array:
        low = ordered[self._begins + (self.counts - 1) // 2]
        return (low + ordered[self._begins + self.counts // 2]) / 2
