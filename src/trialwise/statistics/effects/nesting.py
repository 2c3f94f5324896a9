"""Values of units within units: sums of squares of each level, and what they expect of each variance."""

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
    """Which unit of each level a value belongs to, from the highest level to the lowest."""

    levels: tuple[str, ...]
    codes: tuple[Indices, ...]
    """For each level the unit of each value, counted from 0; a unit is known by all labels down to its level."""
    units: tuple[int, ...]
    """How many units each level has."""

    def without(self, level: str) -> Nesting:
        """The same values without one level."""
        kept = [at for at, name in enumerate(self.levels) if name != level]
        return Nesting(
            tuple(self.levels[at] for at in kept),
            tuple(self.codes[at] for at in kept),
            tuple(self.units[at] for at in kept),
        )


@dataclass(frozen=True, slots=True, eq=False)
class NestedAnova:
    """Mean squares of each level within the one above it."""

    mean_squares: Array
    df: Array
    expected: Array
    """expected[k, j]: what the variance of level j adds to the mean square of level k (Searle, 1971, section 11.2)."""

    def solved(self) -> Array:
        """Which combination of the mean squares estimates each variance: row k is that of level k."""
        return np.asarray(np.linalg.inv(self.expected), dtype=np.float64)


def nested(labels: Sequence[NDArray[np.generic]], levels: Sequence[str]) -> Nesting:
    """Number the units of each level; equal labels below different units are different units."""
    path = np.zeros(len(labels[0]), dtype=np.int64)
    codes: list[Indices] = []
    for column in labels:
        _, own = np.unique(column, return_inverse=True)
        _, path = np.unique(path * (int(own.max()) + 1) + own, return_inverse=True)
        codes.append(np.asarray(path, dtype=np.int64))
    return Nesting(tuple(levels), tuple(codes), tuple(int(code.max()) + 1 for code in codes))


def reduced(full: Nesting) -> tuple[list[str], Nesting, dict[str, list[str]]]:
    """Levels with one unit at all, the levels that have more units than the one above, and what each of these takes in.

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
    """Analysis of variance of nested units, balanced or not; every level must have more units than the one above it."""
    everything = np.zeros(values.size, dtype=np.int64)
    codes = (everything, *nesting.codes)
    centred = values - values.mean()
    explained = np.array([_explained(centred, code) for code in codes])
    df = np.diff([1, *nesting.units]).astype(np.float64)
    shares = np.array([[_share(above, below) for below in nesting.codes] for above in codes])
    # Of the levels above, whose units hold whole units of this one, nothing is left.
    expected = np.triu(np.diff(shares, axis=0) / df[:, None])
    return NestedAnova(np.maximum(np.diff(explained), 0.0) / df, df, expected)


def _explained(values: Array, codes: Indices) -> float:
    """Sum over units of n times the squared mean."""
    sums = np.bincount(codes, values)
    return float(np.sum(sums**2 / np.bincount(codes)))


def _share(above: Indices, below: Indices) -> float:
    """Sum over units u of the one level, and v of the other within u, of n_uv² / n_u."""
    pairs, counts = np.unique(np.stack([above, below]), axis=1, return_counts=True)
    return float(np.sum(counts**2 / np.bincount(above)[pairs[0]]))


def unit_means(values: Array, nesting: Nesting) -> Array:
    """Mean of each unit of the highest level; at each level below every unit counts alike."""
    means, rows = values, np.arange(values.size)
    for codes in reversed(nesting.codes):
        own = codes[rows]
        means = np.bincount(own, means) / np.bincount(own)
        rows = np.unique(codes, return_index=True)[1]
    return np.asarray(means, dtype=np.float64)
