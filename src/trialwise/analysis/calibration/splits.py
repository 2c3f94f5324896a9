"""Random balanced re-splits of identical trials into two sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trialwise.analysis.calibration.results import Arrangement
from trialwise.analysis.trial_set import LEVELS, Level
from trialwise.arrays import Array
from trialwise.late import pl
from trialwise.statistics.comparing.welch import contrast, two_sided
from trialwise.statistics.estimates.moments import Moments

Codes = npt.NDArray[np.int64]
Sides = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Splits:
    """Results of many re-splits: one difference of means, two-sided p-value and variance of the tested values for each.

    `n` is the number of units on each side; equal for pairs.
    """

    differences: Array
    p_values: Array
    variances: Array
    n: tuple[int, int]
    paired: bool


def dealt_out(trials: pl.DataFrame) -> tuple[pl.DataFrame, Level]:
    """Return the units that are assigned as a whole, and their level: trials, or processes shared by trials.

    Two treatments never share a process. A shared process is a row with the mean of its trials; its round is the series that it ran
    through.
    """
    if trials["process"].n_unique() == trials.height:
        return trials, "trial"
    whole = trials.group_by("process", maintain_order=True).agg(
        pl.exclude("value").first(), pl.col("value").mean()
    )
    return whole.with_columns(pl.col("process").alias("trial"), pl.col("series").alias("round")), "process"


def blocks_of(trials: pl.DataFrame, arrangement: Arrangement, level: Level) -> Codes:
    """Return the block of each trial; half of every block goes to each side.

    Interleaved, a block is a round if each round of the boot has an even number of trials of the treatment, otherwise the boot.
    Separate, whole units of the level are assigned, so that there is one block.
    """
    if arrangement == "separate":
        return np.zeros(trials[level].n_unique(), dtype=np.int64)
    above = [pl.col("boot"), pl.col("round")]
    even = (pl.len().over(above) % 2 == 0).all().over("boot")
    names = trials.select(
        pl.when(even).then(pl.concat_str(above, separator="\0")).otherwise(pl.col("boot")).alias("block")
    )["block"]
    return codes_of(names)


def codes_of(names: pl.Series) -> Codes:
    """Number names from 0."""
    return np.unique(names.to_numpy(), return_inverse=True)[1].astype(np.int64)


def random_sides(blocks: Codes, count: int, random: np.random.Generator) -> Sides:
    """Draw `count` assignments, one per row: True if a trial is on the first side, for a random half of every block."""
    sizes = np.bincount(blocks)
    starts = np.cumsum(sizes) - sizes
    order = np.argsort(blocks + random.random((count, blocks.size)), axis=1)
    first = (np.arange(blocks.size) - np.repeat(starts, sizes)) < np.repeat(sizes // 2, sizes)
    sides = np.empty((count, blocks.size), dtype=np.bool_)
    np.put_along_axis(sides, order, np.broadcast_to(first, order.shape), axis=1)
    return sides


def distinct(blocks: Codes, most: int) -> int:
    """Return the number of distinct re-splits, not counting swapped sides, or `most`."""
    found = 1.0
    for size in np.bincount(blocks):
        half = int(size) // 2
        for step in range(half):
            found = found * (size - step) / (step + 1)
        if found > 2 * most:
            return most
    return max(1, int(found) // 2)


def judged(values: Array, sides: Sides, parents: Sequence[Codes], *, paired: bool) -> Splits:
    """Judge every assignment as `compare` would without a margin.

    `parents` maps trials to the units of the level of inference, level by level: the unit of each trial, then the parent of each of
    those, and so on; a unit's value is the mean of its parts.
    """
    a, b = _units(values, sides, parents), _units(values, ~sides, parents)
    if paired:
        return _of_pairs(b - a)
    first, second = _compact(a), _compact(b)
    of_a, of_b = Moments.of(first), Moments.of(second)
    n = (first.shape[1], second.shape[1])
    pooled = (of_a.variance * (n[0] - 1) + of_b.variance * (n[1] - 1)) / (n[0] + n[1] - 2)
    found = contrast(of_a, of_b)
    return Splits(
        np.asarray(found.estimate), two_sided(found), np.asarray(pooled, dtype=np.float64), n, paired=False
    )


def _of_pairs(differences: Array) -> Splits:
    moments = Moments.of(differences)
    pairs = differences.shape[1]
    found = contrast(Moments(pairs, 0.0, 0.0), moments)
    return Splits(
        np.asarray(moments.mean),
        two_sided(found),
        np.asarray(moments.variance, dtype=np.float64),
        (pairs, pairs),
        paired=True,
    )


def _units(values: Array, sides: Sides, parents: Sequence[Codes]) -> Array:
    """Return the value of each unit on one side, one row per assignment; NaN if a unit has no trial there."""
    found = np.where(sides, values, np.nan)
    for codes in parents:
        there = ~np.isnan(found)
        members = np.zeros((codes.size, int(codes.max()) + 1))
        members[np.arange(codes.size), codes] = 1.0
        counts = there.astype(np.float64) @ members
        with np.errstate(invalid="ignore"):
            found = (np.where(there, found, 0.0) @ members) / counts
    return found


def _compact(values: Array) -> Array:
    """Drop the missing values, equally many in every row."""
    there = ~np.isnan(values)
    return values[there].reshape(values.shape[0], int(there[0].sum()))


def parents_of(trials: pl.DataFrame, level: Level) -> list[Codes]:
    """Return the maps from trials to units of a level, for `judged`."""
    found: list[Codes] = []
    below: Codes = np.arange(trials.height)
    for name in reversed(LEVELS[LEVELS.index(level) :]):
        own = codes_of(trials[name])
        # A level with one unit in each parent is not a separate level.
        if own.max() < below.max():
            found.append(own[np.unique(below, return_index=True)[1]])
            below = own
    return found
