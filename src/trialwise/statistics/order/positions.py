"""Position effects: a level for each position in a round, common to all treatments, and each treatment's own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trialwise.late import special
from trialwise.statistics.checks import Array, Indices
from trialwise.statistics.groups import Groups

_MAX_LEVELS = 16
"""Largest number of own levels of a treatment; more positions are merged."""
_ROUNDS = 100
_SETTLED = 1e-4
"""Convergence tolerance of the levels, in standard deviations."""
_REJECTED = 4.685
"""Cut-off of Tukey's biweight in standard deviations, for 95 % efficiency relative to plain means."""
_MIN_WEIGHT = 1e-9
"""Keeps the mean defined if all values are beyond the cut-off."""
_POLISHED = 10
"""Number of sweeps of the median polish over treatments and positions."""
_VARIANCE = 3.0
"""Variance of a level, times its number of values, for normal values with estimated spreads: 1.8 to 3.1 in simulations."""
_SEVERAL = 3
_NEGLIGIBLE = 1e-9
_ASKED_FOR = 0.002
"""Significance level at which a treatment gets its own levels."""
_SPENT = 1e-6
"""Degrees of freedom below this count as zero."""
_CLEAR = 1e-6
"""Significance level at which positions are said to differ, so that a treatment may scale their levels."""


