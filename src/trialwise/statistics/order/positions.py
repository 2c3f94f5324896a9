"""What the position in a round does: a level for each position, common to all treatments and each treatment's own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import chdtrc, fdtrc

from trialwise.statistics.checks import Array, Indices
from trialwise.statistics.groups import Groups

_MAX_LEVELS = 16
"""A treatment has so many levels of its own at most; more positions are put together."""
_ROUNDS = 100
_SETTLED = 1e-4
"""Of a standard deviation: levels that move by less are found."""
_REJECTED = 4.685
"""Standard deviations from which on a value does not count: Tukey's biweight with 95 % of the efficiency of plain means."""
_MIN_WEIGHT = 1e-9
"""So that there is a mean where all values are that far off."""
_POLISHED = 10
"""Times that a median polish goes over treatments and positions."""
_VARIANCE = 3.0
"""Of such a level of normal values in spreads that are estimated, times their number: 1.8 to 3.1 in simulations."""
_SEVERAL = 3
_NEGLIGIBLE = 1e-9
_ASKED_FOR = 0.002
"""Level at which a treatment gets levels of its own."""
_SPENT = 1e-6
"""Degrees of freedom that count as none."""
_CLEAR = 1e-6
"""Level at which levels are said to differ, so that a treatment may have them in a size of its own."""


class PositionLevels:
    """A level for each position, in the standard deviations of each treatment and common to all."""

    def __init__(self, treatments: Indices, positions: Array) -> None:
        """One of each for every trial that has a value."""
        self._by_treatment = Groups(treatments)
        self._by_position = Groups(np.unique(positions, return_inverse=True)[1].astype(np.int64))
        self._cells = self._of_several(positions)
        places = self._by_position.counts.size
        self._each = Groups(self._by_treatment.codes * places + self._by_position.codes)
        cells = np.unique(self._by_treatment.codes * places + self._by_position.codes)
        self._treatment_of, self._position_of = Groups(cells // places), Groups(cells % places)

    def _of_several(self, positions: Array) -> Groups:
        """Treatments and positions, put together until a cell has several trials."""
        treatment = self._by_treatment
        for block in position_blocks(positions):
            cells = Groups(treatment.codes * (int(block.max(initial=0)) + 1) + block)
            if treatment.codes.size >= _SEVERAL * cells.counts.size:
                return cells
        return treatment

    def of(self, values: Array) -> tuple[Array, bool, bool]:
        """The level at each trial in the unit of the values, with mean 0 over each treatment's trials.

        Beside it whether the levels of all positions clearly differ, and whether those after the first do. Means of treatments
        and positions in turn, weighted by Tukey's biweight (Huber 1981, sections 4.8 and 7), each treatment in the spread that it
        has within positions, from a median polish on.
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
        """Centres of treatments and levels of positions by a median polish (Tukey 1977) of the medians of their cells.

        What few treatments do in a position, as after a culprit that always runs right before it, moves no level much.
        """
        medians = self._each.medians(scores)
        centres, levels = np.zeros(self._treatment_of.counts.size), np.zeros(self._position_of.counts.size)
        for _ in range(_POLISHED):
            centres = self._treatment_of.medians(medians - levels[self._position_of.codes])
            levels = self._position_of.medians(medians - centres[self._treatment_of.codes])
            levels -= np.average(levels, weights=self._by_position.counts)
        return centres, levels

    def _scales(self, values: Array) -> Array:
        """The spread of each treatment within positions; 0 where it does not vary."""
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
        """Whether the levels of positions differ by more than chance, by a chi-squared test."""
        counts, levels = self._by_position.counts[begin:], levels[begin:]
        if counts.size < 2:
            return False
        apart = levels - np.average(levels, weights=counts)
        return float(chdtrc(counts.size - 1, counts @ apart**2 / _VARIANCE)) < _CLEAR


def _means(values: Array, groups: Groups, weights: Array | None = None) -> Array:
    """Weighted mean of each group."""
    given = np.ones(values.size) if weights is None else weights
    return np.bincount(groups.codes, given * values) / np.bincount(groups.codes, given)


def _varies(values: Array, groups: Groups) -> Array:
    """Whether the values of each group are not all the same."""
    least = np.full(groups.counts.size, np.inf)
    most = -least
    np.minimum.at(least, groups.codes, values)
    np.maximum.at(most, groups.codes, values)
    return (most > least).astype(np.float64)


def position_blocks(positions: Array) -> Iterator[Indices]:
    """Positions put together ever more, numbered from 0: first each by itself, last all in one.

    The first positions, where caches warm up, and the last one stay by themselves longest.
    """
    codes = np.unique(positions, return_inverse=True)[1].astype(np.int64)
    count = int(codes.max(initial=-1)) + 1
    for blocks in range(min(count, _MAX_LEVELS), 0, -1):
        yield _blocks(count, blocks)[codes]


def _blocks(count: int, blocks: int) -> Indices:
    """The block of each of so many positions."""
    if blocks == count:
        return np.arange(count)
    single = blocks // 2
    last = int(blocks > 2)
    middle = count - single - last
    spread = single + np.arange(middle) * (blocks - single - last) // middle
    return np.concatenate([np.arange(single), spread, np.full(last, blocks - 1)]).astype(np.int64)


def exchangeable(residuals: Array, leverages: Array, block: Indices) -> Array:
    """Residuals of a whole model, in each block at the size that errors have which are exchanged within it.

    A model leaves less of the errors in blocks on which more of its terms depend, so that permuted within them they would
    vary too little. `leverages` are those of the residuals in the model.
    """
    sizes = np.bincount(block)
    left = np.bincount(block, 1 - leverages)
    factors = np.sqrt(np.maximum(sizes - 1, 0) / np.where(left > _SPENT, left, np.inf))
    return residuals * factors[block]


def own_levels(values: Array, fixed: Array, block: Indices) -> Array:
    """Columns for the levels of one treatment; none where its values do not ask for levels beside the fixed columns.

    By an F test with all that is asked about among the fixed columns, so that what it finds is no carry-over.
    Levels that are not needed would cost a quarter of the precision of what lasts.
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
    p_value = float(fdtrc(float(more), float(freedom), float(ratio)))
    return columns if p_value < _ASKED_FOR else columns[:, :0]


def span(columns: Array) -> Array:
    """Orthonormal columns that span the same space; those that depend on others are left out."""
    if not columns.shape[1]:
        return columns
    lengths = np.sqrt((columns**2).sum(axis=0))
    left, sizes, _ = np.linalg.svd(columns / np.where(lengths > 0, lengths, 1.0), full_matrices=False)
    return left[:, sizes > _NEGLIGIBLE * max(float(sizes.max()), _NEGLIGIBLE)]


def indicators(codes: Indices) -> Array:
    """A column for each code, 1 where it is."""
    return np.equal.outer(codes, np.arange(int(codes.max(initial=-1)) + 1)).astype(np.float64)
