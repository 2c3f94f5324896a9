"""Values of nested units: sums of squares of each level, and their expectations in terms of the variances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import Array, Indices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Nesting:
    """The unit of each level that each value belongs to, from the highest level to the lowest."""

    levels: tuple[str, ...]
    codes: tuple[Indices, ...]
    """For each level the unit of each value, from 0; a unit is identified by all labels down to its level."""
    units: tuple[int, ...]
    """Number of units of each level."""

    def without(self, level: str) -> Nesting:
        """Return the same values without one level."""
        kept = [at for at, name in enumerate(self.levels) if name != level]
        return Nesting(
            tuple(self.levels[at] for at in kept),
            tuple(self.codes[at] for at in kept),
            tuple(self.units[at] for at in kept),
        )


@dataclass(frozen=True, slots=True, eq=False)
class NestedAnova:
    """Mean squares of each level within the one above."""

    mean_squares: Array
    df: Array
    expected: Array
    """expected[k, j]: coefficient of the variance of level j in the expected mean square of level k (Searle, 1971, section 11.2)."""

    def solved(self) -> Array:
        """Return the combination of mean squares that estimates each variance: row k is for level k."""
        return np.asarray(np.linalg.inv(self.expected), dtype=np.float64)


def nested(labels: Sequence[NDArray[np.generic]], levels: Sequence[str]) -> Nesting:
    """Number the units of each level; equal labels in different parent units are different units."""
    path = np.zeros(len(labels[0]), dtype=np.int64)
    codes: list[Indices] = []
    for column in labels:
        _, own = np.unique(column, return_inverse=True)
        _, path = np.unique(path * (int(own.max()) + 1) + own, return_inverse=True)
        codes.append(np.asarray(path, dtype=np.int64))
    return Nesting(tuple(levels), tuple(codes), tuple(int(code.max()) + 1 for code in codes))


def reduced(full: Nesting) -> tuple[list[str], Nesting, dict[str, list[str]]]:
    """Return the levels with a single unit, the levels with more units than the one above, and which levels each of these includes.

    Raises
    ------
    StatisticsError
        No level has two units.
    """
    alone: list[str] = []
    merged: dict[str, list[str]] = {}
    within, before, owner = full, 1, ""
    for name, units in zip(full.levels, full.units, strict=True):
        if units > before:
            before, owner = units, name
            continue
        within = within.without(name)
        if owner:
            merged.setdefault(owner, []).append(name)
        else:
            alone.append(name)
    if not within.levels:
        raise StatisticsError(
            f"{' and '.join(full.levels)} have one unit each; repeat {full.levels[0]}: two or more are needed"
        )
    return alone, within, merged


def nested_anova(values: Array, nesting: Nesting) -> NestedAnova:
    """Compute the nested analysis of variance, balanced or not; every level must have more units than the one above."""
    everything = np.zeros(values.size, dtype=np.int64)
    codes = (everything, *nesting.codes)
    centred = values - values.mean()
    explained = np.array([_explained(centred, code) for code in codes])
    df = np.diff([1, *nesting.units]).astype(np.float64)
    shares = np.array([[_share(above, below) for below in nesting.codes] for above in codes])
    # The terms of higher levels are 0, because their units consist of whole units of this one.
    expected = np.triu(np.diff(shares, axis=0) / df[:, None])
    return NestedAnova(np.maximum(np.diff(explained), 0.0) / df, df, expected)


def _explained(values: Array, codes: Indices) -> float:
    """Return the sum over units of n times the squared mean."""
    sums = np.bincount(codes, values)
    return float(np.sum(sums**2 / np.bincount(codes)))


def _share(above: Indices, below: Indices) -> float:
    """Return the sum over units u of one level, and v of the other within u, of n_uv² / n_u."""
    pairs, counts = np.unique(np.stack([above, below]), axis=1, return_counts=True)
    return float(np.sum(counts**2 / np.bincount(above)[pairs[0]]))


def unit_means(values: Array, nesting: Nesting) -> Array:
    """Return the mean of each unit of the highest level; at each lower level all units have equal weight."""
    means, rows = values, np.arange(values.size)
    for codes in reversed(nesting.codes):
        own = codes[rows]
        means = np.bincount(own, means) / np.bincount(own)
        rows = np.unique(codes, return_index=True)[1]
    return np.asarray(means, dtype=np.float64)