class PositionLevels:
    """A level for each position, common to all treatments, in units of each treatment's standard deviation."""

    def __init__(self, treatments: Indices, positions: Array) -> None:
        """Take one treatment and one position for each trial that has a value."""
        self._by_treatment = Groups(treatments)
        self._by_position = Groups(np.unique(positions, return_inverse=True)[1].astype(np.int64))
        self._cells = self._of_several(positions)
        places = self._by_position.counts.size
        self._each = Groups(self._by_treatment.codes * places + self._by_position.codes)
        cells = np.unique(self._by_treatment.codes * places + self._by_position.codes)
        self._treatment_of, self._position_of = Groups(cells // places), Groups(cells % places)

    def _of_several(self, positions: Array) -> Groups:
        """Group by treatment and position, merging positions until cells have several trials."""
        treatment = self._by_treatment
        for block in position_blocks(positions):
            cells = Groups(treatment.codes * (int(block.max(initial=0)) + 1) + block)
            if treatment.codes.size >= _SEVERAL * cells.counts.size:
                return cells
        return treatment

    def of(self, values: Array) -> tuple[Array, bool, bool]:
        """Estimate the level at each trial in the unit of the values, with mean 0 over each treatment's trials.

        Also return whether the levels of all positions clearly differ, and whether those after the first do. Starting from a
        median polish, alternate means of treatments and of positions, weighted by Tukey's biweight (Huber 1981, sections 4.8 and
        7), with each treatment scaled by its spread within positions.
        """
        treatment, position = self._by_treatment, self._by_position
        if not values.size:
            return values, False, False
        scales = self._scales(values)
        scores = values / np.where(scales > 0, scales, 1.0)[treatment.codes]
        centres, levels = self._middles(scores)
        differ = self._differ(levels, 0), self._differ(levels, 1)
        for _ in range(_ROUNDS):
            sizes = np.abs(scores - centres[treatment.codes] - levels[position.codes])
            weights = np.maximum(1 - (sizes / _REJECTED) ** 2, 0.0) ** 2 + _MIN_WEIGHT
            centres = _means(scores - levels[position.codes], treatment, weights)
            before, levels = levels, _means(scores - centres[treatment.codes], position, weights)
            levels -= np.average(levels, weights=position.counts)
            if np.abs(levels - before).max(initial=0.0) < _SETTLED:
                break
        found = (
            levels[position.codes] - _means(levels[position.codes], treatment)[treatment.codes]
        ) * scales[treatment.codes]
        return found, *differ

    def _middles(self, scores: Array) -> tuple[Array, Array]:
        """Estimate centres of treatments and levels of positions by median polish (Tukey 1977) of the cell medians.

        A few outlying treatments in a position, such as after a culprit that always runs just before it, hardly move any level.
        """
        medians = self._each.medians(scores)
        centres, levels = np.zeros(self._treatment_of.counts.size), np.zeros(self._position_of.counts.size)
        for _ in range(_POLISHED):
            centres = self._treatment_of.medians(medians - levels[self._position_of.codes])
            levels = self._position_of.medians(medians - centres[self._treatment_of.codes])
            levels -= np.average(levels, weights=self._by_position.counts)
        return centres, levels

    def _scales(self, values: Array) -> Array:
        """Return the spread of each treatment within positions; 0 if it does not vary."""
        treatment, cells = self._by_treatment, self._cells
        within = values - cells.medians(values)[cells.codes]
        spread = cells.counts[cells.codes] > 1
        taken = np.bincount(treatment.codes, 1 / cells.counts[cells.codes] * spread)
        left = np.bincount(treatment.codes, spread)
        several = left > taken
        scales = np.zeros(treatment.counts.size)
        if spread.any():
            some = Groups(treatment.codes[spread])
            known = np.unique(treatment.codes[spread])
            scales[known] = some.scales(within[spread])
        inflated = np.sqrt(left / np.maximum(left - taken, 1.0))
        whole = treatment.scales(values)
        scales = np.where(several & (np.bincount(treatment.codes, within**2) > 0), scales * inflated, whole)
        return np.where(_varies(values, treatment), scales, 0.0)

    def _differ(self, levels: Array, begin: int) -> bool:
        """Test by chi-squared whether the levels of positions differ by more than chance."""
        counts, levels = self._by_position.counts[begin:], levels[begin:]
        if counts.size < 2:
            return False
        apart = levels - np.average(levels, weights=counts)
        return float(special.chdtrc(counts.size - 1, counts @ apart**2 / _VARIANCE)) < _CLEAR


def _means(values: Array, groups: Groups, weights: Array | None = None) -> Array:
    """Return the weighted mean of each group."""
    given = np.ones(values.size) if weights is None else weights
    return np.bincount(groups.codes, given * values) / np.bincount(groups.codes, given)


def _varies(values: Array, groups: Groups) -> Array:
    """Return whether the values of each group vary."""
    least = np.full(groups.counts.size, np.inf)
    most = -least
    np.minimum.at(least, groups.codes, values)
    np.maximum.at(most, groups.codes, values)
    return (most > least).astype(np.float64)


def position_blocks(positions: Array) -> Iterator[Indices]:
    """Yield ever coarser groupings of positions, numbered from 0: first each separately, last all in one.

    The first positions, where caches warm up, and the last one stay separate longest.
    """
    codes = np.unique(positions, return_inverse=True)[1].astype(np.int64)
    count = int(codes.max(initial=-1)) + 1
    for blocks in range(min(count, _MAX_LEVELS), 0, -1):
        yield _blocks(count, blocks)[codes]


def _blocks(count: int, blocks: int) -> Indices:
    """Return the block of each of `count` positions."""
    if blocks == count:
        return np.arange(count)
    single = blocks // 2
    last = int(blocks > 2)
    middle = count - single - last
    spread = single + np.arange(middle) * (blocks - single - last) // middle
    return np.concatenate([np.arange(single), spread, np.full(last, blocks - 1)]).astype(np.int64)


def exchangeable(residuals: Array, leverages: Array, block: Indices) -> Array:
    """Rescale the residuals of a full model, so that in each block they have the size of errors permuted within it.

    Residuals are smaller in blocks that determine more of the model's terms, so that without rescaling they would vary too little
    when permuted. `leverages` are those of the model.
    """
    sizes = np.bincount(block)
    left = np.bincount(block, 1 - leverages)
    factors = np.sqrt(np.maximum(sizes - 1, 0) / np.where(left > _SPENT, left, np.inf))
    return residuals * factors[block]


def own_levels(values: Array, fixed: Array, block: Indices) -> Array:
    """Return columns for one treatment's own levels; none if its values do not need levels in addition to the fixed columns.

    Decided by an F test in which the fixed columns include all effects under study, so that it does not pick up carry-over.
    Unneeded levels would cost a quarter of the precision of lasting effects.
    """
    columns = indicators(block)[:, 1:]
    without, beside = span(fixed), span(np.hstack([fixed, columns]))
    more, freedom = beside.shape[1] - without.shape[1], values.size - beside.shape[1]
    if not more or freedom < 1:
        return columns[:, :0]
    rest, least = (
        float(values @ values - (base.T @ values) @ (base.T @ values)) for base in (without, beside)
    )
    floor = _SPENT**2 * float(values @ values)
    if least <= floor:
        return columns if rest > floor else columns[:, :0]
    ratio = (rest - least) * freedom / (least * more)
    p_value = float(special.fdtrc(float(more), float(freedom), float(ratio)))
    return columns if p_value < _ASKED_FOR else columns[:, :0]


def span(columns: Array) -> Array:
    """Return an orthonormal basis of the columns' space, dropping linearly dependent columns."""
    if not columns.shape[1]:
        return columns
    lengths = np.sqrt((columns**2).sum(axis=0))
    left, sizes, _ = np.linalg.svd(columns / np.where(lengths > 0, lengths, 1.0), full_matrices=False)
    return left[:, sizes > _NEGLIGIBLE * max(float(sizes.max()), _NEGLIGIBLE)]


def indicators(codes: Indices) -> Array:
    """Return one indicator column per code."""
    return np.equal.outer(codes, np.arange(int(codes.max(initial=-1)) + 1)).astype(np.float64)
